//! The fabric of ranks that share memory: async tasks on the workers of a dispatcher.
//!
//! Each rank has a home worker, the only thread that polls it; so a rank's future need not be
//! `Send`, and neighbours in rank order share a thread where they can.

use super::hall::Hall;
use super::{Closer, Fabric, Farewells};
use crate::CommError;
use crate::envelope::{Envelope, Wanted};
use crate::rank_slot::{RankSlot, wait_until};
use crate::report::Wait;
use motet_sync::atomic::{Ordering, fence};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// One rank among others in the same memory.
pub(crate) struct Threads {
    hall: Arc<Hall>,
    rank: usize,
    /// Meetings this rank has come to.
    meetings: Cell<u32>,
    /// The rank has arrived at a meeting and has not left it.
    in_meeting: Cell<bool>,
    farewells: Rc<Farewells>,
}

impl Threads {
    pub(crate) fn new(hall: Arc<Hall>, rank: usize) -> Self {
        Threads {
            hall,
            rank,
            meetings: Cell::new(0),
            in_meeting: Cell::new(false),
            farewells: Rc::default(),
        }
    }

    /// What the rank has to tell its neighbours.
    pub(crate) fn farewells(&self) -> Rc<Farewells> {
        Rc::clone(&self.farewells)
    }

    /// Arrives with `value` and waits until all have.
    async fn meet<T: Send + 'static>(
        &self,
        wait: Wait,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<(), CommError> {
        if self.in_meeting.replace(true) {
            return Err(CommError::OutOfStep {
                operation: wait.operation.name(),
            });
        }
        let meeting = &self.hall.meeting;
        let number = self.meetings.get().wrapping_add(1);
        self.meetings.set(number);
        // SAFETY: `in_meeting` says that this rank has read the last total, which it does at once
        // when it has seen the meeting take place.
        let last = unsafe { meeting.arrive(self.rank, wait, value, combine) };
        if last {
            fence(Ordering::SeqCst);
            for rank in meeting.sleepers() {
                self.hall.slots[rank].wake_if_sleeping();
            }
        } else {
            let why = || {
                meeting.add_sleeper(self.rank);
                wait
            };
            wait_until(self.slot(), || meeting.has_taken_place(number), why).await;
        }
        Ok(())
    }
}

impl Fabric for Threads {
    #[inline]
    fn rank(&self) -> usize {
        self.rank
    }

    #[inline]
    fn size(&self) -> usize {
        self.hall.size()
    }

    #[inline]
    fn slot(&self) -> &RankSlot {
        &self.hall.slots[self.rank]
    }

    fn shares_thread_with(&self, other: usize) -> bool {
        self.hall.home(self.rank) == self.hall.home(other)
    }

    #[inline]
    fn wake_if_sleeping(&self, rank: usize) {
        self.hall.slots[rank].wake_if_sleeping();
    }

    fn send(&self, to: usize, envelope: Envelope) {
        self.hall.mailboxes[to].push(envelope);
        if !self.shares_thread_with(to) {
            fence(Ordering::SeqCst);
        }
        self.wake_if_sleeping(to);
    }

    async fn recv(&self, wanted: &Wanted, wait: Wait) -> Envelope {
        let mailbox = &self.hall.mailboxes[self.rank];
        loop {
            let seen = mailbox.arrivals();
            if let Some(envelope) = mailbox.arrived().take(wanted) {
                return envelope;
            }
            wait_until(self.slot(), || mailbox.arrivals() != seen, || wait).await;
        }
    }

    fn farewell(&self, peer: usize, closer: Closer) {
        self.farewells.add(peer, closer);
    }

    fn put_back(&self, envelope: Envelope) {
        self.hall.mailboxes[self.rank].arrived().put_back(envelope);
    }

    async fn meet_all<T: Clone + Send + Sync + 'static>(
        &self,
        wait: Wait,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<T, CommError> {
        self.meet(wait, value, combine).await?;
        // SAFETY: the meeting has taken place; ranks that called another operation, which might
        // take the total, have made the meeting fail.
        let total = unsafe { self.hall.meeting.read(T::clone) };
        self.in_meeting.set(false);
        total
    }

    async fn meet_at<T: Send + 'static>(
        &self,
        root: usize,
        wait: Wait,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, CommError> {
        self.meet(wait, value, combine).await?;
        let total = if root == self.rank {
            // SAFETY: as in `meet_all`; all ranks named the same root.
            unsafe { self.hall.meeting.take() }.map(Some)
        } else {
            self.hall.meeting.failure().map_or(Ok(None), Err)
        };
        self.in_meeting.set(false);
        total
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::envelope::{ANY_SOURCE, Context as Kind, Status, Tag};
    use crate::rank_slot::loom_tests::block_on;
    use crate::report::Operation;
    use motet_sync::thread;

    fn wait() -> Wait {
        Wait::here(Operation::Collective {
            name: "model",
            root: None,
        })
    }

    fn message(source: usize, tag: Tag) -> Envelope {
        Envelope::new(Kind::User, Status { source, tag }, ())
    }

    fn wanted(tag: Tag) -> Wanted {
        Wanted {
            context: Kind::User,
            source: ANY_SOURCE,
            tag: tag.into(),
        }
    }

    /// Rank `rank` of two takes part in `meetings` meetings.
    fn take_part(hall: &Arc<Hall>, rank: usize, meetings: u32) {
        let fabric = Threads::new(Arc::clone(hall), rank);
        block_on(async {
            for number in 1..=meetings {
                let sum = fabric.meet_all(wait(), number, |a, b| a + b).await;
                assert_eq!(sum, Ok(2 * number));
            }
        });
    }

    /// A rank falls asleep for the next meeting while the last one to come to this meeting still
    /// wakes the sleepers of this one.
    #[test]
    fn loom_ranks_are_woken_from_meeting_after_meeting() {
        loom::model(|| {
            let hall = Arc::new(Hall::new(2, 2));
            let other = thread::spawn({
                let hall = Arc::clone(&hall);
                move || take_part(&hall, 1, 2)
            });
            take_part(&hall, 0, 2);
            other.join().unwrap();
        });
    }

    /// A message comes while its receiver falls asleep, between two others that it does not want.
    #[test]
    fn loom_a_message_wakes_its_receiver() {
        loom::model(|| {
            let hall = Arc::new(Hall::new(2, 2));
            let sender = thread::spawn({
                let hall = Arc::clone(&hall);
                move || {
                    let fabric = Threads::new(hall, 1);
                    for tag in [5, 6] {
                        fabric.send(0, message(1, tag));
                    }
                }
            });
            let fabric = Threads::new(Arc::clone(&hall), 0);
            block_on(async {
                let came = fabric.recv(&wanted(6), wait()).await;
                assert_eq!(came.status.tag, 6);
                fabric.put_back(came);
                for tag in [5, 6] {
                    assert_eq!(fabric.recv(&wanted(tag), wait()).await.status.tag, tag);
                }
            });
            sender.join().unwrap();
        });
    }
}
