//! Scatter.

use super::counted::Ways;
use super::rank_parts::{RankParts, cut};
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exchange::{ExchangeBuffer, SliceExchange};
use crate::fabric::RankCall;
use crate::pending::Either;
use crate::schedule::ExchangeSchedule;
use crate::{CommError, Communicator, Plain, Value};
use std::panic::Location;

impl Communicator {
    /// Gives each rank one of the values of `root`, in rank order (MPI_SCATTER; with `Vec`s as
    /// values also MPI_SCATTERV). The root passes one value per rank, the others `None`.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]. [`CommError::Root`] when this rank passes values and is not the
    /// root. [`CommError::Root`] also when it is the root and passes none or not as many as there
    /// are ranks. [`CommError::Mismatch`] when a rank is in another collective, names another root
    /// or asks for another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let parts = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.scatter(0, (comm.rank() == 0).then(|| vec!['a', 'b', 'c'])).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(parts, ['a', 'b', 'c']);
    /// ```
    #[track_caller]
    pub fn scatter<T: Value>(
        &self,
        root: usize,
        values: Option<Vec<T>>,
    ) -> CollectiveCall<impl Startable<'_, Given = T>> {
        let call = RankCall::new::<T>("scatter", Location::caller()).root(root);
        self.scatter_at(call, root, values).now()
    }

    /// Cuts the numbers of `root` into as many equal parts as there are ranks and puts each rank's
    /// into its `part` (MPI_SCATTER). The others' `numbers` are not looked at and may be empty.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]. [`CommError::Root`] when the root's numbers are not as many as
    /// the parts hold. [`CommError::Mismatch`] when a rank is in another collective or names
    /// another root, type or length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let parts = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let (mut part, all) = ([0; 2], [1, 2, 3, 4]);
    ///         comm.scatter_into(1, if comm.rank() == 1 { &all } else { &[] }, &mut part).await?;
    ///         Ok(part)
    ///     })
    ///     .unwrap();
    /// assert_eq!(parts, [[1, 2], [3, 4]]);
    /// ```
    #[track_caller]
    pub fn scatter_into<'c, T: Plain>(
        &'c self,
        root: usize,
        numbers: &[T],
        part: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let (rank, each) = ((self.rank(), self.size()), part.len());
        let call = RankCall::new::<T>("scatter_into", Location::caller());
        let (call, given) = (call.root(root).length(each), numbers.len());
        let way = (call, Ways::Scatter(root));
        let ends = move || self.scattered(call.name(), root, given, |size| vec![each; size]);
        TwoWays::new(
            self.wait_site(),
            (numbers, part),
            move |(numbers, part)| {
                if !self.exchanges::<T>(each) {
                    return Either::One(self.counted_at_once(way, ends(), numbers, part, |_| ()));
                }
                let fine = ends().map(|_| ExchangeSchedule::scatter(rank, root, each));
                let numbers = if rank.0 == root { numbers } else { &[] };
                let both = (numbers, ExchangeBuffer::There(part));
                Either::Other(SliceExchange::new(self, call, fine, both, |mine, _| mine))
            },
            move |(numbers, part)| {
                let meet = self.counted_at_once(way, ends(), numbers, part, |_| ());
                meet.started()
            },
        )
    }

    /// Cuts the numbers of `root` into parts of the lengths `counts`, one per rank, and puts each
    /// rank's into its `part` (MPI_SCATTERV). The others' `numbers` and `counts` are not looked at
    /// and may be empty.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]. [`CommError::Root`] when the root's lengths do not make up its
    /// numbers. [`CommError::Arguments`] when this rank's part is not as long as the root says.
    /// [`CommError::Mismatch`] when a rank is in another collective or names another root or type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let sums = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut part = vec![0; comm.rank()];
    ///         comm.scatterv_into(0, &[5, 6, 7], &[0, 1, 2], &mut part).await?;
    ///         Ok(part.iter().sum::<i32>())
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums, [0, 5, 13]);
    /// ```
    #[track_caller]
    pub fn scatterv_into<'c, T: Plain>(
        &'c self,
        root: usize,
        numbers: &[T],
        counts: &[usize],
        part: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let call = RankCall::new::<T>("scatterv_into", Location::caller()).root(root);
        let ends = self.scattered(call.name(), root, numbers.len(), |_| counts.to_vec());
        self.counted_call((call, Ways::Scatter(root)), ends, (numbers, part), |_| ())
    }

    fn scatter_at<'c, T: Value>(
        &'c self,
        call: RankCall,
        root: usize,
        values: Option<Vec<T>>,
    ) -> impl Collective<'c, T> {
        let checked = self.check_root(root, values.is_some(), &call);
        let checked = checked.and_then(|()| match &values {
            Some(values) if values.len() != self.size() => {
                let (given, size) = (values.len(), self.size());
                let problem =
                    format!("rank {root} passes {given} values to scatter among {size} ranks");
                Err(CommError::Root { problem })
            }
            _ => Ok(()),
        });
        let rank = self.rank();
        let lay = |values: Option<Vec<T>>| RankParts::new(values.into_iter().flatten());
        let read = move |parts: &RankParts<T>| Ok(parts.take(rank));
        CollectivePart::new(self, call, checked.map(|()| values), Option::or, lay, read)
    }

    /// Where the parts end that the root scatters, in these lengths; nothing of other ranks.
    fn scattered(
        &self,
        name: &str,
        root: usize,
        given: usize,
        counts: impl FnOnce(usize) -> Vec<usize>,
    ) -> Result<Vec<usize>, CommError> {
        self.check_rank(root)?;
        if self.rank() != root {
            return Ok(Vec::new());
        }
        let ends = cut(name, given, &counts(self.size()), self.size());
        ends.map_err(|problem| CommError::Root {
            problem: format!("rank {root} calls {problem}"),
        })
    }
}
