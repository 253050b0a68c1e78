//! Gather.

use crate::fabric::Fabric;
use crate::report::{Operation, Wait};
use crate::{CommError, Communicator};
use std::future::Future;

impl Communicator {
    /// Gives `root` the values of all ranks in rank order, the others `None` (MPI_GATHER).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Mismatch`] when a rank is in another collective,
    /// names another root or brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let ranks = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> { comm.gather(0, comm.rank()).await })
    ///     .unwrap();
    /// assert_eq!(ranks, [Some(vec![0, 1, 2]), None, None]);
    /// ```
    #[track_caller]
    pub fn gather<T: Send + 'static>(
        &self,
        root: usize,
        value: T,
    ) -> impl Future<Output = Result<Option<Vec<T>>, CommError>> {
        let wait = Wait::here(Operation::Collective {
            name: "gather",
            root: Some(root),
        });
        async move {
            self.check_rank(root)?;
            self.fabric().meet_at(root, wait, vec![value], append).await
        }
    }
}

/// `left` followed by `right`.
pub(super) fn append<T>(mut left: Vec<T>, mut right: Vec<T>) -> Vec<T> {
    left.append(&mut right);
    left
}
