//! Allgather.

use super::counted::Ways;
use super::rank_parts::append;
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exchange::{ExchangeBuffer, SliceExchange};
use crate::fabric::RankCall;
use crate::pending::Either;
use crate::schedule::ExchangeSchedule;
use crate::{Communicator, Plain, Value};
use std::panic::Location;

impl Communicator {
    /// Gives every rank the values of all ranks in rank order (MPI_ALLGATHER; with a `Vec` as the
    /// value also MPI_ALLGATHERV).
    ///
    /// # Errors
    /// [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in another collective or
    /// brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let all = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> { comm.allgather(comm.rank() + 10).await })
    ///     .unwrap();
    /// assert_eq!(all, [[10, 11], [10, 11]]);
    /// ```
    #[track_caller]
    pub fn allgather<T: Clone + Value + Sync>(
        &self,
        value: T,
    ) -> CollectiveCall<impl Startable<'_, Given = Vec<T>>> {
        let call = RankCall::new::<T>("allgather", Location::caller());
        self.allgather_at(call, value).now()
    }

    /// Puts the numbers of all ranks, the same number of each, one after the other into `all` of
    /// every rank (MPI_ALLGATHER).
    ///
    /// # Errors
    /// [`CommError::Arguments`](crate::CommError::Arguments) when `all` has not as many elements as
    /// come; [`CommError::Mismatch`](crate::CommError::Mismatch) when a rank is in another
    /// collective or brings another type or length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut all = [0; 6];
    ///         comm.allgather_into(&[comm.rank(), 7], &mut all).await?;
    ///         assert_eq!(all, [0, 7, 1, 7, 2, 7]);
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn allgather_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        all: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let each = numbers.len();
        let call = RankCall::new::<T>("allgather_into", Location::caller()).length(each);
        let way = (call, Ways::Allgather);
        TwoWays::new(
            self.wait_site(),
            (numbers, all),
            move |(numbers, all)| {
                if !self.exchanges::<T>(each) {
                    let ends = Ok(vec![each]);
                    return Either::One(self.counted_at_once(way, ends, numbers, all, |_| ()));
                }
                let schedule = ExchangeSchedule::allgather((self.rank(), self.size()), each);
                let both = (numbers, ExchangeBuffer::There(all));
                let exchange = SliceExchange::new(self, call, Ok(schedule), both, |mine, _| mine);
                Either::Other(exchange)
            },
            move |(numbers, all)| {
                let meet = self.counted_at_once(way, Ok(vec![each]), numbers, all, |_| ());
                meet.started()
            },
        )
    }

    /// Puts the numbers of all ranks one after the other into `all` of every rank, and gives how
    /// many each has brought (MPI_ALLGATHERV). Ranks may bring different numbers of them.
    ///
    /// # Errors
    /// As [`Communicator::allgather_into`]; the lengths may differ.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut all = [0; 3];
    ///         let mine = [comm.rank(); 3];
    ///         let counts = comm.allgatherv_into(&mine[..comm.rank()], &mut all).await?;
    ///         assert_eq!((counts, all), (vec![0, 1, 2], [1, 2, 2]));
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn allgatherv_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        all: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = Vec<usize>>> {
        let call = RankCall::new::<T>("allgatherv_into", Location::caller());
        let ends = Ok(vec![numbers.len()]);
        self.counted_call((call, Ways::Allgather), ends, (numbers, all), |counts| {
            counts
        })
    }

    fn allgather_at<'c, T: Clone + Value + Sync>(
        &'c self,
        call: RankCall,
        value: T,
    ) -> impl Collective<'c, Vec<T>> {
        let read = |all: &Vec<T>| Ok(all.clone());
        CollectivePart::new(self, call, Ok(vec![value]), append, |all| all, read)
    }
}
