//! Gather.

use super::shelf::{Shelf, append, copy};
use crate::fabric::Call;
use crate::meet::{Collective, Meet};
use crate::request::Request;
use crate::{CommError, Communicator, Plain, Value};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::panic::Location;

impl Communicator {
    /// Gives `root` the values of all ranks in rank order, the others `None` (MPI_GATHER; with a `Vec` as the
    /// value also MPI_GATHERV).
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
    pub fn gather<T: Value>(
        &self,
        root: usize,
        value: T,
    ) -> impl Future<Output = Result<Option<Vec<T>>, CommError>> {
        let call = Call::new::<T>("gather", Location::caller()).root(root);
        self.gather_at(call, root, value).now()
    }

    /// Starts a [`gather`](Communicator::gather) (MPI_IGATHER).
    ///
    /// # Errors
    /// The request's: as [`Communicator::gather`].
    #[track_caller]
    pub fn igather<T: Value>(&self, root: usize, value: T) -> Request<'_, Option<Vec<T>>> {
        let call = Call::new::<T>("igather", Location::caller()).root(root);
        self.gather_at(call, root, value).started()
    }

    /// Puts the numbers of all ranks, the same number of each, one after the other into `all` of `root`
    /// (MPI_GATHER). The others' `all` stays as it is and may be empty.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Arguments`] when the root's `all` has not as many elements as
    /// come; [`CommError::Mismatch`] when a rank is in another collective or names another root, type or
    /// length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let all = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut all = [0; 4];
    ///         comm.gather_into(0, &[comm.rank(), 7], &mut all).await?;
    ///         Ok(all)
    ///     })
    ///     .unwrap();
    /// assert_eq!(all, [[0, 7, 1, 7], [0; 4]]);
    /// ```
    #[track_caller]
    pub fn gather_into<'c, T: Plain>(
        &'c self,
        root: usize,
        numbers: &[T],
        all: &'c mut [T],
    ) -> impl Future<Output = Result<(), CommError>> {
        let call = Call::new::<T>("gather_into", Location::caller()).length(numbers.len());
        self.gather_numbers(call, root, numbers, all, |_| ()).now()
    }

    /// Starts a [`gather_into`](Communicator::gather_into) (MPI_IGATHER).
    ///
    /// # Errors
    /// The request's: as [`Communicator::gather_into`].
    #[track_caller]
    pub fn igather_into<'c, T: Plain>(
        &'c self,
        root: usize,
        numbers: &[T],
        all: &'c mut [T],
    ) -> Request<'c, ()> {
        let call = Call::new::<T>("igather_into", Location::caller()).length(numbers.len());
        self.gather_numbers(call, root, numbers, all, |_| ())
            .started()
    }

    /// Puts the numbers of all ranks, which may bring different numbers of them, one after the other into
    /// `all` of `root`; on every rank, how many each has brought (MPI_GATHERV).
    ///
    /// # Errors
    /// As [`Communicator::gather_into`]; the lengths may differ.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let all = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut all = [9; 3];
    ///         let counts = comm.gatherv_into(0, &[1; 3][..comm.rank()], &mut all).await?;
    ///         assert_eq!(counts, [0, 1, 2]);
    ///         Ok(all)
    ///     })
    ///     .unwrap();
    /// assert_eq!(all, [[1; 3], [9; 3], [9; 3]]);
    /// ```
    #[track_caller]
    pub fn gatherv_into<'c, T: Plain>(
        &'c self,
        root: usize,
        numbers: &[T],
        all: &'c mut [T],
    ) -> impl Future<Output = Result<Vec<usize>, CommError>> {
        let call = Call::new::<T>("gatherv_into", Location::caller());
        self.gather_numbers(call, root, numbers, all, <[usize]>::to_vec)
            .now()
    }

    /// Starts a [`gatherv_into`](Communicator::gatherv_into) (MPI_IGATHERV).
    ///
    /// # Errors
    /// The request's: as [`Communicator::gatherv_into`].
    #[track_caller]
    pub fn igatherv_into<'c, T: Plain>(
        &'c self,
        root: usize,
        numbers: &[T],
        all: &'c mut [T],
    ) -> Request<'c, Vec<usize>> {
        let call = Call::new::<T>("igatherv_into", Location::caller());
        self.gather_numbers(call, root, numbers, all, <[usize]>::to_vec)
            .started()
    }

    fn gather_at<'c, T: Value>(
        &'c self,
        call: Call,
        root: usize,
        value: T,
    ) -> impl Collective<'c, Option<Vec<T>>> {
        let value = self.check_rank(root).map(|()| vec![value]);
        let is_root = self.rank() == root;
        let read = move |all: &Shelf<Vec<T>>| Ok(is_root.then(|| all.take(0)));
        Meet::new(self, call, value, append, |all| Shelf::new([all]), read)
    }

    fn gather_numbers<'c, T: Plain, R: 'c>(
        &'c self,
        call: Call,
        root: usize,
        numbers: &[T],
        all: &'c mut [T],
        give: impl FnOnce(&[usize]) -> R + 'c,
    ) -> impl Collective<'c, R> {
        let (is_root, name) = (self.rank() == root, call.name());
        let value = self.check_rank(root).map(|()| Pieces::one(numbers));
        let read = move |came: &Pieces<T>| {
            if is_root {
                copy(name, &came.numbers, all)?;
            }
            Ok(give(&came.counts))
        };
        Meet::new(self, call.root(root), value, Pieces::join, |all| all, read)
    }
}

/// The numbers of several ranks, one after the other.
#[derive(Serialize, Deserialize)]
pub(super) struct Pieces<T> {
    pub(super) counts: Vec<usize>,
    pub(super) numbers: Vec<T>,
}

impl<T: Plain> Pieces<T> {
    pub(super) fn one(numbers: &[T]) -> Self {
        Pieces {
            counts: vec![numbers.len()],
            numbers: numbers.to_vec(),
        }
    }

    pub(super) fn join(self, right: Self) -> Self {
        Pieces {
            counts: append(self.counts, right.counts),
            numbers: append(self.numbers, right.numbers),
        }
    }
}
