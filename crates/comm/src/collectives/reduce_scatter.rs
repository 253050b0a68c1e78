//! Reduce and scatter: each rank gets a part of the total.

use super::shelf::{Shelf, copy, each};
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
    /// Combines the values of all ranks, one for each rank, and gives each rank the total of those for it
    /// (MPI_REDUCE_SCATTER_BLOCK).
    ///
    /// `op` must be associative; it need not commute: the values are combined in rank order.
    ///
    /// # Errors
    /// [`CommError::Arguments`] when there is not one value per rank; [`CommError::Mismatch`] when a rank is
    /// in another collective or brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let totals = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.reduce_scatter(vec![1, 10, 100], |a, b| a + b).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(totals, [3, 30, 300]);
    /// ```
    #[track_caller]
    pub fn reduce_scatter<'c, T: Value>(
        &'c self,
        values: Vec<T>,
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Future<Output = Result<T, CommError>> {
        let call = Call::new::<T>("reduce_scatter", Location::caller());
        self.reduce_scatter_at(call, values, op).now()
    }

    /// Starts a [`reduce_scatter`](Communicator::reduce_scatter) (MPI_IREDUCE_SCATTER_BLOCK).
    ///
    /// # Errors
    /// The request's: as [`Communicator::reduce_scatter`].
    #[track_caller]
    pub fn ireduce_scatter<'c, T: Value>(
        &'c self,
        values: Vec<T>,
        op: impl Fn(T, T) -> T + 'c,
    ) -> Request<'c, T> {
        let call = Call::new::<T>("ireduce_scatter", Location::caller());
        self.reduce_scatter_at(call, values, op).started()
    }

    /// Combines the numbers of all ranks, element by element, cuts the totals into parts of these lengths,
    /// one per rank, and puts each rank's into its `part` (MPI_REDUCE_SCATTER). All ranks pass the same
    /// lengths.
    ///
    /// # Errors
    /// [`CommError::Arguments`] when the lengths do not make up the numbers, or `part` has not its length;
    /// [`CommError::Mismatch`] when a rank is in another collective or brings another type or length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let parts = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut part = vec![0; comm.rank() + 1];
    ///         comm.reduce_scatter_into(&[1, 2, 3], &[1, 2], &mut part, |a, b| a + b).await?;
    ///         Ok(part)
    ///     })
    ///     .unwrap();
    /// assert_eq!(parts, [vec![2], vec![4, 6]]);
    /// ```
    #[track_caller]
    pub fn reduce_scatter_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        counts: &[usize],
        part: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Future<Output = Result<(), CommError>> {
        let call = Call::new::<T>("reduce_scatter_into", Location::caller());
        let pending = if self.exchanges::<T>(numbers.len()) && self.is_spread() {
            let ends = self.cut(call.name(), numbers.len(), counts);
            let fine = ends.and_then(|ends| {
                let own = counts[self.rank()];
                super::allreduce::same_length(call.name(), own, part.len())?;
                let of = |rank: usize| ends[rank] - counts[rank]..ends[rank];
                Ok(Schedule::reduce_scatter((self.rank(), self.size()), of))
            });
            let call = call.length(numbers.len());
            let both = (numbers, Room::There(part));
            Either::One(Exchange::new(self, call, fine, both, op))
        } else {
            Either::Other(self.reduce_scatter_numbers(call, numbers, counts, part, op))
        };
        Waiting::new(self.spot(), pending)
    }

    /// Starts a [`reduce_scatter_into`](Communicator::reduce_scatter_into) (MPI_IREDUCE_SCATTER).
    ///
    /// # Errors
    /// The request's: as [`Communicator::reduce_scatter_into`].
    #[track_caller]
    pub fn ireduce_scatter_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        counts: &[usize],
        part: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> Request<'c, ()> {
        let call = Call::new::<T>("ireduce_scatter_into", Location::caller());
        self.reduce_scatter_numbers(call, numbers, counts, part, op)
            .started()
    }

    fn reduce_scatter_at<'c, T: Value>(
        &'c self,
        call: Call,
        values: Vec<T>,
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, T> {
        let (rank, name) = (self.rank(), call.name());
        let value = self.one_per_rank(name, values);
        let combine = move |left: Vec<T>, right: Vec<T>| {
            let pairs = left.into_iter().zip(right);
            pairs.map(|(left, right)| op(left, right)).collect()
        };
        let read = move |totals: &Shelf<T>| Ok(totals.take(rank));
        Meet::new(
            self,
            call,
            value,
            combine,
            |totals: Vec<T>| Shelf::new(totals),
            read,
        )
    }

    fn reduce_scatter_numbers<'c, T: Plain>(
        &'c self,
        call: Call,
        numbers: &[T],
        counts: &[usize],
        part: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, ()> {
        let (rank, name) = (self.rank(), call.name());
        let ends = self.cut(name, numbers.len(), counts);
        let begin = ends.as_ref().map_or(0, |ends| ends[rank] - counts[rank]);
        let value = ends
            .and_then(|_| super::allreduce::same_length(name, counts[rank], part.len()))
            .map(|()| numbers.to_vec());
        let read = move |all: &Vec<T>| copy(name, &all[begin..begin + part.len()], part);
        let call = call.length(numbers.len());
        Meet::new(self, call, value, each(op), |all| all, read)
    }

    /// Checks that there is one value for each rank.
    pub(super) fn one_per_rank<T>(&self, name: &str, values: Vec<T>) -> Result<Vec<T>, CommError> {
        let (given, size) = (values.len(), self.size());
        if given == size {
            return Ok(values);
        }
        let problem = format!("{name} of {given} values among {size} ranks: one each is needed");
        Err(CommError::Arguments { problem })
    }
}
