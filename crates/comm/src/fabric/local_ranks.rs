//! What the ranks of a world on threads share: where they wait, their mail, and how the run ends.

use super::delegates::Delegates;
use super::entrances::{Door, Entrances};
use super::mailbox::Mailbox;
use super::network::Network;
use super::pending_closes::PendingCloses;
use super::port_mailbox::PortMailbox;
use super::{Mail, Signed};
use crate::envelope::Envelope;
use crate::rank_slot::RankSlot;
use crate::report::{RankState, Unmatched, WaitReport};
use motet_dispatch::ReplayQueue;
use motet_sync::CachePadded;
use motet_sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub(crate) struct LocalRanks {
    entries: Box<[RankEntry]>,
    /// On the fabric `ports`; otherwise none.
    port_mailboxes: Box<[PortMailbox]>,
    /// In a replay; otherwise none.
    networks: Box<[Network]>,
    /// Of each worker.
    pending_closes: Box<[CachePadded<PendingCloses>]>,
    /// The rank in the world of the first rank here.
    pub(crate) first: usize,
    /// Numbers of communicators that have been given out.
    pub(crate) communicators: AtomicU32,
    /// Ways for messages that no rank sends.
    pub(crate) entrances: Entrances,
    /// Who takes messages in for the ranks here.
    pub(crate) delegates: Delegates,
    /// Set once: the run ends early.
    over: AtomicBool,
    pub(super) begun: Instant,
    stuck: OnceLock<WaitReport>,
    /// Where the one rank here is a thread of the program: how often it has begun and ended to do
    /// nothing but wait. Odd: it waits.
    blocks: AtomicUsize,
}

/// What all need to know of a rank here, in a cache line of its own. It is read with each message
/// and written when the rank goes to sleep. There may be millions of ranks.
#[repr(align(64))]
struct RankEntry {
    slot: RankSlot,
    /// On the fabrics of shared memory, when it is needed: ranks that only meet have none.
    mailbox: OnceLock<Box<CachePadded<Mailbox>>>,
    /// The home worker.
    home: u32,
}

/// Messages that the ranks here have.
pub(crate) trait LocalMail: Mail {
    /// Those of a rank.
    fn of(local: &LocalRanks, rank: usize) -> &Self;

    /// As [`Mail::push`], of a rank to itself.
    #[inline]
    fn push_own(&self, message: impl FnOnce() -> Envelope, signed: &mut Signed) {
        self.push(message, signed);
    }
}

impl LocalMail for Mailbox {
    #[inline]
    fn of(local: &LocalRanks, rank: usize) -> &Self {
        local.mailbox(rank)
    }
}

impl LocalMail for PortMailbox {
    fn of(local: &LocalRanks, rank: usize) -> &Self {
        &local.port_mailboxes[rank]
    }
}

impl LocalMail for Network {
    fn of(local: &LocalRanks, rank: usize) -> &Self {
        &local.networks[rank]
    }

    fn push_own(&self, message: impl FnOnce() -> Envelope, signed: &mut Signed) {
        self.mailbox().push(message, signed);
    }
}

impl LocalRanks {
    /// Room for `ranks` ranks on `workers` workers; neighbours share a worker where they can.
    pub(crate) fn new(ranks: usize, workers: usize) -> Self {
        let entry = |rank| RankEntry {
            slot: RankSlot::new(),
            mailbox: OnceLock::new(),
            home: u32::try_from(rank * workers / ranks).expect("there are few workers"),
        };
        LocalRanks {
            entries: (0..ranks).map(entry).collect(),
            port_mailboxes: Box::default(),
            networks: Box::default(),
            pending_closes: (0..workers).map(|_| CachePadded::default()).collect(),
            first: 0,
            communicators: AtomicU32::new(1),
            entrances: Entrances::default(),
            delegates: Delegates::default(),
            over: AtomicBool::new(false),
            begun: Instant::now(),
            stuck: OnceLock::new(),
            blocks: AtomicUsize::new(0),
        }
    }

    /// As [`LocalRanks::new`], with a port for each rank.
    pub(crate) fn with_ports(ranks: usize, workers: usize) -> Self {
        LocalRanks {
            port_mailboxes: (0..ranks).map(|_| PortMailbox::new()).collect(),
            ..LocalRanks::new(ranks, workers)
        }
    }

    /// As [`LocalRanks::new`], with a thread for each rank, for ranks whose messages `queue`
    /// brings.
    pub(crate) fn in_replay(ranks: usize, queue: &ReplayQueue) -> Arc<Self> {
        Arc::new_cyclic(|local| LocalRanks {
            networks: (0..ranks)
                .map(|place| Network::new(local, place, queue))
                .collect(),
            ..LocalRanks::new(ranks, ranks)
        })
    }

    /// Numbers for so many new communicators; the first of them.
    ///
    /// # Panics
    /// When there are no more: messages of two communicators would meet.
    pub(super) fn new_communicators(&self, count: u32) -> u32 {
        // Relaxed: the numbers need only differ.
        let (all, relaxed) = (&self.communicators, Ordering::Relaxed);
        let given = all.fetch_update(relaxed, relaxed, |first| first.checked_add(count));
        given.expect("a run has made 2^32 communicators, and has no number for another one")
    }

    /// The number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.entries.len()
    }

    /// Where a rank waits.
    #[inline]
    pub(crate) fn slot(&self, rank: usize) -> &RankSlot {
        &self.entries[rank].slot
    }

    /// Where the ranks wait.
    pub(super) fn slots(&self) -> impl Iterator<Item = &RankSlot> {
        self.entries.iter().map(|entry| &entry.slot)
    }

    /// The mailbox of a rank.
    #[inline]
    pub(crate) fn mailbox(&self, rank: usize) -> &Mailbox {
        let mailbox = &self.entries[rank].mailbox;
        mailbox.get_or_init(|| Box::new(CachePadded::new(Mailbox::new())))
    }

    /// The worker on which `rank` lives.
    #[inline]
    pub(crate) fn home(&self, rank: usize) -> usize {
        self.entries[rank].home as usize
    }

    /// What the ranks of the worker on which `rank` lives have still to tell their neighbours.
    #[inline]
    pub(crate) fn pending_closes(&self, rank: usize) -> &PendingCloses {
        &self.pending_closes[self.home(rank)]
    }

    /// Ends the run early: every rank is woken and finds out at its next wait.
    ///
    /// A rank that is just being started has no task yet that could be woken. Of the fence here and
    /// the one in `RankSlot::set_task` one comes first: either the task is seen here, or its first
    /// poll sees `over`. What a task that is woken sees is the waker's business.
    pub(crate) fn end_early(&self) {
        self.over.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.slots().for_each(RankSlot::wake);
    }

    /// Whether the run ends early.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Called when no worker has anything to run: if every rank that has not finished waits for
    /// another rank, the run ends with a report. `still_idle` says whether nothing has run since.
    pub(crate) fn check_stuck(&self, still_idle: impl Fn() -> bool) {
        let Some(report) = self.hopeless() else {
            return;
        };
        if report.has_waiting() && still_idle() && self.stuck.set(report).is_ok() {
            self.end_early();
        }
    }

    /// Nothing will come any more: the run ends with what the ranks wait for, of which this knows
    /// what is of ranks.
    pub(crate) fn nothing_comes(&self) {
        let state = |slot: &RankSlot| match slot.is_finished() {
            true => RankState::Finished,
            false => RankState::Waiting(slot.waits()),
        };
        let report = WaitReport {
            ranks: self.slots().map(state).collect(),
            unmatched: self.unmatched(usize::MAX),
        };
        if self.stuck.set(report).is_ok() {
            self.end_early();
        }
    }

    /// The rank here, which is a thread, does nothing but wait from now on.
    ///
    /// Release, here and below: who sees the number sees what the rank has sent before. Acquire:
    /// what is looked at behind the number is no older than it.
    pub(crate) fn thread_blocks(&self) {
        self.blocks.fetch_add(1, Ordering::AcqRel);
    }

    /// It goes on.
    pub(crate) fn thread_goes_on(&self) {
        self.blocks.fetch_add(1, Ordering::AcqRel);
    }

    /// A number that changes whenever it begins to wait or goes on; 0 where ranks are tasks.
    pub(crate) fn thread_changes(&self) -> usize {
        self.blocks.load(Ordering::Acquire)
    }

    /// Where the ranks wait, if every rank that has not finished waits for another, and no message
    /// from outside can end it.
    pub(crate) fn hopeless(&self) -> Option<WaitReport> {
        // Before the ranks: what came through one that is closed now has woken its rank.
        let open = self.entrances.open();
        let changes = self.thread_changes();
        let state = |slot: &RankSlot| {
            if slot.is_finished() {
                return Some(RankState::Finished);
            }
            let waits = match changes {
                0 => slot.hopeless_waits(),
                _ if changes % 2 == 1 => slot.thread_waits(),
                _ => None,
            };
            waits.map(RankState::Waiting)
        };
        let ranks = self.slots().map(state).collect::<Option<Vec<_>>>()?;
        let may_end = |door: &Arc<Door>| match &ranks[door.place] {
            RankState::Waiting(waits) => waits.iter().any(|wait| door.may_end(wait)),
            _ => false,
        };
        if open.iter().any(may_end) {
            return None;
        }
        let unmatched = self.unmatched(usize::MAX);
        Some(WaitReport { ranks, unmatched })
    }

    /// The program's messages that nobody has received, at most so many of each rank.
    pub(crate) fn unmatched(&self, most: usize) -> Vec<Unmatched> {
        let boxes = self.entries.iter().enumerate();
        let boxes = boxes.flat_map(|(rank, entry)| {
            let mailbox = entry.mailbox.get();
            mailbox.map_or_else(Vec::new, |mailbox| {
                mailbox.unmatched(self.first + rank, most)
            })
        });
        let port_mailboxes = self.port_mailboxes.iter().enumerate();
        let port_mailboxes =
            port_mailboxes.flat_map(|(rank, port_mailbox)| port_mailbox.unmatched(rank, most));
        let networks = self.networks.iter().enumerate();
        let networks = networks.flat_map(|(rank, network)| network.unmatched(rank, most));
        boxes.chain(port_mailboxes).chain(networks).collect()
    }

    /// The report, if the run ended because it was stuck.
    pub(crate) fn stuck(&self) -> Option<&WaitReport> {
        self.stuck.get()
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no number for another one")]
    fn two_communicators_never_have_one_number() {
        let local = LocalRanks::new(1, 1);
        local.communicators.store(u32::MAX - 3, Ordering::Relaxed);
        assert_eq!(local.new_communicators(2), u32::MAX - 3);
        let more = || local.new_communicators(2);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(more)).is_err());
        // Nor later.
        more();
    }

    #[test]
    fn a_seat_is_one_cache_line() {
        assert_eq!(size_of::<RankEntry>(), 64);
    }
}
