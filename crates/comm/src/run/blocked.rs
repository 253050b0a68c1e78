//! Ranks that block their thread where they wait, and are not polled by a worker.

use super::Entered;
use crate::Communicator;
use crate::fabric::{AnyFabric, LocalRanks};
use std::fmt;
use std::sync::Arc;

/// The rank that a thread is waits in a call until this is dropped: see [`Entered::blocked`].
#[must_use = "the rank waits until this is dropped"]
pub struct BlockedRank(Option<Arc<LocalRanks>>);

fn of_processes(comm: &Communicator) -> Option<&Arc<LocalRanks>> {
    match comm.fabric() {
        AnyFabric::Remote(remote) => Some(&remote.processes().local),
        _ => None,
    }
}

impl Communicator {
    /// Whether a run of several processes ends early: a rank has failed, here or elsewhere, or a
    /// process is lost. What this rank waits for then does not come. For ranks that block their
    /// thread; others end where they wait.
    #[must_use]
    pub fn run_is_over(&self) -> bool {
        of_processes(self).is_some_and(|ranks| ranks.is_over())
    }
}

impl Entered {
    /// Says that the thread does nothing but wait for a call of a communicator until the guard is
    /// dropped. Ranks that wait for what this one has left are told so now. Where all ranks of all
    /// processes wait so or have ended, and one has ended, the run ends with
    /// [`RunError::Stuck`](crate::RunError::Stuck).
    pub fn blocked(&self) -> BlockedRank {
        let ranks = self.comm.as_deref().and_then(of_processes).cloned();
        if let Some(ranks) = &ranks {
            // No worker polls this rank: it tells its peers here what it has left.
            ranks.pending_closes(0).tell(ranks);
            ranks.thread_blocks();
        }
        BlockedRank(ranks)
    }
}

impl Drop for BlockedRank {
    fn drop(&mut self) {
        if let Some(ranks) = &self.0 {
            ranks.thread_goes_on();
        }
    }
}

impl fmt::Debug for BlockedRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockedRank").finish_non_exhaustive()
    }
}
