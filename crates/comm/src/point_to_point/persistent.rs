//! Persistent requests: the arguments of a call that is made again and again.

use crate::address::{Dest, Source, Tag, TagMatch};
use crate::envelope::{MessageKind, ReceivePattern};
use crate::pending::ReadyOutcome;
use crate::request::{Request, Requests};
use crate::{CommError, Communicator, Value};
use std::marker::PhantomData;
use std::panic::Location;

use super::recv::{Receiving, open};

/// A send that is made again and again (MPI_SEND_INIT). Made by [`Communicator::send_init`] and
/// [`Communicator::ssend_init`].
#[derive(Debug)]
pub struct PersistentSend<'c, T> {
    comm: &'c Communicator,
    dest: Dest,
    tag: Tag,
    /// It ends when a receive has got it.
    is_synchronous: bool,
    location: &'static Location<'static>,
    _values: PhantomData<fn(T)>,
}

/// A receive that is made again and again (MPI_RECV_INIT). Made by [`Communicator::recv_init`].
#[derive(Debug)]
pub struct PersistentRecv<'c, T> {
    comm: &'c Communicator,
    wanted: ReceivePattern,
    location: &'static Location<'static>,
    _values: PhantomData<fn() -> T>,
}

/// # Again and again
impl Communicator {
    /// Prepares sends of a `T` to `dest` with `tag`; the arguments are checked once.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`].
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let sums = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let other = 1 - comm.rank();
    ///         let (to, from) = (comm.send_init(other, 0)?, comm.recv_init::<u32>(other, 0)?);
    ///         let mut sum = 0;
    ///         for n in 0..5u32 {
    ///             let came = from.start();
    ///             to.start(n).wait().await?;
    ///             sum += came.wait().await?;
    ///         }
    ///         Ok(sum)
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums, [10, 10]);
    /// ```
    #[track_caller]
    pub fn send_init<T: Value>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
    ) -> Result<PersistentSend<'_, T>, CommError> {
        self.persistent(dest.into(), tag, false, Location::caller())
    }

    /// As [`Communicator::send_init`]; the requests end when a receive has got the message
    /// (MPI_SSEND_INIT).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`].
    #[track_caller]
    pub fn ssend_init<T: Value>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
    ) -> Result<PersistentSend<'_, T>, CommError> {
        self.persistent(dest.into(), tag, true, Location::caller())
    }

    fn persistent<T>(
        &self,
        dest: Dest,
        tag: Tag,
        is_synchronous: bool,
        location: &'static Location<'static>,
    ) -> Result<PersistentSend<'_, T>, CommError> {
        if let Dest::Rank(rank) = dest {
            self.check_rank(rank)?;
        }
        Ok(PersistentSend {
            comm: self,
            dest,
            tag,
            is_synchronous,
            location,
            _values: PhantomData,
        })
    }

    /// Prepares receives of a `T` from `source` with `tag`; the arguments are checked once.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::NullSource`].
    #[track_caller]
    pub fn recv_init<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<PersistentRecv<'_, T>, CommError> {
        let wanted = self.wanted(MessageKind::User, source.into(), tag.into());
        self.check_source(wanted.source)?;
        Ok(PersistentRecv {
            comm: self,
            wanted,
            location: Location::caller(),
            _values: PhantomData,
        })
    }
}

impl<'c, T: Value> PersistentSend<'c, T> {
    /// Sends `value` (MPI_START).
    pub fn start(&self, value: T) -> Request<'c, ()> {
        let comm = self.comm;
        if self.is_synchronous || comm.waits_for_room(self.dest) {
            return comm.issend_from(self.dest, self.tag, value, self.location);
        }
        let sent = comm.send_in(MessageKind::User, self.dest, self.tag, value, self.location);
        Request::new(comm.wait_site(), ReadyOutcome(Some(sent)))
    }

    /// Sends a value by each, in order (MPI_STARTALL).
    ///
    /// ```
    /// use motet_comm::{CommError, PersistentRecv, PersistentSend, World};
    ///
    /// World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let all = 0..comm.size();
    ///         let to = all.clone().map(|rank| comm.ssend_init::<usize>(rank, 0));
    ///         let to = to.collect::<Result<Vec<_>, _>>()?;
    ///         let from = all.map(|rank| comm.recv_init::<usize>(rank, 0));
    ///         let from = from.collect::<Result<Vec<_>, _>>()?;
    ///         for round in 0..4 {
    ///             let came = PersistentRecv::start_all(&from);
    ///             PersistentSend::start_all(to.iter().map(|to| (to, round))).wait_all().await?;
    ///             assert_eq!(came.wait_all().await?, [round; 3]);
    ///         }
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    pub fn start_all<'s>(all: impl IntoIterator<Item = (&'s Self, T)>) -> Requests<'c, ()>
    where
        Self: 's,
    {
        all.into_iter()
            .map(|(send, value)| send.start(value))
            .collect()
    }
}

impl<'c, T: Value> PersistentRecv<'c, T> {
    /// Posts a receive (MPI_START).
    pub fn start(&self) -> Request<'c, T> {
        let opened = open(|value, _| value);
        let mut receiving = Receiving::new(self.comm, self.wanted, self.location, opened);
        receiving.post();
        Request::new(self.comm.wait_site(), receiving)
    }

    /// Posts a receive by each, in order (MPI_STARTALL).
    pub fn start_all(all: &[Self]) -> Requests<'c, T> {
        all.iter().map(Self::start).collect()
    }
}
