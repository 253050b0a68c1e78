//! What every fabric keeps for a rank: its messages, and its receives that wait.

use super::mailbox::MailTicket;
use super::port_mailbox::PortTicket;
use crate::address::Status;
use crate::envelope::{Envelope, Receipt, ReceivePattern};
use crate::report::Unmatched;
use std::sync::Arc;

/// The messages of one rank that nobody has received, and its receives that wait. What happens to
/// it may let receives get messages, whose receipts are then to be
/// [signed](super::Fabric::sign_all); no lock is held meanwhile.
pub(crate) trait Mail {
    /// A message arrives, which `message` lays out: it is called once, perhaps under a lock. Its
    /// receiver is to be woken.
    fn push(&self, message: impl FnOnce() -> Envelope, signed: &mut Signed);

    /// A number that changes with each message that comes.
    fn arrivals(&self) -> u32;

    /// As [`super::Fabric::post`].
    fn post(&self, wanted: &ReceivePattern, signed: &mut Signed) -> Posted;

    /// As [`super::Fabric::post_at_hand`]. `at_hand` is called under a lock, if at all: it only
    /// moves.
    #[inline]
    fn post_at_hand<V>(
        &self,
        wanted: &ReceivePattern,
        signed: &mut Signed,
        _at_hand: impl FnOnce(&mut Envelope) -> Option<V>,
    ) -> Result<ReceivedValue<V>, PostedReceive> {
        self.post(wanted, signed).map(ReceivedValue::Message)
    }

    /// Whether no message is here and no receive waits, as far as the rank's own acts go; `false`
    /// where that is not known.
    #[inline]
    fn is_clear(&self) -> bool {
        false
    }

    /// As [`super::Fabric::request`].
    fn request(&self, wanted: &ReceivePattern, signed: &mut Signed) -> PostedReceive;

    /// As [`super::Fabric::collect`].
    fn collect(&self, ticket: &mut PostedReceive) -> Option<Envelope>;

    /// As [`super::Fabric::withdraw`]; after `false` this rank is to be woken.
    fn withdraw(&self, ticket: PostedReceive, signed: &mut Signed) -> bool;

    /// As [`super::Fabric::leave`].
    fn leave(&self, ticket: PostedReceive);

    /// Brings a message back that nobody could use, as if it had not been taken. It goes to the
    /// oldest receive that waits for it or has got a younger one, or to its old place. A receive
    /// with a narrower tag may have taken it past older ones.
    ///
    /// The rank whose messages these are, which is the only one to call this, may sleep in another
    /// receive: it is to be woken.
    fn put_back(&self, envelope: Envelope, signed: &mut Signed);

    /// As [`super::Fabric::peek`].
    fn peek<R>(&self, wanted: &ReceivePattern, look: impl FnOnce(&Envelope) -> R) -> Option<R>;

    /// As [`super::Fabric::clear`].
    fn clear(&self, wanted: &ReceivePattern);

    /// The program's messages to rank `dest` that nobody has received, also those that wait in a
    /// posted receive; at most so many.
    fn unmatched(&self, dest: usize, most: usize) -> Vec<Unmatched>;
}

/// Receipts of messages that posted receives have got: their senders are to be told, when no lock
/// is held.
pub(crate) type Signed = Vec<Arc<Receipt>>;

/// What a receive has got.
pub(crate) enum ReceivedValue<V> {
    /// What has been taken out of the message, and what was written on it.
    AtHand(V, Status),
    Message(Envelope),
}

/// What comes of posting a receive: the message, or a ticket for it.
pub(crate) type Posted = Result<Envelope, PostedReceive>;

/// A posted receive.
pub(crate) enum PostedReceive {
    /// In a mailbox.
    Mail(MailTicket),
    /// At a port.
    Port(Box<PortTicket>),
}

impl PostedReceive {
    #[inline]
    pub(super) fn in_mailbox(&mut self) -> &mut MailTicket {
        match self {
            PostedReceive::Mail(ticket) => ticket,
            PostedReceive::Port(_) => unreachable!("the receive was posted in a mailbox"),
        }
    }
}
