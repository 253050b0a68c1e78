//! Gather.

use super::counted::Ways;
use super::shelf::{Shelf, append};
use crate::exchange::{Exchange, Room};
use crate::fabric::Call;
use crate::meet::{Collective, Meet};
use crate::pending::{Either, Waiting};
use crate::request::Request;
use crate::schedule::Schedule;
use crate::{CommError, Communicator, Plain, Value};
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
        let (rank, each) = ((self.rank(), self.size()), numbers.len());
        let call = Call::new::<T>("gather_into", Location::caller());
        let (call, fine) = (call.root(root).length(each), self.check_rank(root));
        let pending = if self.exchanges::<T>(each) {
            let fine = fine.map(|()| Schedule::gather(rank, root, each));
            let all = if rank.0 == root { all } else { &mut all[..0] };
            let both = (numbers, Room::There(all));
            Either::One(Exchange::new(self, call, fine, both, |mine, _| mine))
        } else {
            let (way, ends) = ((call, Ways::Gather(root)), fine.map(|()| vec![each]));
            let all = self.counted_at_once(way, ends, numbers, all, |_| ());
            Either::Other(all)
        };
        Waiting::new(self.spot(), pending)
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
        let call = Call::new::<T>("igather_into", Location::caller());
        let call = call.root(root).length(numbers.len());
        let ends = self.check_rank(root).map(|()| vec![numbers.len()]);
        self.counted_at_once((call, Ways::Gather(root)), ends, numbers, all, |_| ())
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
        let call = Call::new::<T>("gatherv_into", Location::caller()).root(root);
        let ends = self.check_rank(root).map(|()| vec![numbers.len()]);
        let pending = self.counted((call, Ways::Gather(root)), ends, numbers, all, |counts| {
            counts
        });
        Waiting::new(self.spot(), pending)
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
        let call = Call::new::<T>("igatherv_into", Location::caller()).root(root);
        let ends = self.check_rank(root).map(|()| vec![numbers.len()]);
        self.counted_at_once((call, Ways::Gather(root)), ends, numbers, all, |counts| {
            counts
        })
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
}
