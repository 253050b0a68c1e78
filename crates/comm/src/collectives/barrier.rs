//! Barrier.

use crate::fabric::Fabric;
use crate::report::{Operation, Wait};
use crate::{CommError, Communicator};
use std::future::Future;

impl Communicator {
    /// Waits until every rank is here (MPI_BARRIER).
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective.
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<(), CommError>> {
        let wait = Wait::here(Operation::Collective {
            name: "barrier",
            root: None,
        });
        self.fabric().meet_all(wait, (), |(), ()| ())
    }
}
