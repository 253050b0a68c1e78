//! Sums that have the same bits however the numbers are cut over ranks.

use super::allreduce::same_length;
use super::rank_parts::{append, copy};
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exact_sum::{Real, add_columns};
use crate::fabric::RankCall;
use crate::pending::Either;
use crate::{Communicator, ExactSum};
use std::marker::PhantomData;
use std::panic::Location;

/// # Sums with the same bits
///
/// These are exact sums, rounded once ([`ExactSum`]). The total depends on the numbers alone. It
/// does not depend on how many ranks there are, or which of them has which number. Nor does it
/// depend on how many threads and processes they run.
impl Communicator {
    /// Gives every rank the sum of all numbers of all ranks. Each rank passes as many as it has.
    ///
    /// # Errors
    /// [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in another collective or
    /// brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let sum = |ranks| {
    ///     World::threads(ranks)
    ///         .run(async |comm| -> Result<_, CommError> {
    ///             let mine: Vec<f64> =
    ///                 (comm.rank()..1000).step_by(comm.size()).map(|i| (i as f64).sin()).collect();
    ///             comm.reproducible_sum(&mine).await
    ///         })
    ///         .unwrap()[0]
    /// };
    /// assert_eq!(sum(1).to_bits(), sum(7).to_bits());
    /// ```
    #[track_caller]
    pub fn reproducible_sum<T: Real>(
        &self,
        numbers: &[T],
    ) -> CollectiveCall<impl Startable<'_, Given = T> + use<'_, T>> {
        let call = RankCall::new::<T>("reproducible_sum", Location::caller());
        self.sum_at(call, numbers).now()
    }

    /// Adds the numbers of all ranks, element by element, into `totals` of every rank.
    ///
    /// # Errors
    /// [`CommError::Arguments`](crate::CommError::Arguments) when `totals` has not the length of
    /// `numbers`; [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in another
    /// collective or brings another type or length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut totals = [0.0; 2];
    ///         let mine = [[1e100, 1.0], [1.0, 2.0], [-1e100, 3.0]][comm.rank()];
    ///         comm.reproducible_sum_into(&mine, &mut totals).await?;
    ///         assert_eq!(totals, [1.0, 6.0]);
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn reproducible_sum_into<'c, T: Real>(
        &'c self,
        numbers: &[T],
        totals: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let call = RankCall::new::<T>("reproducible_sum_into", Location::caller());
        TwoWays::new(
            self.wait_site(),
            (numbers, totals),
            move |(numbers, totals)| {
                if self.combines_in_shares::<T>(numbers.len()) {
                    let fold = |rows: &[&[T]], totals: &mut [T]| add_columns(rows, totals);
                    Either::One(self.combined_in_shares(call, numbers, totals, fold))
                } else {
                    Either::Other(self.sums_at(call, numbers, totals))
                }
            },
            move |(numbers, totals)| self.sums_at(call, numbers, totals).started(),
        )
    }

    fn sum_at<'c, T: Real>(
        &'c self,
        call: RankCall,
        numbers: &[T],
    ) -> impl Collective<'c, T> + use<'c, T> {
        let mine = ExactSum::of(numbers.iter().copied());
        // An accumulator is half a kibibyte: it is moved about in a box. With it goes the type of
        // the numbers.
        let brought = (Box::new(mine), PhantomData::<T>);
        let join = |mut left: (Box<ExactSum>, PhantomData<T>), right: (Box<ExactSum>, _)| {
            left.0.join(&right.0);
            left
        };
        let finish = |all: (Box<ExactSum>, PhantomData<T>)| all.0.rounded::<T>();
        CollectivePart::new(self, call, Ok(brought), join, finish, |all: &T| Ok(*all))
    }

    fn sums_at<'c, T: Real>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        totals: &'c mut [T],
    ) -> impl Collective<'c, ()> {
        let name = call.name();
        let value = same_length(name, numbers.len(), totals.len()).map(|()| vec![numbers.to_vec()]);
        let finish = |rows: Vec<Vec<T>>| {
            let mut totals = rows[0].clone();
            add_columns(&rows, &mut totals);
            totals
        };
        let read = move |all: &Vec<T>| copy(name, all, totals);
        let call = call.length(numbers.len());
        CollectivePart::new(self, call, value, append, finish, read)
    }
}
