//! What the ranks of a world on threads share: where they wait, their mail, where they meet, and how
//! the run ends.

use super::meeting::Meeting;
use crate::envelope::{Arrived, Envelope};
use crate::rank_slot::RankSlot;
use crate::report::{RankState, WaitReport};
use motet_sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use motet_sync::{CachePadded, Mutex};
use std::sync::OnceLock;

pub(crate) struct Hall {
    pub(crate) slots: Box<[CachePadded<RankSlot>]>,
    pub(crate) mailboxes: Box<[CachePadded<Mailbox>]>,
    pub(crate) meeting: Meeting,
    /// The home worker of each rank.
    homes: Box<[usize]>,
    /// Set once: the run ends early.
    over: AtomicBool,
    stuck: OnceLock<WaitReport>,
}

/// Messages for one rank.
pub(crate) struct Mailbox {
    arrived: Mutex<Arrived>,
    /// Goes up with each message, so that a waiting rank need not take the lock to look.
    arrivals: AtomicU32,
}

impl Hall {
    /// A hall for `ranks` ranks on `workers` workers; neighbours share a worker where they can.
    pub(crate) fn new(ranks: usize, workers: usize) -> Self {
        let mailbox = || Mailbox {
            arrived: Mutex::default(),
            arrivals: AtomicU32::new(0),
        };
        Hall {
            slots: (0..ranks)
                .map(|_| CachePadded::new(RankSlot::new()))
                .collect(),
            mailboxes: (0..ranks).map(|_| CachePadded::new(mailbox())).collect(),
            meeting: Meeting::new(ranks),
            homes: (0..ranks).map(|rank| rank * workers / ranks).collect(),
            over: AtomicBool::new(false),
            stuck: OnceLock::new(),
        }
    }

    /// The number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.slots.len()
    }

    /// The worker on which `rank` lives.
    pub(crate) fn home(&self, rank: usize) -> usize {
        self.homes[rank]
    }

    /// Ends the run early: every rank is woken and finds out at its next wait.
    ///
    /// A rank that is just being started has no task yet that could be woken. Of the fence here and the one in
    /// `RankSlot::set_task` one comes first: either the task is seen here, or its first poll sees
    /// `over`. What a task that is woken sees is the waker's business.
    pub(crate) fn end_early(&self) {
        self.over.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.slots.iter().for_each(|slot| slot.wake());
    }

    /// Whether the run ends early.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Called when no worker has anything to run: if every rank that has not finished waits for
    /// another rank, the run ends with a report. `still_idle` says whether nothing has run since.
    pub(crate) fn check_stuck(&self, still_idle: impl Fn() -> bool) {
        let mut ranks = Vec::with_capacity(self.size());
        for slot in &self.slots {
            if slot.is_finished() {
                ranks.push(RankState::Finished);
            } else if let Some(waits) = slot.hopeless_waits() {
                ranks.push(RankState::Waiting(waits));
            } else {
                return;
            }
        }
        let all_finished = ranks.iter().all(|rank| *rank == RankState::Finished);
        if !all_finished && still_idle() && self.stuck.set(WaitReport { ranks }).is_ok() {
            self.end_early();
        }
    }

    /// The report, if the run ended because it was stuck.
    pub(crate) fn stuck(&self) -> Option<&WaitReport> {
        self.stuck.get()
    }
}

impl Mailbox {
    pub(crate) fn push(&self, envelope: Envelope) {
        self.arrived.lock().push(envelope);
        self.arrivals.fetch_add(1, Ordering::Release);
    }

    /// The number of messages that have arrived so far.
    #[inline]
    pub(crate) fn arrivals(&self) -> u32 {
        self.arrivals.load(Ordering::Acquire)
    }

    pub(crate) fn arrived(&self) -> motet_sync::MutexGuard<'_, Arrived> {
        self.arrived.lock()
    }
}
