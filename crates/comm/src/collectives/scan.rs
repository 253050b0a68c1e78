//! Scan: what the ranks up to each have together.

use super::rank_parts::{RankParts, append};
use crate::collective_call::{Collective, CollectiveCall, Startable};
use crate::collective_part::CollectivePart;
use crate::fabric::RankCall;
use crate::{Communicator, Plain, Value};
use std::panic::Location;

impl Communicator {
    /// Gives each rank its own value combined with those of all ranks before it (MPI_SCAN).
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
    /// let sums = World::threads(4)
    ///     .run(async |comm| -> Result<_, CommError> { comm.scan(comm.rank(), |a, b| a + b).await })
    ///     .unwrap();
    /// assert_eq!(sums, [0, 1, 3, 6]);
    /// ```
    #[track_caller]
    pub fn scan<'c, T: Clone + Value>(
        &'c self,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> CollectiveCall<impl Startable<'c, Given = T>> {
        let call = RankCall::new::<T>("scan", Location::caller());
        self.scan_at(call, value, op).now()
    }

    /// As [`Communicator::scan`], element by element, into `totals` (MPI_SCAN).
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
    ///         comm.scan_into(&[1, comm.rank()], &mut totals, |a, b| a + b).await?;
    ///         Ok(totals)
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums, [[1, 0], [2, 1], [3, 3]]);
    /// ```
    #[track_caller]
    pub fn scan_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let call = RankCall::new::<T>("scan_into", Location::caller());
        self.scan_numbers(call, numbers, totals, op).now()
    }

    fn scan_at<'c, T: Clone + Value>(
        &'c self,
        call: RankCall,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, T> {
        let rank = self.rank();
        let finish = move |values: Vec<T>| RankParts::new(running(values, &op));
        let read = move |totals: &RankParts<T>| Ok(totals.take(rank));
        CollectivePart::new(self, call, Ok(vec![value]), append, finish, read)
    }

    fn scan_numbers<'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, ()> {
        let (rank, name) = (self.rank(), call.name());
        let value = super::allreduce::same_length(name, numbers.len(), totals.len())
            .map(|()| vec![numbers.to_vec()]);
        let add = super::rank_parts::each(op);
        let finish = move |values: Vec<Vec<T>>| running(values, &add).collect::<Vec<_>>();
        let read = move |all: &Vec<Vec<T>>| super::rank_parts::copy(name, &all[rank], totals);
        let call = call.length(numbers.len());
        CollectivePart::new(self, call, value, append, finish, read)
    }
}

/// Each value combined with all before it.
pub(super) fn running<T: Clone>(
    values: Vec<T>,
    op: &impl Fn(T, T) -> T,
) -> impl Iterator<Item = T> {
    let mut total: Option<T> = None;
    values.into_iter().map(move |value| {
        let next = match total.take() {
            Some(total) => op(total, value),
            None => value,
        };
        total = Some(next.clone());
        next
    })
}
