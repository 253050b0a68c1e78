//! Reduce.

use crate::fabric::Fabric;
use crate::report::{Operation, Wait};
use crate::{CommError, Communicator};
use std::future::Future;

impl Communicator {
    /// Combines the values of all ranks with `op` and gives `root` the total, the others `None`
    /// (MPI_REDUCE).
    ///
    /// `op` must be associative; it need not commute: the values are combined in rank order.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Mismatch`] when a rank is in another collective,
    /// names another root or brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let words = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.reduce(1, ["to", "get", "her"][comm.rank()].to_owned(), |a, b| a + &b).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(words, [None, Some("together".to_owned()), None]);
    /// ```
    #[track_caller]
    pub fn reduce<T: Send + 'static>(
        &self,
        root: usize,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> impl Future<Output = Result<Option<T>, CommError>> {
        let wait = Wait::here(Operation::Collective {
            name: "reduce",
            root: Some(root),
        });
        async move {
            self.check_rank(root)?;
            self.fabric().meet_at(root, wait, value, op).await
        }
    }
}
