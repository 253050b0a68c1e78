//! Gather.

use super::counted::Ways;
use super::rank_parts::{RankParts, append};
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exchange::{ExchangeBuffer, SliceExchange};
use crate::fabric::RankCall;
use crate::pending::Either;
use crate::schedule::ExchangeSchedule;
use crate::{Communicator, Plain, Value};
use std::panic::Location;

impl Communicator {
    /// Gives `root` the values of all ranks in rank order, the others `None` (MPI_GATHER; with a
    /// `Vec` as the value also MPI_GATHERV).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`](crate::CommError::NoSuchRank);
    /// [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in another collective,
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
    ) -> CollectiveCall<impl Startable<'_, Given = Option<Vec<T>>>> {
        let call = RankCall::new::<T>("gather", Location::caller()).root(root);
        self.gather_at(call, root, value).now()
    }

    /// Puts the numbers of all ranks, the same number of each, one after the other into `all` of
    /// `root` (MPI_GATHER). The others' `all` stays as it is and may be empty.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`](crate::CommError::NoSuchRank).
    /// [`CommError::Arguments`](crate::CommError::Arguments) when the root's `all` has not as many
    /// elements as come. [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in
    /// another collective or names another root, type or length.
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
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let (rank, each) = ((self.rank(), self.size()), numbers.len());
        let call = RankCall::new::<T>("gather_into", Location::caller());
        let call = call.root(root).length(each);
        let way = (call, Ways::Gather(root));
        let ends = move || self.check_rank(root).map(|()| vec![each]);
        TwoWays::new(
            self.wait_site(),
            (numbers, all),
            move |(numbers, all)| {
                if !self.exchanges::<T>(each) {
                    return Either::One(self.counted_at_once(way, ends(), numbers, all, |_| ()));
                }
                let fine = ends().map(|_| ExchangeSchedule::gather(rank, root, each));
                let all = if rank.0 == root { all } else { &mut all[..0] };
                let both = (numbers, ExchangeBuffer::There(all));
                Either::Other(SliceExchange::new(self, call, fine, both, |mine, _| mine))
            },
            move |(numbers, all)| {
                let meet = self.counted_at_once(way, ends(), numbers, all, |_| ());
                meet.started()
            },
        )
    }

    /// Puts the numbers of all ranks one after the other into `all` of `root`. Gives every rank how
    /// many each has brought (MPI_GATHERV). Ranks may bring different numbers of them.
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
    ) -> CollectiveCall<impl Startable<'c, Given = Vec<usize>>> {
        let call = RankCall::new::<T>("gatherv_into", Location::caller()).root(root);
        let ends = self.check_rank(root).map(|()| vec![numbers.len()]);
        self.counted_call((call, Ways::Gather(root)), ends, (numbers, all), |counts| {
            counts
        })
    }

    fn gather_at<'c, T: Value>(
        &'c self,
        call: RankCall,
        root: usize,
        value: T,
    ) -> impl Collective<'c, Option<Vec<T>>> {
        let value = self.check_rank(root).map(|()| vec![value]);
        let is_root = self.rank() == root;
        let read = move |all: &RankParts<Vec<T>>| Ok(is_root.then(|| all.take(0)));
        CollectivePart::new(self, call, value, append, |all| RankParts::new([all]), read)
    }
}
