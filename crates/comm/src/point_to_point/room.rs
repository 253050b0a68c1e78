//! Sends under a limit: whether there is room for a message, and the wait for it.

use crate::address::{Dest, Tag};
use crate::envelope::{Envelope, Kind, Receipt};
use crate::limit::{Limit, Outstanding, SendOverflow};
use crate::pending::{Pending, Waiting, Whys};
use crate::profile::Called;
use crate::report::Operation;
use crate::{CommError, Communicator};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;

impl Communicator {
    /// Whether a send to `dest` has to wait, or to say that it cannot.
    fn is_full(&self, dest: Dest) -> Option<&Outstanding> {
        let Dest::Rank(rank) = dest else {
            return None;
        };
        let outstanding = self.outstanding()?;
        let full = rank < self.size() && {
            self.fabric().poll();
            !outstanding.has_room(self.team().world_rank(rank))
        };
        full.then_some(outstanding)
    }

    /// Whether a send to `dest` is to end when its message has been received, as there is no room
    /// for it.
    pub(crate) fn waits_for_room(&self, dest: Dest) -> bool {
        let full = self.is_full(dest);
        full.is_some_and(|outstanding| outstanding.limit.overflow == SendOverflow::Wait)
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
            Box::pin(Waiting::new(self.spot(), room)) as Pin<Box<dyn Future<Output = ()>>>
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
        if envelope.context.kind == Kind::User {
            let Limit { messages, overflow } = outstanding.limit;
            // One that waits for its receipt is not alone in its room.
            let is_synchronous = envelope.receipt.is_some();
            if overflow == SendOverflow::Reject
                && !is_synchronous
                && self.is_full(Dest::Rank(dest)).is_some()
            {
                return Err(CommError::Full { dest, messages });
            }
            let own = || Arc::new(Receipt::new(self.fabric().world_rank()));
            let receipt = envelope.receipt.get_or_insert_with(own);
            outstanding.add(to, receipt);
        }
        self.fabric().send(to, || envelope)
    }
}

/// A send that waits until one more message may wait at its receiver.
struct RoomOf<'c> {
    comm: &'c Communicator,
    dest: usize,
    tag: Tag,
    location: &'static Location<'static>,
}

impl Pending for RoomOf<'_> {
    type Output = ();

    fn look(&mut self) -> Option<()> {
        let full = self.comm.is_full(Dest::Rank(self.dest)).is_some();
        (!full).then_some(())
    }

    fn why(&self) -> Whys {
        let operation = Operation::Send {
            dest: self.dest,
            tag: self.tag,
        };
        vec![self.comm.waits_in(operation, self.location)]
    }

    fn called(&self) -> Option<Called> {
        Some(Called::new("send", self.location))
    }
}
