//! What a search has come to.

use crate::Limit;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The result of a search, and what it has taken. The same on every rank.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome<R> {
    /// The result; of the part that was visited, if a limit has ended the search.
    pub result: R,
    /// The limit that has ended it, if one has.
    pub stopped: Option<Limit>,
    /// What it has taken.
    pub report: Report,
}

/// What a search has taken, on all ranks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Nodes that were visited.
    pub nodes: u64,
    /// Nodes that were left out by their bound, with all below them.
    pub pruned: u64,
    /// Nodes of [`Search::play`](crate::Search::play) whose search was given up because of what
    /// another rank had found.
    pub wasted: u64,
    /// Pieces of the tree that went from one rank to another.
    pub steals: u64,
    /// Messages about better values that were sent.
    pub bounds_sent: u64,
    /// Those of them that were better than what their receiver knew.
    pub bounds_used: u64,
    /// Rounds of [`Search::deepen`](crate::Search::deepen); else 1.
    pub rounds: u32,
    /// Nodes visited or left out in all rounds but the last: the same on any ranks.
    pub before_last_round: u64,
    /// Each rank's part.
    pub ranks: Vec<RankReport>,
}

/// What one rank has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankReport {
    /// Nodes that it has visited, without those that were left out by their bound.
    pub nodes: u64,
    /// How long it has visited nodes. The rest of the time it has looked for work, or waited.
    pub busy: Duration,
}

impl Report {
    /// Adds another rank's, or another round's.
    pub(crate) fn add(&mut self, other: &Report) {
        self.nodes += other.nodes;
        self.pruned += other.pruned;
        self.wasted += other.wasted;
        self.steals += other.steals;
        self.bounds_sent += other.bounds_sent;
        self.bounds_used += other.bounds_used;
    }

    /// Adds another round's, rank by rank.
    pub(crate) fn add_round(&mut self, other: &Report) {
        self.add(other);
        self.rounds += other.rounds;
        self.ranks
            .resize_with(other.ranks.len(), RankReport::default);
        for (rank, more) in self.ranks.iter_mut().zip(&other.ranks) {
            rank.nodes += more.nodes;
            rank.busy += more.busy;
        }
    }
}
