//! Broadcast.

use crate::fabric::Fabric;
use crate::report::{Operation, Wait};
use crate::{CommError, Communicator};
use std::future::Future;

impl Communicator {
    /// Gives every rank the value of `root` (MPI_BCAST). The root passes `Some`, the others `None`.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Root`] when this rank passes a value and is not the
    /// root, or is the root and passes none; [`CommError::Mismatch`] when a rank is in another
    /// collective, names another root or asks for another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let told = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.broadcast(2, (comm.rank() == 2).then_some("amen")).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(told, ["amen"; 3]);
    /// ```
    #[track_caller]
    pub fn broadcast<T: Clone + Send + Sync + 'static>(
        &self,
        root: usize,
        value: Option<T>,
    ) -> impl Future<Output = Result<T, CommError>> {
        let wait = Wait::here(Operation::Collective {
            name: "broadcast",
            root: Some(root),
        });
        async move {
            self.check_root(root, value.is_some(), &wait)?;
            let value = self.fabric().meet_all(wait, value, Option::or).await?;
            Ok(value.expect("the root has passed a value"))
        }
    }

    /// Checks that the root, and nobody else, passes a value.
    pub(super) fn check_root(
        &self,
        root: usize,
        passes: bool,
        wait: &Wait,
    ) -> Result<(), CommError> {
        self.check_rank(root)?;
        let operation = wait.operation;
        let problem = match (self.rank() == root, passes) {
            (true, true) | (false, false) => return Ok(()),
            (true, false) => format!("rank {root} is the root of {operation} and passes no value"),
            (false, true) => {
                format!(
                    "rank {} passes a value to {operation}, of which it is not the root",
                    self.rank()
                )
            }
        };
        Err(CommError::Root { problem })
    }
}
