//! Reduce.

use super::allreduce::same_length;
use super::rank_parts::{RankParts, copy, each_of};
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exchange::{ExchangeBuffer, SliceExchange};
use crate::fabric::RankCall;
use crate::pending::Either;
use crate::schedule::ExchangeSchedule;
use crate::wire::Numbers;
use crate::{CommError, Communicator, Plain, Value};
use std::panic::Location;

impl Communicator {
    /// Combines the values of all ranks with `op` and gives `root` the total, the others `None`
    /// (MPI_REDUCE).
    ///
    /// `op` must be associative; it need not commute: the values are combined in rank order.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Mismatch`] when a rank is in another collective,
    /// names another root or brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let words = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.reduce(1, ["to", "get", "her"][comm.rank()].to_owned(), |a, b| a + &b).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(words, [None, Some("together".to_owned()), None]);
    /// ```
    #[track_caller]
    pub fn reduce<'c, T: Value>(
        &'c self,
        root: usize,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> CollectiveCall<impl Startable<'c, Given = Option<T>>> {
        let call = RankCall::new::<T>("reduce", Location::caller()).root(root);
        self.reduce_at(call, root, value, op).now()
    }

    /// Combines the numbers of all ranks, element by element, into `totals` of `root` (MPI_REDUCE).
    /// The others' `totals` stay as they are and may be empty.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]. [`CommError::Arguments`] when the root's `totals` has not the
    /// length of `numbers`. [`CommError::Mismatch`] when a rank is in another collective or names
    /// another root, type or length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let sums = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut totals = [0; 2];
    ///         comm.reduce_into(2, &[1, comm.rank()], &mut totals, |a, b| a + b).await?;
    ///         Ok(totals)
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums, [[0, 0], [0, 0], [3, 3]]);
    /// ```
    #[track_caller]
    pub fn reduce_into<'c, T: Plain>(
        &'c self,
        root: usize,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let (rank, length) = ((self.rank(), self.size()), numbers.len());
        let call = RankCall::new::<T>("reduce_into", Location::caller()).root(root);
        TwoWays::new(
            self.wait_site(),
            (numbers, totals, op),
            move |(numbers, totals, op)| {
                if !self.exchanges::<T>(length) || !self.is_spread() {
                    return Either::One(self.reduce_numbers(call, root, numbers, totals, op));
                }
                let fine = self.reducible(call.name(), root, numbers, totals);
                let fine = fine.map(|()| ExchangeSchedule::reduce(rank, root, length));
                let room = match &fine {
                    Ok(schedule) if rank.0 != root => {
                        ExchangeBuffer::Own(self.buffer_pool().room(schedule.room))
                    }
                    _ => ExchangeBuffer::There(totals),
                };
                let both = (numbers, room);
                Either::Other(SliceExchange::new(
                    self,
                    call.length(length),
                    fine,
                    both,
                    op,
                ))
            },
            move |(numbers, totals, op)| {
                let meet = self.reduce_numbers(call, root, numbers, totals, op);
                meet.started()
            },
        )
    }

    fn reduce_at<'c, T: Value>(
        &'c self,
        call: RankCall,
        root: usize,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, Option<T>> {
        let value = self.check_rank(root).map(|()| value);
        let is_root = self.rank() == root;
        let read = move |total: &RankParts<T>| Ok(is_root.then(|| total.take(0)));
        CollectivePart::new(self, call, value, op, |total| RankParts::new([total]), read)
    }

    fn reduce_numbers<'c, T: Plain>(
        &'c self,
        call: RankCall,
        root: usize,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, ()> {
        let (is_root, name) = (self.rank() == root, call.name());
        let fine = self.reducible(name, root, numbers, totals);
        let value = fine.map(|()| Numbers::Own(numbers.to_vec()));
        let read = move |all: &Numbers<T>| {
            if is_root {
                copy(name, &all.all(), totals)?;
            }
            Ok(())
        };
        let call = call.length(numbers.len());
        CollectivePart::new(self, call, value, each_of(op), |all| all, read)
    }

    fn reducible<T>(
        &self,
        name: &str,
        root: usize,
        numbers: &[T],
        totals: &[T],
    ) -> Result<(), CommError> {
        self.check_rank(root)?;
        match self.rank() == root {
            true => same_length(name, numbers.len(), totals.len()),
            false => Ok(()),
        }
    }
}
