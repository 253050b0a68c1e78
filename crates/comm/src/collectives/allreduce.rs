//! Allreduce.

use super::rank_parts::{copy, each_of};
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
pub(super) use crate::exchange::same_length;
use crate::exchange::{ExchangeBuffer, SliceExchange};
use crate::fabric::{RankCall, RankRow, fold_rows};
use crate::pending::{Either, PendingCall};
use crate::schedule::ExchangeSchedule;
use crate::wire::Numbers;
use crate::{CommError, Communicator, Plain, Value};
use smallvec::SmallVec;
use std::panic::Location;

impl Communicator {
    /// Combines the values of all ranks with `op` and gives every rank the total (MPI_ALLREDUCE).
    ///
    /// `op` must be associative; it need not commute: the values are combined in rank order. It is
    /// called on whichever rank has both operands first. For a total that has the same bits for any
    /// number of ranks see [`Dyadic`](crate::Dyadic) and [`ExactSum`](crate::ExactSum).
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective or brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let largest = World::threads(4)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.allreduce((comm.rank() as f64).sin(), f64::max).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(largest, [2f64.sin(); 4]);
    /// ```
    #[track_caller]
    pub fn allreduce<'c, T: Clone + Value + Sync>(
        &'c self,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> CollectiveCall<impl Startable<'c, Given = T>> {
        let call = RankCall::new::<T>("allreduce", Location::caller());
        self.allreduce_at(call, value, op).now()
    }

    /// Combines the numbers of all ranks, element by element, into `totals` of every rank
    /// (MPI_ALLREDUCE).
    ///
    /// # Errors
    /// [`CommError::Arguments`] when `totals` has not the length of `numbers`;
    /// [`CommError::Mismatch`] when a rank is in another collective or brings another type or
    /// length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut totals = [0.0; 2];
    ///         comm.allreduce_into(&[1.0, comm.rank() as f64], &mut totals, |a, b| a + b).await?;
    ///         assert_eq!(totals, [3.0, 3.0]);
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn allreduce_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let call = RankCall::new::<T>("allreduce_into", Location::caller()).length(numbers.len());
        TwoWays::new(
            self.wait_site(),
            (numbers, totals, op),
            move |(numbers, totals, op)| self.allreduce_by_place(call, numbers, totals, op),
            move |(numbers, totals, op)| {
                let meet = self.allreduce_numbers(call, numbers, totals, op);
                meet.started()
            },
        )
    }

    /// The way that suits where the ranks live.
    fn allreduce_by_place<'n, 'c, T: Plain, O: Fn(T, T) -> T + 'c>(
        &'c self,
        call: RankCall,
        numbers: &'n [T],
        totals: &'c mut [T],
        op: O,
    ) -> impl PendingCall<Output = Result<(), CommError>> + use<'n, 'c, T, O> {
        if self.combines_in_shares::<T>(numbers.len()) {
            let fold = move |rows: &[&[T]], totals: &mut [T]| {
                let rows: SmallVec<[RankRow<'_, T>; 8]> =
                    rows.iter().copied().enumerate().collect();
                fold_rows(&rows, rows.len(), totals, &op, |_| ());
            };
            Either::One(self.combined_in_shares(call, numbers, totals, fold))
        } else if self.exchanges::<T>(numbers.len()) && self.is_spread() {
            Either::Other(Either::One(
                self.allreduce_exchange(call, numbers, totals, op),
            ))
        } else {
            let pending = self.allreduce_numbers(call, numbers, totals, op);
            Either::Other(Either::Other(pending))
        }
    }

    /// Each rank combines a share of the places.
    fn allreduce_exchange<'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl PendingCall<Output = Result<(), CommError>> {
        let rank = (self.rank(), self.size());
        let fine = same_length(call.name(), numbers.len(), totals.len());
        let fine = fine.map(|()| ExchangeSchedule::allreduce(rank, numbers.len()));
        SliceExchange::new(
            self,
            call,
            fine,
            (numbers, ExchangeBuffer::There(totals)),
            op,
        )
    }

    fn allreduce_at<'c, T: Clone + Value + Sync>(
        &'c self,
        call: RankCall,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, T> {
        let read = |total: &T| Ok(total.clone());
        CollectivePart::new(self, call, Ok(value), op, |total| total, read)
    }

    fn allreduce_numbers<'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        totals: &'c mut [T],
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Collective<'c, ()> {
        let name = call.name();
        let value = same_length(name, numbers.len(), totals.len());
        let value = value.map(|()| Numbers::Own(numbers.to_vec()));
        let read = move |all: &Numbers<T>| copy(name, &all.all(), totals);
        CollectivePart::new(self, call, value, each_of(op), |all| all, read)
    }
}
