//! Exclusive scan: what the ranks before each have together.

use super::rank_parts::{RankParts, append, copy, each};
use super::scan::running;
use crate::collective_call::{Collective, CollectiveCall, Startable};
use crate::collective_part::CollectivePart;
use crate::fabric::RankCall;
use crate::{Communicator, Plain, Value};
use std::iter;
use std::panic::Location;

impl Communicator {
    /// Gives each rank the values of all ranks before it, combined; rank 0 gets `None`
    /// (MPI_EXSCAN).
    ///
    /// `op` must be associative; it need not commute: the values are combined in rank order.
    ///
    /// # Errors
    /// [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in another collective or
    /// brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// // Where does my part of the rows begin, if each rank has some?
    /// let begins = World::threads(4)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         Ok(comm.exscan(comm.rank() + 1, |a, b| a + b).await?.unwrap_or(0))
    ///     })
    ///     .unwrap();
    /// assert_eq!(begins, [0, 1, 3, 6]);
    /// ```
    #[track_caller]
    pub fn exscan<'c, T: Clone + Value>(
        &'c self,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> CollectiveCall<impl Startable<'c, Given = Option<T>>> {
        let call = RankCall::new::<T>("exscan", Location::caller());
        self.exscan_at(call, value, op).now()
    }

    /// As [`Communicator::exscan`], element by element, into `totals`; those of rank 0 stay as they
    /// are (MPI_EXSCAN).
    ///
    /// # Errors
    /// [`CommError::Arguments`](crate::CommError::Arguments) when `totals` has not the length of
    /// `numbers`; [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in another
    /// collective or brings another type or length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let sums = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut totals = [0; 2];
    ///         comm.exscan_into(&[1, 5], &mut totals, |a, b| a + b).await?;
    ///         Ok(totals)
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums, [[0, 0], [1, 5], [2, 10]]);
    /// ```
    #[track_caller]
    pub fn exscan_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let call = RankCall::new::<T>("exscan_into", Location::caller());
        self.exscan_numbers(call, numbers, totals, op).now()
    }

    fn exscan_at<'c, T: Clone + Value>(
        &'c self,
        call: RankCall,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, Option<T>> {
        let rank = self.rank();
        let finish = move |mut values: Vec<T>| {
            values.pop();
            let totals = running(values, &op).map(Some);
            RankParts::new(iter::once(None).chain(totals))
        };
        let read = move |totals: &RankParts<Option<T>>| Ok(totals.take(rank));
        CollectivePart::new(self, call, Ok(vec![value]), append, finish, read)
    }

    fn exscan_numbers<'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, ()> {
        let (rank, name) = (self.rank(), call.name());
        let value = super::allreduce::same_length(name, numbers.len(), totals.len())
            .map(|()| vec![numbers.to_vec()]);
        let add = each(op);
        let finish = move |mut values: Vec<Vec<T>>| {
            values.pop();
            running(values, &add).collect::<Vec<_>>()
        };
        let read = move |all: &Vec<Vec<T>>| match rank.checked_sub(1) {
            Some(before) => copy(name, &all[before], totals),
            None => Ok(()),
        };
        let call = call.length(numbers.len());
        CollectivePart::new(self, call, value, append, finish, read)
    }
}
