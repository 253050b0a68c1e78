//! What a run is to keep to.

use crate::Time;
use serde::{Deserialize, Serialize};

/// Which of two events at the same time for the same process comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Tie {
    /// The one of the process with the smaller number; then the one that was scheduled first.
    #[default]
    Order,
    /// A number drawn from the seed, the sender and its count decides: no process is preferred.
    Hash,
}

/// What a run is to keep to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What all random numbers are drawn from.
    pub seed: u64,
    /// Events at this time or later are not handled.
    pub end: Time,
    /// Each event for another process has at least this delay, where the model declares no links.
    pub lookahead: Time,
    /// The order of events at one time.
    pub tie: Tie,
    /// Whether the run keeps the keys of all events that it commits.
    pub trace: bool,
    /// More events than this end the run with an error: at once if one rank has handled them, at
    /// the end of the run if all together have.
    pub most_events: u64,
    /// More events than this that wait on one rank, or may have to be taken back, end the run with
    /// an error. Time Warp looks between its rounds.
    pub most_pending: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 0,
            end: Time::MAX,
            lookahead: 0,
            tie: Tie::Order,
            trace: false,
            most_events: u64::MAX,
            most_pending: usize::MAX,
        }
    }
}
