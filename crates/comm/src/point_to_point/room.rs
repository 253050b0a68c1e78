//! Sends under a limit: whether there is room for a message, and the wait for it.

use crate::address::{Dest, Tag};
use crate::envelope::{Envelope, MessageKind, Receipt};
use crate::limit::{Outstanding, SendOverflow};
use crate::pending::{PendingCall, PendingFuture, ReadyOutcome, Whys};
use crate::profile::Called;
use crate::report::WaitOperation;
use crate::request::Request;
use crate::{CommError, Communicator, Plain};
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};

impl Communicator {
    /// Whether there is no room for a message to `dest`, under a limit with this overflow.
    fn is_full(&self, dest: Dest, overflow: SendOverflow) -> bool {
        let (Dest::Rank(rank), Some(outstanding)) = (dest, self.outstanding()) else {
            return false;
        };
        if outstanding.limit.overflow != overflow || rank >= self.size() {
            return false;
        }
        let to = self.team().world_rank(rank);
        !outstanding.has_room(to) && {
            // Receipts of other processes may have come.
            self.fabric().poll();
            !outstanding.has_room(to)
        }
    }

    /// Whether a send to `dest` is to end when its message has been received, as there is no room
    /// for it.
    pub(crate) fn waits_for_room(&self, dest: Dest) -> bool {
        self.is_full(dest, SendOverflow::Wait)
    }

    /// What a send to `dest` has to wait for, if there is no room for its message.
    #[cold]
    #[inline(never)]
    pub(crate) fn room<'c>(
        &'c self,
        dest: Dest,
        tag: Tag,
        location: &'static Location<'static>,
    ) -> Option<Pin<Box<dyn Future<Output = ()> + 'c>>> {
        let Dest::Rank(rank) = dest else {
            return None;
        };
        self.waits_for_room(dest).then(|| {
            let room = RoomOf {
                comm: self,
                dest: rank,
                tag,
                location,
            };
            Box::pin(PendingFuture::new(self.wait_site(), room))
                as Pin<Box<dyn Future<Output = ()>>>
        })
    }

    /// Sends a message under a limit.
    ///
    /// # Errors
    /// [`CommError::Full`], and those of a send.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_within(
        &self,
        outstanding: &Outstanding,
        dest: usize,
        mut envelope: Envelope,
    ) -> Result<(), CommError> {
        let to = self.team().world_rank(dest);
        // One that its sender waits for does not count.
        if envelope.context.kind == MessageKind::User && envelope.receipt.is_none() {
            if self.is_full(Dest::Rank(dest), SendOverflow::Reject) {
                let messages = outstanding.limit.messages;
                return Err(CommError::Full { dest, messages });
            }
            envelope.receipt = Some(outstanding.receipt(self.fabric().world_rank(), to));
        }
        self.fabric().send(to, || envelope)
    }

    /// Sends numbers though there is no room for them, and counts them.
    #[cold]
    #[inline(never)]
    pub(super) fn send_beyond<T: Plain>(
        &self,
        outstanding: &Outstanding,
        (dest, tag): (usize, Tag),
        numbers: &[T],
        location: &'static Location<'static>,
    ) -> Request<'_, ()> {
        let to = self.team().world_rank(dest);
        let counted = outstanding.receipt(self.fabric().world_rank(), to);
        let receipt = Arc::downgrade(&counted);
        let sent = self.deliver(Dest::Rank(dest), location, || {
            let mut envelope = self.message(MessageKind::User, tag, numbers.to_vec(), location);
            envelope.label.length = numbers.len();
            envelope.receipt = Some(counted);
            || envelope
        });
        let room = RoomOf {
            comm: self,
            dest,
            tag,
            location,
        };
        match sent {
            Ok(()) => Request::new(self.wait_site(), SentBeyond { room, receipt }),
            Err(error) => Request::new(self.wait_site(), ReadyOutcome(Some(Err(error)))),
        }
    }
}

/// A send that waits until one more message may wait at its receiver.
struct RoomOf<'c> {
    comm: &'c Communicator,
    dest: usize,
    tag: Tag,
    location: &'static Location<'static>,
}

impl PendingCall for RoomOf<'_> {
    type Output = ();

    fn look(&mut self) -> Option<()> {
        (!self.comm.waits_for_room(Dest::Rank(self.dest))).then_some(())
    }

    fn why(&self) -> Whys {
        let operation = WaitOperation::Send {
            dest: self.dest,
            tag: self.tag,
        };
        vec![self.comm.waits_in(operation, self.location)]
    }

    fn called(&self) -> Option<Called> {
        Some(Called::new("send", self.location))
    }
}

/// A message that was sent though there was no room for it; ends when there is, or when it has been
/// received.
struct SentBeyond<'c> {
    room: RoomOf<'c>,
    /// Gone when the message is.
    receipt: Weak<Receipt>,
}

impl PendingCall for SentBeyond<'_> {
    type Output = Result<(), CommError>;

    fn look(&mut self) -> Option<Self::Output> {
        let RoomOf { comm, dest, .. } = self.room;
        let to = comm.team().world_rank(dest);
        let fits = || comm.outstanding().is_none_or(|sent| sent.fits(to));
        let is_received = || self.receipt.upgrade().is_none_or(|it| it.is_signed());
        let ends = || fits() || is_received();
        if !ends() {
            comm.fabric().poll();
        }
        ends().then_some(Ok(()))
    }

    fn why(&self) -> Whys {
        self.room.why()
    }

    fn called(&self) -> Option<Called> {
        self.room.called()
    }
}
