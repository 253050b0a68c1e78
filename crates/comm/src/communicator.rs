//! The communicator: one rank's handle on its world.

use crate::CommError;
use crate::fabric::{AnyFabric, Fabric};
use std::fmt;

/// One rank's handle on its world: who it is, and all it can say to the others.
///
/// A communicator belongs to its rank and does not leave it. Its calls are async: a rank that waits
/// holds no thread. The calls are described where they are defined: point-to-point, collectives,
/// topologies.
///
/// # Cancellation
/// Dropping the future of a point-to-point call before it ends takes nothing and sends nothing, but for
/// `sendrecv` and `shift`: they send when they are first polled, and their messages stay on their way.
/// Dropping that of a collective leaves this rank out of step; its next collective says so.
pub struct Communicator {
    fabric: AnyFabric,
}

impl Communicator {
    pub(crate) fn new(fabric: AnyFabric) -> Self {
        Communicator { fabric }
    }

    /// This rank, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.fabric.rank()
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.fabric.size()
    }

    pub(crate) fn fabric(&self) -> &AnyFabric {
        &self.fabric
    }

    /// Checks that `rank` exists.
    pub(crate) fn check_rank(&self, rank: usize) -> Result<(), CommError> {
        let size = self.size();
        if rank < size {
            Ok(())
        } else {
            Err(CommError::NoSuchRank { rank, size })
        }
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
