//! Send and receive in one call, and circular shifts.

use super::recv::{NO_TAG, Receiving, Use, open};
use crate::address::{Dest, Source, Tag};
use crate::envelope::{MessageKind, ReceivePattern};
use crate::pending::{PendingCall, PendingFuture, Whys};
use crate::profile::Called;
use crate::{CommError, Communicator, Value};
use std::future::Future;
use std::panic::Location;

/// # Send and receive
impl Communicator {
    /// Sends `value` to `dest` and receives a message from `source`, both with `tag`
    /// (MPI_SENDRECV).
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::recv`].
    #[track_caller]
    #[inline]
    pub fn sendrecv<T: Value>(
        &self,
        dest: impl Into<Dest>,
        value: T,
        source: impl Into<Source>,
        tag: Tag,
    ) -> impl Future<Output = Result<T, CommError>> {
        let wanted = self.wanted(MessageKind::User, source.into(), tag.into());
        self.send_and_receive(dest.into(), tag, value, wanted, Location::caller())
    }

    /// Sends what `value` holds to `dest` and puts there what comes from `source`, both with `tag`
    /// (MPI_SENDRECV_REPLACE). If `source` is null, what is there stays: at the ends of a line of
    /// ranks nothing need be told apart.
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::recv`]; `value` then keeps what it had.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// // Everyone hands its number to the right; nobody is to the left of rank 0.
    /// let seen = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut number = comm.rank() * 10;
    ///         let (left, right) = (comm.rank().checked_sub(1), comm.rank() + 1);
    ///         let right = (right < comm.size()).then_some(right);
    ///         comm.sendrecv_replace(&mut number, right, left, 0).await?;
    ///         Ok(number)
    ///     })
    ///     .unwrap();
    /// assert_eq!(seen, [0, 0, 10]);
    /// ```
    #[track_caller]
    pub fn sendrecv_replace<T: Clone + Value>(
        &self,
        value: &mut T,
        dest: impl Into<Dest>,
        source: impl Into<Source>,
        tag: Tag,
    ) -> impl Future<Output = Result<(), CommError>> {
        let (dest, source, location) = (dest.into(), source.into(), Location::caller());
        async move {
            let wanted = self.wanted(MessageKind::User, source, tag.into());
            if self.comes_back(dest, &wanted) {
                return Ok(());
            }
            self.send_in(MessageKind::User, dest, tag, value.clone(), location)?;
            if source != Source::Null {
                *value = self.receive(wanted, location, |came, _| came).await?;
            }
            Ok(())
        }
    }

    /// Every rank sends `value` to the rank `by` places on, round the end, and receives from the
    /// rank as many places before it. This is a circular shift (papers R035). For many shifts in a
    /// row between neighbours [`Communicator::ring`] is faster.
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let shifted = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> { comm.shift(comm.rank(), 1).await })
    ///     .unwrap();
    /// assert_eq!(shifted, [2, 0, 1]);
    /// ```
    #[track_caller]
    #[inline]
    pub fn shift<T: Value>(
        &self,
        value: T,
        by: isize,
    ) -> impl Future<Output = Result<T, CommError>> {
        let (rank, size, location) = (self.rank(), self.size(), Location::caller());
        let by = by.rem_euclid(size.cast_signed()).cast_unsigned();
        let (dest, source) = ((rank + by) % size, (rank + size - by) % size);
        let wanted = self.wanted(MessageKind::Shift, source.into(), NO_TAG.into());
        self.send_and_receive(dest.into(), NO_TAG, value, wanted, location)
    }

    /// Whether a message with the wanted tag to `dest` would be what is received. It is if it goes
    /// to this rank itself, and neither an older message nor another receive stands between.
    #[inline]
    fn comes_back(&self, dest: Dest, wanted: &ReceivePattern) -> bool {
        let me = self.rank();
        dest == Dest::Rank(me)
            && wanted.source == Source::Rank(me)
            && self.recorder().is_none()
            && self.fabric().is_clear()
    }

    #[inline]
    async fn send_and_receive<T: Value>(
        &self,
        dest: Dest,
        tag: Tag,
        value: T,
        wanted: ReceivePattern,
        location: &'static Location<'static>,
    ) -> Result<T, CommError> {
        if self.comes_back(dest, &wanted) {
            return Ok(value);
        }
        let wait_site = self.wait_site();
        let receiving = Receiving::new(self, wanted, location, open(|value, _| value));
        let both = SendReceive {
            comm: self,
            sending: Some((dest, tag, value)),
            location,
            receiving,
        };
        PendingFuture::new(wait_site, both).await
    }
}

/// Sends at the first look and then receives; both within one kind of message.
struct SendReceive<'c, T, P> {
    comm: &'c Communicator,
    sending: Option<(Dest, Tag, T)>,
    location: &'static Location<'static>,
    receiving: P,
}

impl<T, U> PendingCall for SendReceive<'_, T, Receiving<'_, U>>
where
    T: Value,
    U: Use<Output = T>,
{
    type Output = Result<T, CommError>;

    #[inline]
    fn look(&mut self) -> Option<Result<T, CommError>> {
        if let Some((dest, tag, value)) = self.sending.take() {
            let kind = self.receiving.kind();
            if let Err(refused) = self.comm.send_in(kind, dest, tag, value, self.location) {
                return Some(Err(refused));
            }
        }
        self.receiving.look()
    }

    fn why(&self) -> Whys {
        self.receiving.why()
    }

    fn called(&self) -> Option<Called> {
        let name = match self.receiving.kind() {
            MessageKind::Shift => "shift",
            _ => "sendrecv",
        };
        Some(Called::new(name, self.location))
    }
}
