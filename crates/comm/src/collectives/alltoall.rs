//! All to all: every rank has something for every other.

use super::allreduce::same_length;
use super::counted::Ways;
use super::rank_parts::{RankParts, append, cut};
use crate::buffer_pool::{PooledBuffers, SharedRows};
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exchange::{ExchangeBuffer, SliceExchange};
use crate::fabric::{MeetingPoint, RankCall};
use crate::pending::{Either, PendingCall};
use crate::schedule::ExchangeSchedule;
use crate::{CommError, Communicator, Local, Plain, Value};
use std::panic::Location;

impl Communicator {
    /// Sends one value to each rank, in rank order, and gives each rank what all ranks have for it,
    /// in rank order. This is MPI_ALLTOALL; with `Vec`s as values it is also MPI_ALLTOALLV.
    ///
    /// # Errors
    /// [`CommError::Arguments`] when there is not one value per rank; [`CommError::Mismatch`] when
    /// a rank is in another collective or brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let columns = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.alltoall(vec![(comm.rank(), 0), (comm.rank(), 1)]).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(columns, [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]);
    /// ```
    #[track_caller]
    pub fn alltoall<T: Value>(
        &self,
        values: Vec<T>,
    ) -> CollectiveCall<impl Startable<'_, Given = Vec<T>>> {
        let call = RankCall::new::<T>("alltoall", Location::caller());
        self.alltoall_at(call, values).now()
    }

    /// Cuts the numbers into as many equal parts as there are ranks, one for each rank. Puts what
    /// all ranks have for this one into `came` (MPI_ALLTOALL).
    ///
    /// # Errors
    /// [`CommError::Arguments`] when the numbers cannot be cut so, or `came` has not their length.
    /// [`CommError::Mismatch`] when a rank is in another collective or brings another type or
    /// length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let columns = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut came = [0; 2];
    ///         comm.alltoall_into(&[[1, 2], [3, 4]][comm.rank()], &mut came).await?;
    ///         Ok(came)
    ///     })
    ///     .unwrap();
    /// assert_eq!(columns, [[1, 3], [2, 4]]);
    /// ```
    #[track_caller]
    pub fn alltoall_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        came: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let call = RankCall::new::<T>("alltoall_into", Location::caller());
        TwoWays::new(
            self.wait_site(),
            (numbers, came),
            move |(numbers, came)| self.alltoall_by_place(call, numbers, came),
            move |(numbers, came)| self.alltoall_numbers(call, numbers, came).started(),
        )
    }

    /// The way that suits where the ranks live.
    fn alltoall_by_place<'n, 'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &'n [T],
        came: &'c mut [T],
    ) -> impl PendingCall<Output = Result<(), CommError>> + use<'n, 'c, T> {
        let size = self.size();
        let shared = matches!(self.team().place(), Some(MeetingPoint::Tree(_)));
        if shared && PooledBuffers::<T>::are_worth(numbers.len() / size) {
            Either::One(self.alltoall_parcels(call, numbers, came))
        } else if self.exchanges::<T>(numbers.len()) {
            let pending = self.alltoall_exchange(call, numbers, came);
            Either::Other(Either::One(pending))
        } else {
            let pending = self.alltoall_numbers(call, numbers, came);
            Either::Other(Either::Other(pending))
        }
    }

    /// Cuts the numbers into parts of these lengths, one for each rank. Puts what all ranks have
    /// for this one into `came`, and gives how many came from each (MPI_ALLTOALLV).
    ///
    /// # Errors
    /// [`CommError::Arguments`] when the lengths do not make up the numbers, or `came` has not just
    /// the room for what comes. [`CommError::Mismatch`] when a rank is in another collective or
    /// brings another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// // Rank 0 keeps one number and gives rank 1 two; rank 1 gives everything to rank 0.
    /// let came = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let (counts, mut came) = ([[1, 2], [3, 0]][comm.rank()], [0; 4]);
    ///         let room = [4, 2][comm.rank()];
    ///         let numbers = [comm.rank() + 5; 3];
    ///         let counts = comm.alltoallv_into(&numbers, &counts, &mut came[..room]).await?;
    ///         Ok((counts, came))
    ///     })
    ///     .unwrap();
    /// assert_eq!(came, [(vec![1, 3], [5, 6, 6, 6]), (vec![2, 0], [5, 5, 0, 0])]);
    /// ```
    #[track_caller]
    pub fn alltoallv_into<'c, T: Plain>(
        &'c self,
        numbers: &[T],
        counts: &[usize],
        came: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = Vec<usize>>> {
        let call = RankCall::new::<T>("alltoallv_into", Location::caller());
        let ends = self.cut(call.name(), numbers.len(), counts);
        self.counted_call((call, Ways::Alltoall), ends, (numbers, came), |counts| {
            counts
        })
    }

    fn alltoall_at<'c, T: Value>(
        &'c self,
        call: RankCall,
        values: Vec<T>,
    ) -> impl Collective<'c, Vec<T>> {
        let (rank, name) = (self.rank(), call.name());
        let value = self.one_per_rank(name, values).map(|row| vec![row]);
        let read = move |columns: &RankParts<Vec<T>>| Ok(columns.take(rank));
        let lay = |rows| RankParts::new(columns(rows));
        CollectivePart::new(self, call, value, append, lay, read)
    }

    fn alltoall_numbers<'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        came: &'c mut [T],
    ) -> impl Collective<'c, ()> {
        let (rank, name, all) = (self.rank(), call.name(), numbers.len());
        let each = self.equal_part(name, all);
        let value = each
            .clone()
            .map(|_| SharedRows::one(self.buffer_pool().copy_in(numbers)));
        let each = each.unwrap_or_default();
        let read = move |rows: &SharedRows<T>| {
            same_length(name, all, came.len())?;
            for (place, row) in rows.iter().enumerate() {
                came[place * each..][..each].copy_from_slice(&row[rank * each..][..each]);
            }
            Ok(())
        };
        CollectivePart::new(
            self,
            call.length(all),
            value,
            SharedRows::join,
            |rows| rows,
            read,
        )
    }

    /// Each part goes to its rank, and nowhere else.
    fn alltoall_exchange<'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        came: &'c mut [T],
    ) -> impl PendingCall<Output = Result<(), CommError>> {
        let (rank, call) = ((self.rank(), self.size()), call.length(numbers.len()));
        let fine = self.equal_part(call.name(), numbers.len()).map(|each| {
            let part = |peer: usize| peer * each..(peer + 1) * each;
            ExchangeSchedule::alltoall(rank, part, part)
        });
        let both = (numbers, ExchangeBuffer::There(came));
        SliceExchange::new(self, call, fine, both, |mine, _| mine)
    }

    /// Each part goes to its rank in a parcel, but for the own.
    fn alltoall_parcels<'c, T: Plain>(
        &'c self,
        call: RankCall,
        numbers: &[T],
        came: &'c mut [T],
    ) -> impl PendingCall<Output = Result<(), CommError>> {
        let (rank, name, all) = (self.rank(), call.name(), numbers.len());
        let value = self.equal_part(name, all).map(|each| {
            let part = |of: usize| of * each..(of + 1) * each;
            self.buffer_pool()
                .pack_each(rank, self.size(), numbers, part)
        });
        let each = all / self.size();
        let read = move |Local(parcels): &Local<PooledBuffers<T>>| {
            same_length(name, all, came.len())?;
            for (of, room) in came.chunks_exact_mut(each).enumerate() {
                match parcels.take(of, rank) {
                    Some(parcel) => {
                        room.copy_from_slice(&parcel);
                        self.buffer_pool().keep(parcel);
                    }
                    None => room.copy_from_slice(&numbers[of * each..][..each]),
                }
            }
            Ok(())
        };
        let call = call.length(all);
        CollectivePart::new(
            self,
            call,
            value,
            PooledBuffers::join,
            |parcels| parcels,
            read,
        )
    }

    /// How many of so many numbers are for each rank.
    fn equal_part(&self, name: &'static str, all: usize) -> Result<usize, CommError> {
        let size = self.size();
        let each = all / size;
        if each * size == all {
            return Ok(each);
        }
        let problem = cut(name, all, &vec![each; size], size);
        let problem = problem.err().unwrap_or_default();
        Err(CommError::Arguments { problem })
    }

    /// Where parts of these lengths end, one for each rank.
    pub(super) fn cut(
        &self,
        name: &str,
        given: usize,
        counts: &[usize],
    ) -> Result<Vec<usize>, CommError> {
        let ends = cut(name, given, counts, self.size());
        ends.map_err(|problem| CommError::Arguments { problem })
    }
}

/// From what each rank has for all to what all have for each rank.
fn columns<T>(rows: Vec<Vec<T>>) -> Vec<Vec<T>> {
    let mut columns: Vec<Vec<T>> = Vec::new();
    columns.resize_with(rows.len(), || Vec::with_capacity(rows.len()));
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    columns
}
