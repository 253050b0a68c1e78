//! Allgather.

use super::counted::Ways;
use super::shelf::append;
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
    /// Gives every rank the values of all ranks in rank order (MPI_ALLGATHER; with a `Vec` as the value also
    /// MPI_ALLGATHERV).
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective or brings another type.
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
    ) -> impl Future<Output = Result<Vec<T>, CommError>> {
        let call = Call::new::<T>("allgather", Location::caller());
        self.allgather_at(call, value).now()
    }

    /// Starts an [`allgather`](Communicator::allgather) (MPI_IALLGATHER).
    ///
    /// # Errors
    /// The request's: as [`Communicator::allgather`].
    #[track_caller]
    pub fn iallgather<T: Clone + Value + Sync>(&self, value: T) -> Request<'_, Vec<T>> {
        let call = Call::new::<T>("iallgather", Location::caller());
        self.allgather_at(call, value).started()
    }

    /// Puts the numbers of all ranks, the same number of each, one after the other into `all` of every rank
    /// (MPI_ALLGATHER).
    ///
    /// # Errors
    /// [`CommError::Arguments`] when `all` has not as many elements as come; [`CommError::Mismatch`] when a
    /// rank is in another collective or brings another type or length.
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
    ) -> impl Future<Output = Result<(), CommError>> {
        let call = Call::new::<T>("allgather_into", Location::caller()).length(numbers.len());
        let pending = if self.exchanges::<T>(numbers.len()) {
            let schedule = Schedule::allgather((self.rank(), self.size()), numbers.len());
            let both = (numbers, Room::There(all));
            Either::One(Exchange::new(self, call, Ok(schedule), both, |mine, _| {
                mine
            }))
        } else {
            let ends = Ok(vec![numbers.len()]);
            let way = (call, Ways::Allgather);
            Either::Other(self.counted_at_once(way, ends, numbers, all, |_| ()))
        };
        Waiting::new(self.spot(), pending)
    }

    /// Starts an [`allgather_into`](Communicator::allgather_into) (MPI_IALLGATHER).
    ///
    /// # Errors
    /// The request's: as [`Communicator::allgather_into`].
    #[track_caller]
    pub fn iallgather_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        all: &'c mut [T],
    ) -> Request<'c, ()> {
        let call = Call::new::<T>("iallgather_into", Location::caller()).length(numbers.len());
        let ends = Ok(vec![numbers.len()]);
        self.counted_at_once((call, Ways::Allgather), ends, numbers, all, |_| ())
            .started()
    }

    /// Puts the numbers of all ranks, which may bring different numbers of them, one after the other into
    /// `all` of every rank; how many each has brought (MPI_ALLGATHERV).
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
    ) -> impl Future<Output = Result<Vec<usize>, CommError>> {
        let call = Call::new::<T>("allgatherv_into", Location::caller());
        let ends = Ok(vec![numbers.len()]);
        let pending = self.counted((call, Ways::Allgather), ends, numbers, all, |counts| counts);
        Waiting::new(self.spot(), pending)
    }

    /// Starts an [`allgatherv_into`](Communicator::allgatherv_into) (MPI_IALLGATHERV).
    ///
    /// # Errors
    /// The request's: as [`Communicator::allgatherv_into`].
    #[track_caller]
    pub fn iallgatherv_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        all: &'c mut [T],
    ) -> Request<'c, Vec<usize>> {
        let call = Call::new::<T>("iallgatherv_into", Location::caller());
        let ends = Ok(vec![numbers.len()]);
        self.counted_at_once((call, Ways::Allgather), ends, numbers, all, |counts| counts)
            .started()
    }

    fn allgather_at<'c, T: Clone + Value + Sync>(
        &'c self,
        call: Call,
        value: T,
    ) -> impl Collective<'c, Vec<T>> {
        let read = |all: &Vec<T>| Ok(all.clone());
        Meet::new(self, call, Ok(vec![value]), append, |all| all, read)
    }
}
