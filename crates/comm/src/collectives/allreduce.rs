//! Allreduce.

use crate::fabric::Fabric;
use crate::report::{Operation, Wait};
use crate::{CommError, Communicator};
use std::future::Future;

impl Communicator {
    /// Combines the values of all ranks with `op` and gives every rank the total (MPI_ALLREDUCE).
    ///
    /// `op` must be associative; it need not commute: the values are combined in rank order. It is
    /// called on whichever rank has both operands first. For a total that has the same bits for any
    /// number of ranks see [`Dyadic`](crate::Dyadic).
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective or brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let largest = World::threads(4)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.allreduce((comm.rank() as f64).sin(), f64::max).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(largest, [2f64.sin(); 4]);
    /// ```
    #[track_caller]
    pub fn allreduce<T: Clone + Send + Sync + 'static>(
        &self,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> impl Future<Output = Result<T, CommError>> {
        let wait = Wait::here(Operation::Collective {
            name: "allreduce",
            root: None,
        });
        self.fabric().meet_all(wait, value, op)
    }
}
