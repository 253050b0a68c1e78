//! Reduce and scatter: each rank gets a part of the total.

use super::rank_parts::{RankParts, copy, each};
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exchange::{ExchangeBuffer, SliceExchange};
use crate::fabric::RankCall;
use crate::pending::Either;
use crate::schedule::ExchangeSchedule;
use crate::{CommError, Communicator, Plain, Value};
use std::panic::Location;

impl Communicator {
    /// Combines the values of all ranks, one for each rank, and gives each rank the total of those
    /// for it (MPI_REDUCE_SCATTER_BLOCK).
    ///
    /// `op` must be associative; it need not commute: the values are combined in rank order.
    ///
    /// # Errors
    /// [`CommError::Arguments`] when there is not one value per rank; [`CommError::Mismatch`] when
    /// a rank is in another collective or brings another type.
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
    ) -> CollectiveCall<impl Startable<'c, Given = T>> {
        let call = RankCall::new::<T>("reduce_scatter", Location::caller());
        self.reduce_scatter_at(call, values, op).now()
    }

    /// Combines the numbers of all ranks, element by element, and cuts the totals into parts of
    /// these lengths, one per rank. Puts each rank's part into its `part` (MPI_REDUCE_SCATTER). All
    /// ranks pass the same lengths.
    ///
    /// # Errors
    /// [`CommError::Arguments`] when the lengths do not make up the numbers, or `part` has not its
    /// length. [`CommError::Mismatch`] when a rank is in another collective or brings another type
    /// or other lengths.
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
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let call = RankCall::new::<T>("reduce_scatter_into", Location::caller());
        let (rank, length) = ((self.rank(), self.size()), numbers.len());
        TwoWays::new(
            self.wait_site(),
            (numbers, part, op, counts),
            move |(numbers, part, op, counts)| {
                if !self.exchanges::<T>(length) || !self.is_spread() {
                    let meet = self.reduce_scatter_numbers(call, numbers, counts, part, op);
                    return Either::One(meet);
                }
                let ends = self.cut(call.name(), length, counts);
                let fine = ends.and_then(|ends| {
                    super::allreduce::same_length(call.name(), counts[rank.0], part.len())?;
                    let of = |rank: usize| ends[rank] - counts[rank]..ends[rank];
                    Ok(ExchangeSchedule::reduce_scatter(rank, of))
                });
                let both = (numbers, ExchangeBuffer::There(part));
                Either::Other(SliceExchange::new(
                    self,
                    call.length(length).parts(counts),
                    fine,
                    both,
                    op,
                ))
            },
            move |(numbers, part, op, counts)| {
                let meet = self.reduce_scatter_numbers(call, numbers, counts, part, op);
                meet.started()
            },
        )
    }

    fn reduce_scatter_at<'c, T: Value>(
        &'c self,
        call: RankCall,
        values: Vec<T>,
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, T> {
        let (rank, name) = (self.rank(), call.name());
        let value = self.one_per_rank(name, values);
        let combine = move |left: Vec<T>, right: Vec<T>| {
            let pairs = left.into_iter().zip(right);
            pairs.map(|(left, right)| op(left, right)).collect()
        };
        let read = move |totals: &RankParts<T>| Ok(totals.take(rank));
        CollectivePart::new(
            self,
            call,
            value,
            combine,
            |totals: Vec<T>| RankParts::new(totals),
            read,
        )
    }

    fn reduce_scatter_numbers<'c, T: Plain>(
        &'c self,
        call: RankCall,
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
        let call = call.length(numbers.len()).parts(counts);
        CollectivePart::new(self, call, value, each(op), |all| all, read)
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
