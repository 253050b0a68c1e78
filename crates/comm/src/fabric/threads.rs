//! The fabric of ranks that share memory: async tasks on the workers of a dispatcher.
//!
//! Each rank has a home worker, the only thread that polls it; so a rank's future need not be
//! `Send`, and neighbours in rank order share a thread where they can.

use super::hall::Hall;
use super::{Closer, Fabric, Farewells, Posted, Ticket};
use crate::CommError;
use crate::envelope::{Envelope, Wanted};
use crate::mailbox::Mailbox;
use crate::rank_slot::RankSlot;
use motet_sync::atomic::{Ordering, fence};
use std::rc::Rc;
use std::sync::Arc;

/// One rank among others in the same memory.
#[derive(Clone)]
pub(crate) struct Threads {
    hall: Arc<Hall>,
    rank: usize,
    farewells: Rc<Farewells>,
}

impl Threads {
    /// `farewells` keeps what the rank has to tell its neighbours.
    pub(crate) fn new(hall: Arc<Hall>, rank: usize, farewells: Rc<Farewells>) -> Self {
        Threads {
            hall,
            rank,
            farewells,
        }
    }

    #[inline]
    fn mailbox(&self) -> &Mailbox {
        self.hall.mailbox(self.rank)
    }
}

impl Fabric for Threads {
    #[inline]
    fn world_rank(&self) -> usize {
        self.rank
    }

    #[inline]
    fn slot(&self) -> &RankSlot {
        &self.hall.slots[self.rank]
    }

    #[inline]
    fn share_thread(&self, one: usize, other: usize) -> bool {
        self.hall.home(one) == self.hall.home(other)
    }

    #[inline]
    fn slot_of(&self, rank: usize) -> &RankSlot {
        &self.hall.slots[rank]
    }

    fn send(&self, to: usize, envelope: Envelope) -> Result<(), CommError> {
        let signed = self.hall.mailbox(to).push(envelope);
        if !self.share_thread(self.rank, to) {
            fence(Ordering::SeqCst);
        }
        self.wake_if_sleeping(to);
        self.sign_all(signed);
        Ok(())
    }

    #[inline]
    fn arrivals(&self) -> u32 {
        self.mailbox().arrivals()
    }

    fn post(&self, wanted: &Wanted) -> Posted {
        self.mailbox().post(wanted).map_err(Ticket::Mail)
    }

    fn request(&self, wanted: &Wanted) -> Ticket {
        let (ticket, signed) = self.mailbox().request(wanted);
        self.sign_all(signed);
        Ticket::Mail(ticket)
    }

    #[inline]
    fn collect(&self, ticket: &mut Ticket) -> Option<Envelope> {
        match ticket {
            Ticket::Mail(ticket) => self.mailbox().collect(ticket),
            Ticket::Port(_) => None,
        }
    }

    fn withdraw(&self, ticket: Ticket) -> bool {
        let Ticket::Mail(ticket) = ticket else {
            return true;
        };
        let Some(signed) = self.mailbox().withdraw(&ticket) else {
            return true;
        };
        self.sign_all(signed);
        self.slot().wake_if_sleeping();
        false
    }

    fn farewell(&self, peer: usize, closer: Closer) {
        self.farewells.add(peer, closer);
    }

    fn put_back(&self, envelope: Envelope) {
        self.sign_all(self.mailbox().put_back(envelope));
        self.slot().wake_if_sleeping();
    }

    fn peek<R>(&self, wanted: &Wanted, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        self.mailbox().peek(wanted, look)
    }

    fn new_communicators(&self, count: u32) -> u32 {
        // Relaxed: the numbers need only differ.
        self.hall.communicators.fetch_add(count, Ordering::Relaxed)
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::Communicator;
    use crate::address::{ANY_SOURCE, Status, Tag};
    use crate::envelope::{Context as Apart, Kind};
    use crate::fabric::{AnyFabric, PlaceKind, Team};
    use crate::rank_slot::loom_tests::block_on;
    use motet_sync::thread;
    use std::panic::Location;

    const CONTEXT: Apart = Apart {
        communicator: 0,
        kind: Kind::User,
    };

    fn message(source: usize, tag: Tag) -> Envelope {
        Envelope::new(CONTEXT, Status { source, tag }, Location::caller(), ())
    }

    fn communicator(hall: &Arc<Hall>, team: &Arc<Team>, rank: usize) -> Communicator {
        let fabric = AnyFabric::Threads(Threads::new(Arc::clone(hall), rank, Rc::default()));
        Communicator::new(fabric, Arc::clone(team), rank)
    }

    /// Rank `rank` of two takes part in `meetings` meetings.
    fn take_part(hall: &Arc<Hall>, team: &Arc<Team>, rank: usize, meetings: u32) {
        let comm = communicator(hall, team, rank);
        block_on(async {
            for number in 1..=meetings {
                let sum = comm.allreduce(number, |a, b| a + b).await;
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
            let team = Arc::new(Team::world(2, PlaceKind::Tree));
            let other = thread::spawn({
                let (hall, team) = (Arc::clone(&hall), Arc::clone(&team));
                move || take_part(&hall, &team, 1, 2)
            });
            take_part(&hall, &team, 0, 2);
            other.join().unwrap();
        });
    }

    /// A receive is posted while the sender of its message, which waits for that, falls asleep.
    #[test]
    fn loom_sem_g430_a_synchronous_send_ends_when_a_receive_has_the_message() {
        loom::model(|| {
            let hall = Arc::new(Hall::new(2, 2));
            let team = Arc::new(Team::world(2, PlaceKind::Tree));
            // Loom does not see the `OnceLock` that holds the mailbox.
            hall.mailbox(1);
            let receiver = thread::spawn({
                let (hall, team) = (Arc::clone(&hall), Arc::clone(&team));
                move || {
                    let comm = communicator(&hall, &team, 1);
                    let posted = comm.irecv::<()>(0, 5);
                    block_on(async { assert_eq!(posted.wait().await, Ok(())) });
                }
            });
            let comm = communicator(&hall, &team, 0);
            block_on(async { assert_eq!(comm.ssend(1, 5, ()).await, Ok(())) });
            receiver.join().unwrap();
        });
    }

    /// A message comes while its receiver falls asleep, after another that it does not want.
    #[test]
    fn loom_a_message_wakes_its_receiver() {
        loom::model(|| {
            let hall = Arc::new(Hall::new(2, 2));
            let team = Arc::new(Team::world(2, PlaceKind::Tree));
            // Loom does not see the `OnceLock` that holds the mailbox.
            hall.mailbox(0);
            let sender = thread::spawn({
                let hall = Arc::clone(&hall);
                move || {
                    let fabric = Threads::new(hall, 1, Rc::default());
                    for tag in [5, 6] {
                        fabric.send(0, message(1, tag));
                    }
                }
            });
            let comm = communicator(&hall, &team, 0);
            block_on(async {
                assert_eq!(comm.recv::<()>(1, 6).await, Ok(()));
                assert_eq!(comm.recv::<()>(ANY_SOURCE, 5).await, Ok(()));
            });
            sender.join().unwrap();
        });
    }
}
