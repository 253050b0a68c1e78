//! Scatter.

use crate::fabric::Fabric;
use crate::report::{Operation, Wait};
use crate::{CommError, Communicator};
use motet_sync::Mutex;
use std::future::Future;
use std::sync::Arc;

impl Communicator {
    /// Gives each rank one of the values of `root`, in rank order (MPI_SCATTER). The root passes one
    /// value per rank, the others `None`.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Root`] when this rank passes values and is not the
    /// root, or is the root and passes none or not as many as there are ranks;
    /// [`CommError::Mismatch`] when a rank is in another collective, names another root or asks for
    /// another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let parts = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.scatter(0, (comm.rank() == 0).then(|| vec!["a", "b", "c"])).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(parts, ["a", "b", "c"]);
    /// ```
    #[track_caller]
    pub fn scatter<T: Send + 'static>(
        &self,
        root: usize,
        values: Option<Vec<T>>,
    ) -> impl Future<Output = Result<T, CommError>> {
        let wait = Wait::here(Operation::Collective {
            name: "scatter",
            root: Some(root),
        });
        async move {
            self.check_root(root, values.is_some(), &wait)?;
            if let Some(values) = &values
                && values.len() != self.size()
            {
                let (given, size) = (values.len(), self.size());
                let problem =
                    format!("rank {root} passes {given} values to scatter among {size} ranks");
                return Err(CommError::Root { problem });
            }
            // Every rank gets the shelf and takes its own value from it.
            let shelf = |values: Vec<T>| -> Shelf<T> {
                values
                    .into_iter()
                    .map(|value| Mutex::new(Some(value)))
                    .collect()
            };
            let shelf = self
                .fabric()
                .meet_all(wait, values.map(shelf), Option::or)
                .await?;
            let shelf = shelf.expect("the root has passed values");
            let value = shelf[self.rank()].lock().take();
            Ok(value.expect("each rank takes its own value, once"))
        }
    }
}

type Shelf<T> = Arc<[Mutex<Option<T>>]>;
