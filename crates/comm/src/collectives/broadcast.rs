//! Broadcast.

use super::rank_parts::copy;
use crate::buffer_pool::SharedBuffer;
use crate::collective_call::{Collective, CollectiveCall, Startable, TwoWays};
use crate::collective_part::CollectivePart;
use crate::exchange::{ExchangeBuffer, SliceExchange};
use crate::fabric::RankCall;
use crate::pending::{Either, PendingCall};
use crate::schedule::ExchangeSchedule;
use crate::{CommError, Communicator, Plain, Value};
use std::panic::Location;

impl Communicator {
    /// Gives every rank a copy of the value of `root` (MPI_BCAST). The root passes the value, the
    /// others `None`.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]. [`CommError::Root`] when this rank passes a value and is not the
    /// root, or is the root and passes none. [`CommError::Mismatch`] when a rank is in another
    /// collective, names another root or asks for another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let told = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.broadcast(2, (comm.rank() == 2).then(|| "amen".to_owned())).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(told, ["amen"; 3]);
    /// ```
    #[track_caller]
    pub fn broadcast<T: Clone + Value + Sync>(
        &self,
        root: usize,
        value: Option<T>,
    ) -> CollectiveCall<impl Startable<'_, Given = T>> {
        let call = RankCall::new::<T>("broadcast", Location::caller()).root(root);
        self.broadcast_at(call, root, value).now()
    }

    /// Copies the numbers of `root` into those of every rank (MPI_BCAST).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::Mismatch`] when a rank is in another collective or
    /// names another root, type or length.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut numbers = [comm.rank(); 2];
    ///         comm.broadcast_into(1, &mut numbers).await?;
    ///         assert_eq!(numbers, [1, 1]);
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn broadcast_into<'c, T: Plain>(
        &'c self,
        root: usize,
        numbers: &'c mut [T],
    ) -> CollectiveCall<impl Startable<'c, Given = ()>> {
        let (name, location) = ("broadcast_into", Location::caller());
        TwoWays::new(
            self.wait_site(),
            numbers,
            move |numbers| self.broadcast_by_place(name, location, root, numbers),
            move |numbers| {
                let meet = self.broadcast_numbers(name, location, root, numbers);
                meet.started()
            },
        )
    }

    /// The way that suits where the ranks live.
    fn broadcast_by_place<'c, T: Plain>(
        &'c self,
        name: &'static str,
        location: &'static Location<'static>,
        root: usize,
        numbers: &'c mut [T],
    ) -> impl PendingCall<Output = Result<(), CommError>> {
        if self.exchanges::<T>(numbers.len()) {
            let call = RankCall::new::<T>(name, location);
            let call = call.root(root).length(numbers.len());
            Either::One(self.broadcast_exchange(call, root, numbers))
        } else {
            Either::Other(self.broadcast_numbers(name, location, root, numbers))
        }
    }

    fn broadcast_at<'c, T: Clone + Value + Sync>(
        &'c self,
        call: RankCall,
        root: usize,
        value: Option<T>,
    ) -> impl Collective<'c, T> {
        let value = self
            .check_root(root, value.is_some(), &call)
            .map(|()| value);
        let read = |value: &Option<T>| Ok(value.clone().expect("the root has passed a value"));
        CollectivePart::new(self, call, value, Option::or, |value| value, read)
    }

    fn broadcast_numbers<'c, T: Plain>(
        &'c self,
        name: &'static str,
        location: &'static Location<'static>,
        root: usize,
        numbers: &'c mut [T],
    ) -> impl Collective<'c, ()> {
        let call = RankCall::new::<T>(name, location)
            .root(root)
            .length(numbers.len());
        let is_root = self.rank() == root;
        let value = self
            .check_rank(root)
            .map(|()| is_root.then(|| self.buffer_pool().copy_in(numbers)));
        let read = move |value: &Option<SharedBuffer<T>>| match value {
            Some(came) if !is_root => copy(name, came, numbers),
            _ => Ok(()),
        };
        CollectivePart::new(self, call, value, Option::or, |value| value, read)
    }

    /// Each rank gets a share of the root, and passes it on.
    fn broadcast_exchange<'c, T: Plain>(
        &'c self,
        call: RankCall,
        root: usize,
        numbers: &'c mut [T],
    ) -> impl PendingCall<Output = Result<(), CommError>> {
        let (rank, length) = ((self.rank(), self.size()), numbers.len());
        let fine = self.check_rank(root);
        let fine = fine.map(|()| ExchangeSchedule::broadcast(rank, root, length));
        let both = (&[][..], ExchangeBuffer::There(numbers));
        SliceExchange::new(self, call, fine, both, |mine, _| mine)
    }

    /// Checks that the root, and nobody else, passes a value.
    pub(super) fn check_root(
        &self,
        root: usize,
        passes: bool,
        call: &RankCall,
    ) -> Result<(), CommError> {
        self.check_rank(root)?;
        let operation = call.operation();
        let problem = match (self.rank() == root, passes) {
            (true, true) | (false, false) => return Ok(()),
            (true, false) => format!("rank {root} is the root of {operation} and passes no value"),
            (false, true) => {
                format!(
                    "rank {} passes a value to {operation}, of which it is not the root",
                    self.rank()
                )
            }
        };
        Err(CommError::Root { problem })
    }
}
