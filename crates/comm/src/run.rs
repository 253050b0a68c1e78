//! How the ranks of a world are started, watched and waited for.

mod blocked;
mod entered;
mod life;
mod links;
mod process_run;
mod profiling;
mod replayed;
mod solo;
mod threads;

pub use blocked::BlockedRank;
pub use entered::Entered;
pub(crate) use links::On;
pub(crate) use process_run::ProcessRoute;
pub(crate) use replayed::run_replayed;
pub(crate) use solo::run_solo;
pub(crate) use threads::{ThreadsConfig, run_threads};

use crate::{Profile, Unmatched};

/// What a run has ended with.
pub(crate) struct RunEnd<R> {
    /// What the ranks have returned, in rank order.
    pub(crate) results: Vec<R>,
    /// The messages that nobody has received.
    pub(crate) unmatched: Vec<Unmatched>,
    /// If the run was profiled, in process 0.
    pub(crate) profile: Option<Profile>,
}
