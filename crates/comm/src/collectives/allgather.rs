//! Allgather.

use super::gather::append;
use crate::fabric::Fabric;
use crate::report::{Operation, Wait};
use crate::{CommError, Communicator};
use std::future::Future;

impl Communicator {
    /// Gives every rank the values of all ranks in rank order (MPI_ALLGATHER).
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective or brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let all = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> { comm.allgather(comm.rank() + 10).await })
    ///     .unwrap();
    /// assert_eq!(all, [[10, 11], [10, 11]]);
    /// ```
    #[track_caller]
    pub fn allgather<T: Clone + Send + Sync + 'static>(
        &self,
        value: T,
    ) -> impl Future<Output = Result<Vec<T>, CommError>> {
        let wait = Wait::here(Operation::Collective {
            name: "allgather",
            root: None,
        });
        self.fabric().meet_all(wait, vec![value], append)
    }
}
