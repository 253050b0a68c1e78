//! Fabrics: what carries messages between ranks.
//!
//! A communicator is written against the trait [`Fabric`]; which one it stands on is an enum,
//! [`AnyFabric`], so that types stay short and calls are direct. The simplest comes first: `Solo`, one
//! rank; then `Ports`, ranks that post to each other's ports, which is easy to read; `Threads`, ranks that
//! share memory, which is fast; and `Remote`, ranks of several processes.
//!
//! A fabric knows ranks of the world only. Which of them belong to a communicator, and where they meet for
//! collectives, says its [`Team`].

mod any_cell;
mod bridge;
mod call;
mod desk;
mod farewells;
mod hall;
mod lane;
mod look;
mod meeting;
mod place;
mod ports;
mod processes;
mod remote;
mod solo;
mod team;
mod threads;

pub(crate) use call::Call;
pub(crate) use farewells::Farewells;
pub(crate) use hall::Hall;
pub(crate) use lane::{Closer, Lane, LaneReceiver, LaneSender};
pub(crate) use place::{Agenda, Place, PlaceKind};
pub(crate) use ports::Ports;
pub(crate) use processes::{Ending, Later, Processes, Told, greet};
pub(crate) use remote::Remote;
pub(crate) use solo::Solo;
pub(crate) use team::Team;
pub(crate) use threads::Threads;

use crate::CommError;
use crate::envelope::{Envelope, Receipt, Sender, Wanted};
use crate::mailbox::MailTicket;
use crate::rank_slot::RankSlot;
use motet_sync::atomic::{Ordering, fence};
use std::sync::Arc;

/// One rank's access to what carries its messages. Ranks are those of the world.
pub(crate) trait Fabric {
    /// The rank.
    fn world_rank(&self) -> usize;

    /// The place where this rank waits.
    fn slot(&self) -> &RankSlot;

    /// Whether two ranks take turns on one thread.
    fn share_thread(&self, one: usize, other: usize) -> bool;

    /// The place where another rank waits.
    fn slot_of(&self, rank: usize) -> &RankSlot;

    /// Wakes a rank if it sleeps. Called after something was brought to it, and after a fence unless
    /// this rank shares a thread with it.
    #[inline]
    fn wake_if_sleeping(&self, rank: usize) {
        self.slot_of(rank).wake_if_sleeping();
    }

    /// Carries an envelope to a rank that exists. Never waits.
    ///
    /// # Errors
    /// [`CommError::Unportable`] from a fabric that has to write the value.
    fn send(&self, to: usize, envelope: Envelope) -> Result<(), CommError>;

    /// Says to its sender that a message has been received.
    fn sign(&self, receipt: &Receipt) {
        if let Sender::Here(rank) = receipt.sign() {
            fence(Ordering::SeqCst);
            self.wake_if_sleeping(rank);
        }
    }

    /// Says so of several.
    #[inline]
    fn sign_all(&self, receipts: impl IntoIterator<Item = Arc<Receipt>>) {
        receipts.into_iter().for_each(|receipt| self.sign(&receipt));
    }

    /// Looks for messages that this rank may wait for, where they do not come by themselves.
    #[inline]
    fn poll(&self) {}

    /// A number that changes with each message that comes to this rank.
    fn arrivals(&self) -> u32;

    /// Takes the oldest message that is wanted, or posts a receive for it.
    fn post(&self, wanted: &Wanted) -> Posted;

    /// Posts a receive for later: the oldest message that is wanted, if it is there, is the receive's from now
    /// on, and somebody else's if the receive is given up.
    fn request(&self, wanted: &Wanted) -> Ticket;

    /// What a posted receive has got; the receive is then over.
    fn collect(&self, ticket: &mut Ticket) -> Option<Envelope>;

    /// Gives a posted receive up. What it had got is there again; then the answer is `false`, and this rank
    /// is woken: it may sleep in another receive, which gets the message.
    fn withdraw(&self, ticket: Ticket) -> bool;

    /// The lane to or from `peer` is gone for good. The peer is told when the rank waits next: a rank that
    /// ends, well or not, has the run say so. One rank alone has nobody to tell.
    fn farewell(&self, _peer: usize, _closer: Closer) {}

    /// Brings an envelope back that was received and could not be used; this rank is woken, as above.
    fn put_back(&self, envelope: Envelope);

    /// Shows `look` the oldest message that is wanted, and leaves it there.
    fn peek<R>(&self, wanted: &Wanted, look: impl FnOnce(&Envelope) -> R) -> Option<R>;

    /// Numbers for so many new communicators; the first of them.
    fn new_communicators(&self, count: u32) -> u32;
}

/// What comes of posting a receive: the message, or a ticket for it.
pub(crate) type Posted = Result<Envelope, Ticket>;

/// A posted receive.
pub(crate) enum Ticket {
    /// In a mailbox.
    Mail(MailTicket),
    /// At a port.
    Port(Box<desk::PortTicket>),
}

/// The fabrics there are.
#[derive(Clone)]
pub(crate) enum AnyFabric {
    Solo(Solo),
    Threads(Threads),
    Ports(Ports),
    Remote(Remote),
}

/// Calls the same method of whichever fabric it is.
macro_rules! each_fabric {
    ($self:ident, $fabric:ident => $call:expr) => {
        match $self {
            AnyFabric::Solo($fabric) => $call,
            AnyFabric::Threads($fabric) => $call,
            AnyFabric::Ports($fabric) => $call,
            AnyFabric::Remote($fabric) => $call,
        }
    };
}

impl AnyFabric {
    /// Whether all ranks of the world share memory.
    pub(crate) fn is_shared(&self) -> bool {
        !matches!(self, AnyFabric::Remote(_))
    }

    /// The fabric, if the rank `rank` of the world lives in another process.
    pub(crate) fn beyond(&self, rank: usize) -> Option<&Remote> {
        match self {
            AnyFabric::Remote(remote) if !remote.is_here(rank) => Some(remote),
            _ => None,
        }
    }
}

impl Fabric for AnyFabric {
    #[inline]
    fn world_rank(&self) -> usize {
        each_fabric!(self, fabric => fabric.world_rank())
    }

    #[inline]
    fn slot(&self) -> &RankSlot {
        each_fabric!(self, fabric => fabric.slot())
    }

    fn share_thread(&self, one: usize, other: usize) -> bool {
        each_fabric!(self, fabric => fabric.share_thread(one, other))
    }

    #[inline]
    fn slot_of(&self, rank: usize) -> &RankSlot {
        each_fabric!(self, fabric => fabric.slot_of(rank))
    }

    fn wake_if_sleeping(&self, rank: usize) {
        each_fabric!(self, fabric => fabric.wake_if_sleeping(rank));
    }

    #[inline]
    fn send(&self, to: usize, envelope: Envelope) -> Result<(), CommError> {
        each_fabric!(self, fabric => fabric.send(to, envelope))
    }

    fn sign(&self, receipt: &Receipt) {
        each_fabric!(self, fabric => fabric.sign(receipt));
    }

    #[inline]
    fn poll(&self) {
        each_fabric!(self, fabric => fabric.poll());
    }

    #[inline]
    fn arrivals(&self) -> u32 {
        each_fabric!(self, fabric => fabric.arrivals())
    }

    #[inline]
    fn post(&self, wanted: &Wanted) -> Posted {
        each_fabric!(self, fabric => fabric.post(wanted))
    }

    fn request(&self, wanted: &Wanted) -> Ticket {
        each_fabric!(self, fabric => fabric.request(wanted))
    }

    #[inline]
    fn collect(&self, ticket: &mut Ticket) -> Option<Envelope> {
        each_fabric!(self, fabric => fabric.collect(ticket))
    }

    fn withdraw(&self, ticket: Ticket) -> bool {
        each_fabric!(self, fabric => fabric.withdraw(ticket))
    }

    fn farewell(&self, peer: usize, closer: Closer) {
        each_fabric!(self, fabric => fabric.farewell(peer, closer));
    }

    fn put_back(&self, envelope: Envelope) {
        each_fabric!(self, fabric => fabric.put_back(envelope));
    }

    fn peek<R>(&self, wanted: &Wanted, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        each_fabric!(self, fabric => fabric.peek(wanted, look))
    }

    fn new_communicators(&self, count: u32) -> u32 {
        each_fabric!(self, fabric => fabric.new_communicators(count))
    }
}
