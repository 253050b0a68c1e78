//! Sends.

use crate::address::{Dest, Status, Tag};
use crate::any_cell::AnyLetter;
use crate::envelope::{Envelope, MessageKind, Receipt};
use crate::pending::{PendingCall, PendingFuture, ReadyOutcome, Whys};
use crate::profile::Called;
use crate::report::WaitOperation;
use crate::request::Request;
use crate::{CommError, Communicator, Plain, Value};
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// # Sending
///
/// Messages are moved, not copied. Between two ranks, messages that match the same receives are
/// received in the order they were sent (MPI-3.1, 3.5).
impl Communicator {
    /// Sends `value` to rank `dest`. It does not wait for the receiver: MPI's buffered mode, which
    /// is its standard and its ready mode too. (Ready mode promises that the receive is posted, so
    /// that a library need not buffer. Here the message is moved, and there is nothing to save.)
    ///
    /// To [`Dest::Null`] it sends nothing. Under a [`World::limit`](crate::World::limit) it may
    /// wait, or be refused.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`], [`CommError::Full`].
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let got = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         if comm.rank() == 0 {
    ///             comm.send(1, 7, vec![1.0, 2.0]).await?;
    ///             Ok(None)
    ///         } else {
    ///             Ok(Some(comm.recv::<Vec<f64>>(0, 7).await?))
    ///         }
    ///     })
    ///     .unwrap();
    /// assert_eq!(got[1].as_deref(), Some(&[1.0, 2.0][..]));
    /// ```
    #[track_caller]
    #[inline]
    pub fn send<T: Value>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
        value: T,
    ) -> impl Future<Output = Result<(), CommError>> {
        let (dest, location) = (dest.into(), Location::caller());
        async move {
            if self.outstanding().is_some()
                && let Some(room) = self.room(dest, tag, location)
            {
                room.await;
            }
            self.send_in(MessageKind::User, dest, tag, value, location)
        }
    }

    /// Sends `value` and waits until a receive has got it: MPI's synchronous mode (MPI-3.1, 3.4).
    /// That the receiver has waited for a receive that it has posted by `irecv`, and looked at the
    /// value, it does not say.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`].
    ///
    /// # Cancellation
    /// A message that was sent stays on its way.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         if comm.rank() == 0 {
    ///             comm.ssend(1, 0, "read this".to_owned()).await?; // and rank 1 has
    ///         } else {
    ///             comm.recv::<String>(0, 0).await?;
    ///         }
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn ssend<T: Value>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
        value: T,
    ) -> impl Future<Output = Result<(), CommError>> {
        let sending = Sending::new(self, dest.into(), tag, value, Location::caller());
        PendingFuture::new(self.wait_site(), sending)
    }

    /// Sends `value` and returns a request that has ended (MPI_ISEND). Under a
    /// [`World::limit`](crate::World::limit) it may last until `value` is received.
    ///
    /// # Errors
    /// The request's: [`CommError::NoSuchRank`].
    #[track_caller]
    pub fn isend<T: Value>(&self, dest: impl Into<Dest>, tag: Tag, value: T) -> Request<'_, ()> {
        let dest = dest.into();
        if self.waits_for_room(dest) {
            return self.issend_from(dest, tag, value, Location::caller());
        }
        let sent = self.send_in(MessageKind::User, dest, tag, value, Location::caller());
        Request::new(self.wait_site(), ReadyOutcome(Some(sent)))
    }

    /// Sends `value` and returns a request that ends when a receive has got it (MPI_ISSEND).
    ///
    /// # Errors
    /// The request's: [`CommError::NoSuchRank`].
    #[track_caller]
    pub fn issend<T: Value>(&self, dest: impl Into<Dest>, tag: Tag, value: T) -> Request<'_, ()> {
        self.issend_from(dest.into(), tag, value, Location::caller())
    }

    pub(super) fn issend_from<T: Value>(
        &self,
        dest: Dest,
        tag: Tag,
        value: T,
        location: &'static Location<'static>,
    ) -> Request<'_, ()> {
        let mut sending = Sending::new(self, dest, tag, value, location);
        sending.send();
        Request::new(self.wait_site(), sending)
    }

    /// As [`Communicator::issend`], for numbers, which may be changed at once and received into a
    /// slice. A probe tells how many they are.
    ///
    /// # Errors
    /// The request's: [`CommError::NoSuchRank`].
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::solo()
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let sent = comm.issend_slice(0, 0, &[1.5, 2.5]);
    ///         assert_eq!(comm.probe(0, 0).await?.length, 2);
    ///         assert_eq!(comm.recv::<Vec<f64>>(0, 0).await?, [1.5, 2.5]);
    ///         sent.wait().await
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn issend_slice<T: Plain>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
        numbers: &[T],
    ) -> Request<'_, ()> {
        let location = Location::caller();
        let mut sending = Sending::new(self, dest.into(), tag, numbers.to_vec(), location);
        sending.length = numbers.len();
        sending.send();
        Request::new(self.wait_site(), sending)
    }

    /// Sends now.
    #[inline]
    pub(crate) fn send_in<T: Value>(
        &self,
        kind: MessageKind,
        dest: Dest,
        tag: Tag,
        value: T,
        location: &'static Location<'static>,
    ) -> Result<(), CommError> {
        self.deliver(dest, location, || {
            let letter = AnyLetter::new(value);
            let (context, source) = (self.context(kind), self.rank());
            move || Envelope::of::<T>(context, Status { source, tag }, location, letter)
        })
    }

    /// A message of this rank.
    #[inline]
    pub(crate) fn message<T: Value>(
        &self,
        kind: MessageKind,
        tag: Tag,
        value: T,
        location: &'static Location<'static>,
    ) -> Envelope {
        let source = self.rank();
        Envelope::new(self.context(kind), Status { source, tag }, location, value)
    }

    /// Hands a message to the fabric, if it goes to somebody who exists; else it is not made. What
    /// has been made is laid out by what `make` returns.
    #[inline]
    pub(crate) fn deliver<M: FnOnce() -> Envelope>(
        &self,
        dest: Dest,
        location: &'static Location<'static>,
        make: impl FnOnce() -> M,
    ) -> Result<(), CommError> {
        let Dest::Rank(dest) = dest else {
            return Ok(());
        };
        self.check_rank(dest)?;
        let _entered = self.entered("send", location);
        match self.outstanding() {
            None => self.fabric().send(self.team().world_rank(dest), make()),
            Some(outstanding) => self.send_within(outstanding, dest, make()()),
        }
    }
}

/// A synchronous send.
struct Sending<'c, T> {
    comm: &'c Communicator,
    dest: Dest,
    tag: Tag,
    /// Until it has been sent.
    value: Option<T>,
    /// How many numbers it has; 1 if it has none.
    length: usize,
    location: &'static Location<'static>,
    receipt: Arc<Receipt>,
    refused: Option<CommError>,
}

impl<'c, T: Value> Sending<'c, T> {
    fn new(
        comm: &'c Communicator,
        dest: Dest,
        tag: Tag,
        value: T,
        location: &'static Location<'static>,
    ) -> Self {
        Sending {
            comm,
            dest,
            tag,
            value: Some(value),
            length: 1,
            location,
            receipt: Arc::new(Receipt::new(comm.fabric().world_rank())),
            refused: None,
        }
    }

    fn send(&mut self) {
        let Some(value) = self.value.take() else {
            return;
        };
        let sent = self.comm.deliver(self.dest, self.location, || {
            let mut envelope = self
                .comm
                .message(MessageKind::User, self.tag, value, self.location);
            envelope.receipt = Some(Arc::clone(&self.receipt));
            envelope.label.length = self.length;
            || envelope
        });
        self.refused = sent.err();
    }
}

impl<T: Value> PendingCall for Sending<'_, T> {
    type Output = Result<(), CommError>;

    fn look(&mut self) -> Option<Self::Output> {
        self.send();
        match (self.refused.take(), self.dest) {
            (Some(refused), _) => Some(Err(refused)),
            (None, Dest::Null) => Some(Ok(())),
            (None, Dest::Rank(_)) => {
                if !self.receipt.is_signed() {
                    self.comm.fabric().poll();
                }
                self.receipt.is_signed().then_some(Ok(()))
            }
        }
    }

    fn why(&self) -> Whys {
        let Dest::Rank(dest) = self.dest else {
            return Vec::new();
        };
        let operation = WaitOperation::Ssend {
            dest,
            tag: self.tag,
        };
        vec![self.comm.waits_in(operation, self.location)]
    }

    fn called(&self) -> Option<Called> {
        Some(Called::new("ssend", self.location))
    }
}
