//! Communicators made of others.

use crate::collective_call::Collective;
use crate::collective_part::CollectivePart;
use crate::fabric::{RankCall, Team};
use crate::{CommError, Communicator, Group};
use motet_sync::Mutex;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// # Communicators of some of the ranks
///
/// All ranks of a communicator call these together. Messages and collectives of the new ones meet
/// none of the old. Each communicator has a number that all its messages bear, and a place of its
/// own.
impl Communicator {
    /// Another communicator of the same ranks in the same order (MPI_COMM_DUP): a library that
    /// talks over its own never gets the program's messages.
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

    /// One communicator for each `color` that a rank names, of the ranks that name it
    /// (MPI_COMM_SPLIT). They are in the order of their `key`, then of their old ranks. Who names
    /// no color gets `None`.
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

    /// A communicator of the ranks of `group`, in its order (MPI_COMM_CREATE). All ranks of this
    /// one pass the same group; who is not in it gets `None`.
    ///
    /// # Errors
    /// [`CommError::Arguments`], on the ranks of the group, when it has others that this
    /// communicator does not have; [`CommError::Mismatch`] when a rank is in another collective.
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
        let made = self.split_as("create", place.map(|_| 0), key, Location::caller());
        let (asked, size) = (group.size(), self.size());
        async move {
            let part = made.await?;
            let has = part.as_ref().map_or(asked, Communicator::size);
            if has == asked {
                return Ok(part);
            }
            let problem =
                format!("create of a group of {asked} ranks, of which {has} are among the {size}");
            Err(CommError::Arguments { problem })
        }
    }

    /// A communicator of the ranks of this process, in the order of their ranks here
    /// (MPI_COMM_SPLIT_TYPE with MPI_COMM_TYPE_SHARED). They share memory, and can send each other
    /// a [`Local`](crate::Local). In a world that is not [over](crate::World::over) several
    /// processes that is all of them.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let near = comm.split_by_process().await?;
    ///         assert_eq!((near.rank(), near.size()), (comm.rank(), 3));
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn split_by_process(&self) -> impl Future<Output = Result<Communicator, CommError>> {
        let process = self.process_of(self.rank());
        let location = Location::caller();
        async move {
            let part = self.split_as("split_by_process", Some(process?), 0, location);
            Ok(part.await?.expect("it has a color"))
        }
    }

    /// Splits for a call with this name.
    pub(crate) fn split_as<'c>(
        &'c self,
        name: &'static str,
        color: Option<usize>,
        key: isize,
        location: &'static Location<'static>,
    ) -> impl Future<Output = Result<Option<Communicator>, CommError>> + use<'c> {
        let call = RankCall::new::<()>(name, location);
        async move {
            let first = if self.fabric().is_shared() {
                None
            } else {
                self.draw(call, color).await?
            };
            let rank = self.rank();
            let read = move |teams: &NewTeams| {
                let assign = teams[rank].lock().take();
                Ok(assign.map(|(team, rank)| self.member_of(team, rank)))
            };
            let asked = Asked { color, key, first };
            let finish = move |asked| self.assign(asked);
            CollectivePart::new(self, call, Ok(vec![asked]), join, finish, read)
                .now()
                .await
        }
    }

    /// Draws the numbers of the communicators that are made of this one, where no memory is shared
    /// by all. Rank 0 does it and gets the first.
    async fn draw(&self, call: RankCall, color: Option<usize>) -> Result<Option<u32>, CommError> {
        let count = |mut colors: Vec<Option<usize>>| {
            colors.retain(Option::is_some);
            colors.sort_unstable();
            colors.dedup();
            number_of(colors.len())
        };
        let read = |count: &u32| Ok(*count);
        let parts = CollectivePart::new(self, call, Ok(vec![color]), join, count, read)
            .now()
            .await?;
        Ok((self.rank() == 0).then(|| self.fabric().new_communicators(parts)))
    }

    /// Makes the teams that were asked for, on one rank for all of its process.
    fn assign(&self, asked: Vec<Asked>) -> NewTeams {
        let mut teams: NewTeams = Vec::new();
        teams.resize_with(asked.len(), Mutex::default);
        let first = asked[0].first;
        let named = asked.into_iter().enumerate();
        let mut order: Vec<(usize, isize, usize)> = named
            .filter_map(|(rank, asked)| Some((asked.color?, asked.key, rank)))
            .collect();
        order.sort_unstable();
        let parts: Vec<_> = order.chunk_by(|one, other| one.0 == other.0).collect();
        let draw = || self.fabric().new_communicators(number_of(parts.len()));
        let first = first.unwrap_or_else(draw);
        for (number, part) in (first..).zip(parts) {
            let ranks: Vec<usize> = part.iter().map(|&(_, _, rank)| rank).collect();
            let team = Arc::new(self.team().part(number, &ranks));
            for (place, rank) in ranks.into_iter().enumerate() {
                *teams[rank].lock() = Some((Arc::clone(&team), place));
            }
        }
        teams
    }
}

/// What a rank asks for.
#[derive(Serialize, Deserialize)]
struct Asked {
    color: Option<usize>,
    key: isize,
    /// From rank 0, if it has drawn the numbers.
    first: Option<u32>,
}

fn number_of(communicators: usize) -> u32 {
    u32::try_from(communicators).expect("there are fewer communicators than 2^32")
}

/// For each rank of the old communicator its new one, and its rank there.
type NewTeams = Vec<Mutex<Option<(Arc<Team>, usize)>>>;

fn join<T>(mut left: Vec<T>, mut right: Vec<T>) -> Vec<T> {
    left.append(&mut right);
    left
}
