//! Intercommunicators: two groups of ranks that talk to each other, each by the ranks of the other
//! one.

use crate::{CommError, Communicator, Dest, Group, Request, Source, Status, Tag, TagMatch, Value};
use std::fmt;
use std::future::Future;

/// One rank's handle on two groups of ranks, of which it belongs to one (MPI-3.1, 6.6). Ranks are
/// those of the other group: two programs that are coupled need not know how many ranks there are
/// on their own side.
///
/// # Cancellation
/// As of a [`Communicator`].
///
/// ```
/// use motet_comm::{CommError, World};
///
/// // Ranks 0 and 1 are the ocean, 2 to 4 the air.
/// World::threads(5)
///     .run(async |comm| -> Result<_, CommError> {
///         let is_air = comm.rank() >= 2;
///         let other = comm.intercommunicator(Some(is_air)).await?.expect("it is on a side");
///         let sizes = (other.local().size(), other.remote_size());
///         assert_eq!(sizes, if is_air { (3, 2) } else { (2, 3) });
///         // Each side learns the sum of the other one.
///         let sum = other.allreduce(comm.rank(), |a, b| a + b).await?;
///         assert_eq!(sum, if is_air { 0 + 1 } else { 2 + 3 + 4 });
///         Ok(())
///     })
///     .unwrap();
/// ```
pub struct Intercommunicator {
    /// Both groups: first the one whose ranks have given `false`. Nothing goes within a group but
    /// in collectives.
    both: Communicator,
    local: Communicator,
    /// The remote group's ranks in `both` begin here.
    remote: usize,
    remote_size: usize,
    /// This rank has given `true`.
    second: bool,
}

impl Communicator {
    /// Makes an intercommunicator of the ranks that give `Some(false)` and those that give
    /// `Some(true)`, each in their order here (MPI_INTERCOMM_CREATE). All ranks call it; who gives
    /// `None` gets `None`.
    ///
    /// # Errors
    /// [`CommError::Arguments`] on all ranks, when one of the groups has no rank;
    /// [`CommError::Mismatch`] when a rank is in another collective.
    #[track_caller]
    pub fn intercommunicator(
        &self,
        side: Option<bool>,
    ) -> impl Future<Output = Result<Option<Intercommunicator>, CommError>> {
        let key = isize::from(side == Some(true));
        let counted = self.allreduce(
            [side == Some(false), side == Some(true)].map(usize::from),
            |a, b| [a[0] + b[0], a[1] + b[1]],
        );
        let both = self.split(side.map(|_| 0), key);
        let local = self.split(side.map(usize::from), 0);
        async move {
            let sizes = counted.await?;
            if sizes.contains(&0) {
                let problem = format!(
                    "intercommunicator: the groups have {} and {} ranks; each needs one",
                    sizes[0], sizes[1]
                );
                return Err(CommError::Arguments { problem });
            }
            let (both, local) = (both.await?, local.await?);
            Ok(both.zip(local).zip(side).map(|((both, local), second)| {
                let [first_size, second_size] = sizes;
                Intercommunicator {
                    both,
                    local,
                    remote: if second { 0 } else { first_size },
                    remote_size: if second { first_size } else { second_size },
                    second,
                }
            }))
        }
    }
}

impl Intercommunicator {
    /// The communicator of this rank's own group (the rank and size of an intercommunicator of MPI
    /// are those in it).
    #[must_use]
    pub fn local(&self) -> &Communicator {
        &self.local
    }

    /// The number of ranks of the other group (MPI_COMM_REMOTE_SIZE).
    #[must_use]
    pub fn remote_size(&self) -> usize {
        self.remote_size
    }

    /// The ranks of the other group (MPI_COMM_REMOTE_GROUP).
    #[must_use]
    pub fn remote_group(&self) -> Group {
        let both = self.both.group();
        let ranks: Vec<usize> = (self.remote..self.remote + self.remote_size).collect();
        both.incl(&ranks).expect("they are all in it")
    }

    /// Sends `value` to rank `dest` of the other group, as [`Communicator::send`].
    ///
    /// # Errors
    /// As [`Communicator::send`].
    #[track_caller]
    pub fn send<T: Value>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
        value: T,
    ) -> impl Future<Output = Result<(), CommError>> {
        // Not in a closure, here and below: a closure does not know the caller.
        let sent = match self.dest(dest.into()) {
            Ok(dest) => Ok(self.both.send(dest, tag, value)),
            Err(refused) => Err(refused),
        };
        async move { sent?.await }
    }

    /// As [`Intercommunicator::send`], and waits until a receive has got it.
    ///
    /// # Errors
    /// As [`Communicator::ssend`].
    #[track_caller]
    pub fn ssend<T: Value>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
        value: T,
    ) -> impl Future<Output = Result<(), CommError>> {
        let sent = match self.dest(dest.into()) {
            Ok(dest) => Ok(self.both.ssend(dest, tag, value)),
            Err(refused) => Err(refused),
        };
        async move { sent?.await }
    }

    /// Receives from rank `source` of the other group, or any of it, as [`Communicator::recv`].
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    #[track_caller]
    pub fn recv<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<T, CommError>> {
        let received = self.recv_with_status(source, tag);
        async move { Ok(received.await?.0) }
    }

    /// As [`Intercommunicator::recv`], and says who of the other group has sent the message, with
    /// which tag.
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    #[track_caller]
    pub fn recv_with_status<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<(T, Status), CommError>> {
        let received = match self.source(source.into()) {
            Ok(source) => Ok(self.both.recv_with_status(source, tag)),
            Err(refused) => Err(refused),
        };
        let remote = self.remote;
        async move {
            let (value, status) = received?.await?;
            let source = status.source - remote;
            Ok((value, Status { source, ..status }))
        }
    }

    /// Posts a receive now, as [`Communicator::irecv`].
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; the request's: as [`Communicator::recv`].
    #[track_caller]
    pub fn irecv<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<Request<'_, T>, CommError> {
        let source = self.source(source.into())?;
        Ok(self.both.irecv(source, tag))
    }

    /// Waits for all ranks of both groups (MPI_BARRIER).
    ///
    /// # Errors
    /// As [`Communicator::barrier`].
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<(), CommError>> {
        self.both.barrier()
    }

    /// Gives all ranks of the other group what rank `root` of this one has. `root` passes it, and
    /// the others pass `None` (MPI_BCAST with MPI_ROOT and MPI_PROC_NULL). The other group calls
    /// [`broadcast_from`](Intercommunicator::broadcast_from).
    ///
    /// # Errors
    /// As [`Communicator::broadcast`].
    #[track_caller]
    pub fn broadcast_to<T: Value + Clone + Sync>(
        &self,
        root: usize,
        value: Option<T>,
    ) -> impl Future<Output = Result<(), CommError>> {
        let own = if self.second { self.remote_size } else { 0 };
        let given = match self.local.check_rank(root) {
            Ok(()) => Ok(self.both.broadcast(own + root, value)),
            Err(refused) => Err(refused),
        };
        async move { given?.await.map(drop) }
    }

    /// What rank `root` of the other group gives by
    /// [`broadcast_to`](Intercommunicator::broadcast_to).
    ///
    /// # Errors
    /// As [`Communicator::broadcast`].
    #[track_caller]
    pub fn broadcast_from<T: Value + Clone + Sync>(
        &self,
        root: usize,
    ) -> impl Future<Output = Result<T, CommError>> {
        let given = match self.check_remote(root) {
            Ok(()) => Ok(self.both.broadcast(self.remote + root, None)),
            Err(refused) => Err(refused),
        };
        async move { given?.await }
    }

    /// Combines what the ranks of the other group bring, in their order (MPI_ALLREDUCE).
    ///
    /// # Errors
    /// As [`Communicator::allreduce`].
    #[track_caller]
    pub fn allreduce<'c, T: Value + Clone + Sync>(
        &'c self,
        value: T,
        op: impl Fn(T, T) -> T + 'c,
    ) -> impl Future<Output = Result<T, CommError>> {
        let mine = if self.second {
            (None, Some(value))
        } else {
            (Some(value), None)
        };
        let join = move |one: Option<T>, other: Option<T>| match (one, other) {
            (Some(one), Some(other)) => Some(op(one, other)),
            (one, other) => one.or(other),
        };
        let total = self.both.allreduce(mine, move |one, other| {
            (join(one.0, other.0), join(one.1, other.1))
        });
        let second = self.second;
        async move {
            let (of_first, of_second) = total.await?;
            let theirs = if second { of_first } else { of_second };
            Ok(theirs.expect("each group has a rank"))
        }
    }

    /// What each rank of the other group brings, in their order (MPI_ALLGATHER).
    ///
    /// # Errors
    /// As [`Communicator::allgather`].
    #[track_caller]
    pub fn allgather<T: Value + Clone + Sync>(
        &self,
        value: T,
    ) -> impl Future<Output = Result<Vec<T>, CommError>> {
        let all = self.both.allgather(value);
        let (from, to) = (self.remote, self.remote + self.remote_size);
        async move {
            let mut all = all.await?;
            all.truncate(to);
            all.drain(..from);
            Ok(all)
        }
    }

    /// An ordinary communicator of both groups (MPI_INTERCOMM_MERGE): first the ranks that give
    /// `false`, then those that give `true`. If both groups give the same, first the group that was
    /// made with `false`.
    ///
    /// # Errors
    /// As [`Communicator::split`].
    #[track_caller]
    pub fn merge(&self, high: bool) -> impl Future<Output = Result<Communicator, CommError>> {
        let merged = self.both.split(Some(0), isize::from(high));
        async move { Ok(merged.await?.expect("it has a color")) }
    }

    fn check_remote(&self, rank: usize) -> Result<(), CommError> {
        let size = self.remote_size;
        match rank < size {
            true => Ok(()),
            false => Err(CommError::NoSuchRank { rank, size }),
        }
    }

    fn dest(&self, dest: Dest) -> Result<Dest, CommError> {
        let Dest::Rank(rank) = dest else {
            return Ok(dest);
        };
        self.check_remote(rank)?;
        Ok(Dest::Rank(self.remote + rank))
    }

    fn source(&self, source: Source) -> Result<Source, CommError> {
        let Source::Rank(rank) = source else {
            return Ok(source);
        };
        self.check_remote(rank)?;
        Ok(Source::Rank(self.remote + rank))
    }
}

impl fmt::Debug for Intercommunicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intercommunicator")
            .field("local", &self.local)
            .field("remote_size", &self.remote_size)
            .finish_non_exhaustive()
    }
}
