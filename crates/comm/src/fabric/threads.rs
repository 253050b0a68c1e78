//! The fabrics of ranks that share memory: async tasks on the workers of a dispatcher.
//!
//! Each rank has a home worker, the only thread that polls it. So a rank's future need not be
//! `Send`, and neighbours in rank order share a thread where they can.

use super::entrances::{Push, push};
use super::local_ranks::{LocalMail, LocalRanks};
use super::mailbox::Mailbox;
use super::{Closer, Fabric, Signed};
use crate::CommError;
use crate::envelope::Envelope;
use crate::rank_slot::RankSlot;
use motet_sync::atomic::{Ordering, fence};
use std::marker::PhantomData;
use std::sync::Arc;

/// One rank among others in the same memory. What keeps the messages, `M`, is all in which the
/// fabrics `threads` and [`ports`](super::Ports) differ.
pub(crate) struct Threads<M = Mailbox> {
    local: Arc<LocalRanks>,
    rank: u32,
    _messages: PhantomData<fn() -> M>,
}

impl<M: LocalMail> Threads<M> {
    pub(crate) fn new(local: Arc<LocalRanks>, rank: usize) -> Self {
        Threads {
            local,
            rank: u32::try_from(rank).expect("there is no memory for more ranks"),
            _messages: PhantomData,
        }
    }

    /// As [`AnyFabric::inside`](super::AnyFabric::inside).
    pub(super) fn inside(&self) -> (&Arc<LocalRanks>, usize, Push) {
        (&self.local, self.rank as usize, push::<M>)
    }

    /// Brings a message to a rank and wakes it. The receipts are to be signed.
    #[inline(always)]
    pub(super) fn bring(&self, to: usize, message: impl FnOnce() -> Envelope) -> Signed {
        let mut signed = Signed::new();
        let mail = M::of(&self.local, to);
        match self.world_rank() == to {
            true => mail.push_own(message, &mut signed),
            false => mail.push(message, &mut signed),
        }
        if !self.share_thread(self.world_rank(), to) {
            fence(Ordering::SeqCst);
        }
        self.wake_if_sleeping(to);
        signed
    }
}

impl<M: LocalMail> Fabric for Threads<M> {
    type Mail = M;

    #[inline]
    fn world_rank(&self) -> usize {
        self.rank as usize
    }

    #[inline]
    fn slot(&self) -> &RankSlot {
        self.local.slot(self.world_rank())
    }

    #[inline]
    fn share_thread(&self, one: usize, other: usize) -> bool {
        self.local.home(one) == self.local.home(other)
    }

    #[inline]
    fn slot_of(&self, rank: usize) -> &RankSlot {
        self.local.slot(rank)
    }

    #[inline]
    fn mail(&self) -> &M {
        M::of(&self.local, self.world_rank())
    }

    #[inline(always)]
    fn send(&self, to: usize, message: impl FnOnce() -> Envelope) -> Result<(), CommError> {
        let signed = self.bring(to, message);
        self.sign_all(signed);
        Ok(())
    }

    fn close_later(&self, peer: usize, closer: Closer) {
        self.local
            .pending_closes(self.world_rank())
            .add(peer, closer);
    }

    fn new_communicators(&self, count: u32) -> u32 {
        self.local.new_communicators(count)
    }
}

impl<M> Clone for Threads<M> {
    fn clone(&self) -> Self {
        Threads {
            local: Arc::clone(&self.local),
            rank: self.rank,
            _messages: PhantomData,
        }
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::Communicator;
    use crate::address::{ANY_SOURCE, Status, Tag};
    use crate::envelope::{Context as Apart, MessageKind};
    use crate::fabric::{AnyFabric, MeetingPointKind, Team};
    use crate::rank_slot::loom_tests::block_on;
    use motet_sync::thread;
    use std::panic::Location;

    const CONTEXT: Apart = Apart {
        communicator: 0,
        kind: MessageKind::User,
    };

    fn message(source: usize, tag: Tag) -> Envelope {
        Envelope::new(CONTEXT, Status { source, tag }, Location::caller(), ())
    }

    fn communicator(local: &Arc<LocalRanks>, team: &Arc<Team>, rank: usize) -> Communicator {
        let fabric = AnyFabric::Threads(Threads::new(Arc::clone(local), rank));
        Communicator::new(fabric, Arc::clone(team), rank)
    }

    /// Rank `rank` of two takes part in `collectives` collectives.
    fn take_part(local: &Arc<LocalRanks>, team: &Arc<Team>, rank: usize, collectives: u32) {
        let comm = communicator(local, team, rank);
        block_on(async {
            for number in 1..=collectives {
                let sum = comm.allreduce(number, |a, b| a + b).await;
                assert_eq!(sum, Ok(2 * number));
            }
        });
    }

    /// A rank falls asleep for the next collective while the last one to come to this collective
    /// still wakes the sleepers of this one.
    #[test]
    fn loom_ranks_are_woken_from_collective_after_collective() {
        loom::model(|| {
            let local = Arc::new(LocalRanks::new(2, 2));
            let team = Arc::new(Team::world(2, MeetingPointKind::Tree));
            let other = thread::spawn({
                let (local, team) = (Arc::clone(&local), Arc::clone(&team));
                move || take_part(&local, &team, 1, 2)
            });
            take_part(&local, &team, 0, 2);
            other.join().unwrap();
        });
    }

    /// The same where ranks that only meet wake each other.
    #[test]
    fn loom_two_ranks_that_only_meet_wake_each_other() {
        loom::model(|| {
            let local = Arc::new(LocalRanks::new(2, 2));
            let team = Arc::new(Team::world(2, MeetingPointKind::Tree));
            let meets = |local: &Arc<LocalRanks>, team: &Arc<Team>, rank| {
                let comm = communicator(local, team, rank);
                block_on(async {
                    for _ in 0..2 {
                        assert_eq!(comm.barrier().await, Ok(()));
                    }
                });
            };
            let other = thread::spawn({
                let (local, team) = (Arc::clone(&local), Arc::clone(&team));
                move || meets(&local, &team, 1)
            });
            meets(&local, &team, 0);
            other.join().unwrap();
        });
    }

    /// One of two brings something and the other does not: whoever sleeps is woken and told.
    #[test]
    fn loom_two_ranks_that_do_not_agree_are_woken() {
        loom::model(|| {
            let local = Arc::new(LocalRanks::new(2, 2));
            let team = Arc::new(Team::world(2, MeetingPointKind::Tree));
            let other = thread::spawn({
                let (local, team) = (Arc::clone(&local), Arc::clone(&team));
                move || {
                    let comm = communicator(&local, &team, 1);
                    block_on(async { assert!(comm.allreduce(1, |a, b| a + b).await.is_err()) });
                }
            });
            let comm = communicator(&local, &team, 0);
            block_on(async { assert!(comm.barrier().await.is_err()) });
            other.join().unwrap();
        });
    }

    /// A receive is posted while the sender of its message, which waits for that, falls asleep.
    #[test]
    fn loom_sem_g83_a_synchronous_send_ends_when_a_receive_has_the_message() {
        loom::model(|| {
            let local = Arc::new(LocalRanks::new(2, 2));
            let team = Arc::new(Team::world(2, MeetingPointKind::Tree));
            // Loom does not see the `OnceLock` that holds the mailbox.
            local.mailbox(1);
            let receiver = thread::spawn({
                let (local, team) = (Arc::clone(&local), Arc::clone(&team));
                move || {
                    let comm = communicator(&local, &team, 1);
                    let posted = comm.irecv::<()>(0, 5);
                    block_on(async { assert_eq!(posted.wait().await, Ok(())) });
                }
            });
            let comm = communicator(&local, &team, 0);
            block_on(async { assert_eq!(comm.ssend(1, 5, ()).await, Ok(())) });
            receiver.join().unwrap();
        });
    }

    /// A message comes while its receiver falls asleep, after another that it does not want.
    #[test]
    fn loom_a_message_wakes_its_receiver() {
        loom::model(|| {
            let local = Arc::new(LocalRanks::new(2, 2));
            let team = Arc::new(Team::world(2, MeetingPointKind::Tree));
            // Loom does not see the `OnceLock` that holds the mailbox.
            local.mailbox(0);
            let sender = thread::spawn({
                let local = Arc::clone(&local);
                move || {
                    let fabric = <Threads>::new(local, 1);
                    for tag in [5, 6] {
                        fabric.send(0, || message(1, tag)).unwrap();
                    }
                }
            });
            let comm = communicator(&local, &team, 0);
            block_on(async {
                assert_eq!(comm.recv::<()>(1, 6).await, Ok(()));
                assert_eq!(comm.recv::<()>(ANY_SOURCE, 5).await, Ok(()));
            });
            sender.join().unwrap();
        });
    }
}
