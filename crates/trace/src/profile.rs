//! Where the time of a run goes: computing, waiting and messaging, rank by rank and stage by stage.

mod imbalance;
mod overhead;
mod recorder;
mod text;

pub use imbalance::Imbalance;
pub use overhead::{Overhead, OverheadModel};
pub use recorder::{Called, EnteredCall, ProfileClock, Recorder};

use serde::{Deserialize, Serialize};

/// Where the time of a run went: the answer of `World::profile`.
///
/// A stage is what a rank computes until it calls something that communicates, and that call.
/// Stages are told apart by the name of the call and its place in the program. Of each call, the
/// time until it first has to wait is messaging (packing, sending, combining), the rest waiting.
/// Everything between calls is computing.
///
/// [`overhead`](Profile::overhead) makes of it the papers' overhead f and its parts.
/// [`model`](Profile::model) tells what other grain sizes would give.
/// [`imbalances`](Profile::imbalances) tells the stages that lose time to a rank that computes
/// longer. Printed, it shows all of this.
///
/// What a rank computes beside a call that it awaits at the same time (in a select or a join)
/// counts as waiting. Posting a receive and testing a request count as computing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Profile {
    /// Seconds from the beginning of the first rank to the end of the last; over several processes,
    /// of the slowest.
    pub seconds: f64,
    /// The threads on which ranks ran, in all processes: P.
    pub threads: usize,
    /// One entry per rank, in rank order.
    pub ranks: Vec<RankProfile>,
}

/// Where the time of a rank went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankProfile {
    /// Its number in the world.
    pub rank: usize,
    /// The thread on which it ran, of those of all processes.
    pub thread: usize,
    /// Its stages, in the order in which it came to them first.
    pub stages: Vec<StageProfile>,
}

/// Where the time of the stages of one kind went, on one rank. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageProfile {
    /// The call at the end of these stages.
    pub call: String,
    /// Where it is: file, line and column. Empty for the end of the rank, and for waits that are
    /// for no rank.
    pub site: String,
    /// How many there were.
    pub count: u64,
    /// Computing, in all of them.
    pub computing: f64,
    /// The standard deviation of the computing of one.
    pub deviation: f64,
    /// The mean distance of the computing of one from the mean: a measure of jitter that rare long
    /// stages do not spoil.
    pub spread: f64,
    /// The computing of the longest.
    pub longest: f64,
    /// Messaging, in all of them.
    pub messaging: f64,
    /// Waiting, in all of them.
    pub waiting: f64,
}

impl StageProfile {
    /// The mean computing of a stage: its grain.
    #[must_use]
    pub fn grain(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => self.computing / count as f64,
        }
    }

    /// Standard deviation over mean of the computing of a stage; 0 where nothing is computed.
    #[must_use]
    pub fn jitter(&self) -> f64 {
        if self.computing > 0.0 {
            self.deviation / self.grain()
        } else {
            0.0
        }
    }
}

impl RankProfile {
    /// Seconds of computing, messaging and waiting.
    #[must_use]
    pub fn totals(&self) -> [f64; 3] {
        let sum = |of: fn(&StageProfile) -> f64| self.stages.iter().map(of).sum();
        [
            sum(|stage| stage.computing),
            sum(|stage| stage.messaging),
            sum(|stage| stage.waiting),
        ]
    }
}

impl Profile {
    /// The profile of the ranks of one process.
    #[must_use]
    pub fn new(seconds: f64, threads: usize, ranks: Vec<RankProfile>) -> Self {
        Profile {
            seconds,
            threads,
            ranks,
        }
    }

    /// Adds the ranks of the next process.
    pub fn append(&mut self, next: Profile) {
        self.seconds = self.seconds.max(next.seconds);
        let threads = self.threads;
        self.ranks
            .extend(next.ranks.into_iter().map(|rank| RankProfile {
                thread: threads + rank.thread,
                ..rank
            }));
        self.threads += next.threads;
    }
}
