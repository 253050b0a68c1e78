//! What a run has come to.

use crate::event::EventKey;
use motet_comm::{CommError, Communicator};
use serde::{Deserialize, Serialize};

/// What a run has come to, on one rank.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome<P> {
    /// The number of the first process of this rank.
    pub first: usize,
    /// The processes of this rank, as they are at the end.
    pub processes: Vec<P>,
    /// What all ranks together have done.
    pub report: Report,
    /// The keys of all events that the processes of this rank have handled, in their order, if
    /// [`Options::trace`](crate::Options::trace) asks for them.
    pub trace: Vec<EventKey>,
}

/// What all ranks together have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Events that were handled for good.
    pub committed: u64,
    /// Events that were handled and taken back.
    pub rolled_back: u64,
    /// Rounds of exchange: windows, or rounds of Time Warp. Of null messages those of the rank that
    /// made the most; in another run they may be others.
    pub rounds: u64,
    /// Events that went to another rank.
    pub sent: u64,
    /// Events that were taken back from another rank.
    pub unsent: u64,
    /// Messages that held promises only; in another run they may be others.
    pub nulls: u64,
    /// The most events that one rank has committed.
    pub most_of_a_rank: u64,
}

impl Report {
    /// The committed part of what was handled, from 0 to 1.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        match self.committed + self.rolled_back {
            0 => 1.0,
            handled => self.committed as f64 / handled as f64,
        }
    }

    /// The report of all ranks, from that of each. Rounds are the same on all of them.
    pub(crate) async fn of_all(mut self, comm: &Communicator) -> Result<Self, CommError> {
        self.most_of_a_rank = self.committed;
        comm.allreduce(self, |one: Report, other: Report| Report {
            committed: one.committed + other.committed,
            rolled_back: one.rolled_back + other.rolled_back,
            rounds: one.rounds.max(other.rounds),
            sent: one.sent + other.sent,
            unsent: one.unsent + other.unsent,
            nulls: one.nulls + other.nulls,
            most_of_a_rank: one.most_of_a_rank.max(other.most_of_a_rank),
        })
        .await
    }
}
