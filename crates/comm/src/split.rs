//! Communicators made of others.

use crate::fabric::{Call, Fabric, Team};
use crate::meet::{Collective, Meet};
use crate::{CommError, Communicator, Group};
use motet_sync::Mutex;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// # Communicators of some of the ranks
///
/// All ranks of a communicator call these together. Messages and collectives of the new ones meet none of the
/// old: each communicator has a number that all its messages bear, and a meeting place of its own.
impl Communicator {
    /// Another communicator of the same ranks in the same order (MPI_COMM_DUP): a library that talks over its
    /// own never gets the program's messages.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let got = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mine = comm.dup().await?;
    ///         let other = 1 - comm.rank();
    ///         comm.send(other, 0, "the program's".to_owned()).await?;
    ///         mine.send(other, 0, "the library's".to_owned()).await?;
    ///         mine.recv::<String>(other, 0).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(got, ["the library's"; 2]);
    /// ```
    #[track_caller]
    pub fn dup(&self) -> impl Future<Output = Result<Communicator, CommError>> {
        let made = self.split_as("dup", Some(0), 0, Location::caller());
        async { made.await.map(|comm| comm.expect("every rank is in it")) }
    }

    /// One communicator for each `color` that a rank names, of the ranks that name it, in the order of their
    /// `key`, then of their old ranks (MPI_COMM_SPLIT). Who names no color gets `None`.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// // The sum over each row of a grid of 2 × 3 ranks.
    /// let sums = World::threads(6)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let row = comm.split(Some(comm.rank() / 3), 0).await?.expect("it has a color");
    ///         assert_eq!((row.rank(), row.size()), (comm.rank() % 3, 3));
    ///         row.allreduce(comm.rank(), |a, b| a + b).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums, [3, 3, 3, 12, 12, 12]);
    /// ```
    #[track_caller]
    pub fn split(
        &self,
        color: Option<usize>,
        key: isize,
    ) -> impl Future<Output = Result<Option<Communicator>, CommError>> {
        self.split_as("split", color, key, Location::caller())
    }

    /// A communicator of the ranks of `group`, in its order (MPI_COMM_CREATE). All ranks of this one pass the
    /// same group; who is not in it gets `None`.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let ranks = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let group = comm.group().incl(&[2, 0])?;
    ///         Ok(comm.create(&group).await?.map(|part| part.rank()))
    ///     })
    ///     .unwrap();
    /// assert_eq!(ranks, [Some(1), None, Some(0)]);
    /// ```
    #[track_caller]
    pub fn create(
        &self,
        group: &Group,
    ) -> impl Future<Output = Result<Option<Communicator>, CommError>> + use<'_> {
        let place = group.rank_of(self.fabric().world_rank());
        let key = place.map_or(0, usize::cast_signed);
        self.split_as("create", place.map(|_| 0), key, Location::caller())
    }

    /// Splits for a call with this name.
    pub(crate) fn split_as<'c>(
        &'c self,
        name: &'static str,
        color: Option<usize>,
        key: isize,
        location: &'static Location<'static>,
    ) -> impl Future<Output = Result<Option<Communicator>, CommError>> + use<'c> {
        let call = Call::new::<()>(name, location);
        let rank = self.rank();
        let read = move |seats: &Seats| {
            let seat = seats[rank].lock().take();
            Ok(seat.map(|(team, rank)| self.member_of(team, rank)))
        };
        let finish = move |asked| self.seat(asked);
        let value = Ok(vec![(color, key)]);
        Meet::new(self, call, value, join, finish, read).now()
    }

    /// Makes the teams that were asked for, on one rank for all.
    fn seat(&self, asked: Vec<(Option<usize>, isize)>) -> Seats {
        let mut seats: Seats = Vec::new();
        seats.resize_with(asked.len(), Mutex::default);
        let named = asked.into_iter().enumerate();
        let mut order: Vec<(usize, isize, usize)> = named
            .filter_map(|(rank, (color, key))| Some((color?, key, rank)))
            .collect();
        order.sort_unstable();
        let parts: Vec<_> = order.chunk_by(|one, other| one.0 == other.0).collect();
        let count = u32::try_from(parts.len()).expect("there are fewer communicators than 2^32");
        let first = self.fabric().new_communicators(count);
        for (number, part) in (first..).zip(parts) {
            let ranks: Vec<usize> = part.iter().map(|&(_, _, rank)| rank).collect();
            let team = Arc::new(self.team().part(number, &ranks));
            for (place, rank) in ranks.into_iter().enumerate() {
                *seats[rank].lock() = Some((Arc::clone(&team), place));
            }
        }
        seats
    }
}

/// For each rank of the old communicator its new one, and its rank there.
type Seats = Vec<Mutex<Option<(Arc<Team>, usize)>>>;

fn join<T>(mut left: Vec<T>, mut right: Vec<T>) -> Vec<T> {
    left.append(&mut right);
    left
}
