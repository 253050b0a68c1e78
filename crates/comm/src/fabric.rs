//! Fabrics: what carries messages between ranks.
//!
//! A communicator is written against the trait [`Fabric`]. Which fabric it stands on is an enum,
//! [`AnyFabric`], so that types stay short and calls are direct. The simplest comes first:
//!
//! - `Solo`: one rank.
//! - `Ports`: ranks that post to each other's ports, which is easy to read.
//! - `Threads`: ranks that share memory, which is fast.
//! - `InReplay`: ranks whose order a seed decides.
//! - `RemoteFabric`: ranks of several processes.
//!
//! A fabric knows ranks of the world only. Which of them belong to a communicator, and where they
//! meet for collectives, says its [`Team`].

mod call;
mod combining_tree;
mod delegates;
mod entrances;
mod flag_barrier;
mod local_ranks;
mod look;
mod mail;
mod mailbox;
mod meeting_point;
mod network;
mod operators;
mod order;
mod pending_closes;
mod port_mailbox;
mod ports;
mod process_level;
mod processes;
mod published;
mod remote;
mod solo;
mod team;
mod threads;
mod tree_cell;

pub(crate) use call::{CollectiveArrival, RankCall};
pub use delegates::Asked;
pub(crate) use delegates::{Addressed, Take, numbered};
pub(crate) use entrances::{Door, Push};
pub(crate) use local_ranks::LocalRanks;
pub(crate) use mail::{Mail, Posted, PostedReceive, ReceivedValue, Signed};
pub(crate) use mailbox::NeighbourSteps;
pub(crate) use meeting_point::{MeetingPoint, MeetingPointKind};
pub(crate) use network::InReplay;
pub(crate) use operators::{Operators, TypedOperators};
pub(crate) use order::{BLOCK as FOLDED, RankRow, RankSpan, fold_rows};
pub(crate) use ports::Ports;
pub(crate) use process_level::Beside;
#[cfg(all(test, not(motet_loom)))]
pub(crate) use processes::tests::{FirstProcess, first_of_two};
pub(crate) use processes::{
    EarlyEnd, Later, Left, RunListeners, RunProcesses, ServerTurn, handshake,
};
pub(crate) use remote::RemoteFabric;
pub(crate) use solo::Solo;
pub(crate) use team::Team;
pub(crate) use threads::Threads;

pub(crate) use motet_values::ring::{Closer, Edge, RingEnds, Toward};

use crate::CommError;
use crate::any_cell;
use crate::envelope::{Envelope, Receipt, ReceivePattern, Sender};
use crate::rank_slot::RankSlot;
use motet_sync::atomic::{Ordering, fence};
use std::rc::Rc;
use std::sync::Arc;

/// One rank's access to what carries its messages. Ranks are those of the world.
pub(crate) trait Fabric {
    /// Where this rank's messages are.
    type Mail: Mail;

    /// The rank.
    fn world_rank(&self) -> usize;

    /// The place where this rank waits.
    fn slot(&self) -> &RankSlot;

    /// Whether two ranks take turns on one thread.
    fn share_thread(&self, one: usize, other: usize) -> bool;

    /// The place where another rank waits.
    fn slot_of(&self, rank: usize) -> &RankSlot;

    /// Wakes a rank if it sleeps. Called after something was brought to it, and after a fence
    /// unless this rank shares a thread with it.
    #[inline]
    fn wake_if_sleeping(&self, rank: usize) {
        self.slot_of(rank).wake_if_sleeping();
    }

    /// This rank's messages.
    fn mail(&self) -> &Self::Mail;

    /// Carries a message to a rank that exists. Never waits. `message` only lays out what has been
    /// made, where it shall lie: it is called once, perhaps under a lock.
    ///
    /// # Errors
    /// [`CommError::Unportable`] from a fabric that has to write the value.
    fn send(&self, to: usize, message: impl FnOnce() -> Envelope) -> Result<(), CommError>;

    /// Says to its sender that a message has been received.
    fn sign(&self, receipt: &Receipt) {
        if let Sender::Here(rank) = receipt.sign() {
            fence(Ordering::SeqCst);
            self.wake_if_sleeping(rank);
        }
    }

    /// Says so of several; there are seldom any.
    #[inline]
    fn sign_all(&self, receipts: Signed) {
        #[cold]
        #[inline(never)]
        fn sign_some<F: Fabric + ?Sized>(fabric: &F, receipts: &[Arc<Receipt>]) {
            receipts.iter().for_each(|receipt| fabric.sign(receipt));
        }
        if !receipts.is_empty() {
            sign_some(self, &receipts);
        }
    }

    /// Looks for messages that this rank may wait for, where they do not come by themselves.
    #[inline]
    fn poll(&self) {}

    /// This rank, which has looked for messages, is about to sleep.
    fn sleeps(&self) {}

    /// A number that changes with each message that comes to this rank.
    #[inline]
    fn arrivals(&self) -> u32 {
        self.mail().arrivals()
    }

    /// Takes the oldest message that is wanted, or posts a receive for it.
    #[inline]
    fn post(&self, wanted: &ReceivePattern) -> Posted {
        self.signing(|mail, signed| mail.post(wanted, signed))
    }

    /// As [`Fabric::post`]; what `at_hand` takes out of the message where that lies need not be
    /// opened.
    #[inline]
    fn post_at_hand<V>(
        &self,
        wanted: &ReceivePattern,
        at_hand: impl FnOnce(&mut Envelope) -> Option<V>,
    ) -> Result<ReceivedValue<V>, PostedReceive> {
        self.signing(|mail, signed| mail.post_at_hand(wanted, signed, at_hand))
    }

    /// Posts a receive for later. If the oldest message that is wanted is there, it is the
    /// receive's from now on. It is somebody else's if the receive is given up.
    fn request(&self, wanted: &ReceivePattern) -> PostedReceive {
        self.signing(|mail, signed| mail.request(wanted, signed))
    }

    /// What a posted receive has got; the receive is then over.
    #[inline]
    fn collect(&self, ticket: &mut PostedReceive) -> Option<Envelope> {
        self.mail().collect(ticket)
    }

    /// Gives a posted receive up. What it had got is there again. Then the answer is `false`, and
    /// this rank is woken: it may sleep in another receive, which gets the message.
    fn withdraw(&self, ticket: PostedReceive) -> bool {
        let was_free = self.signing(|mail, signed| mail.withdraw(ticket, signed));
        if !was_free {
            self.slot().wake_if_sleeping();
        }
        was_free
    }

    /// Nobody waits for what a posted receive gets: it is dropped, now or when it comes.
    fn leave(&self, ticket: PostedReceive) {
        self.mail().leave(ticket);
    }

    /// Brings an envelope back that was received and could not be used; this rank is woken, as
    /// above.
    fn put_back(&self, envelope: Envelope) {
        self.signing(|mail, signed| mail.put_back(envelope, signed));
        self.slot().wake_if_sleeping();
    }

    /// Shows `look` the oldest message that is wanted, and leaves it there.
    fn peek<R>(&self, wanted: &ReceivePattern, look: impl FnOnce(&Envelope) -> R) -> Option<R> {
        self.mail().peek(wanted, look)
    }

    /// Drops all messages that are wanted and wait for a receive.
    fn clear(&self, wanted: &ReceivePattern) {
        self.mail().clear(wanted);
    }

    /// Does something with this rank's messages, and tells those whose messages receives have got
    /// by it.
    #[inline]
    fn signing<R>(&self, act: impl FnOnce(&Self::Mail, &mut Signed) -> R) -> R {
        let mut signed = Signed::new();
        let result = act(self.mail(), &mut signed);
        self.sign_all(signed);
        result
    }

    /// The ring to or from `peer` is gone for good. The peer is told when the rank waits next: a
    /// rank that ends, well or not, has the run say so. One rank alone has nobody to tell.
    fn close_later(&self, _peer: usize, _closer: Closer) {}

    /// Numbers for so many new communicators; the first of them.
    fn new_communicators(&self, count: u32) -> u32;
}

/// The fabrics there are. Small: each communicator of each rank holds one.
#[derive(Clone)]
pub(crate) enum AnyFabric {
    Solo(Solo),
    Threads(Threads),
    Ports(Ports),
    InReplay(InReplay),
    Remote(Rc<RemoteFabric>),
}

/// Calls the same method of whichever fabric it is.
macro_rules! each_fabric {
    ($self:ident, $fabric:ident => $call:expr) => {
        match $self {
            AnyFabric::Solo($fabric) => $call,
            AnyFabric::Threads($fabric) => $call,
            AnyFabric::Ports($fabric) => $call,
            AnyFabric::InReplay($fabric) => $call,
            AnyFabric::Remote($fabric) => $call,
        }
    };
}

impl AnyFabric {
    /// Whether all ranks of the world share memory.
    pub(crate) fn is_shared(&self) -> bool {
        !matches!(self, AnyFabric::Remote(_))
    }

    /// What this rank shares with the others here, its place there, and how a message comes there
    /// from another thread. `None` for one rank on the calling thread.
    pub(crate) fn inside(&self) -> Option<(&Arc<LocalRanks>, usize, Push)> {
        match self {
            AnyFabric::Solo(_) => None,
            AnyFabric::Threads(threads) => Some(threads.inside()),
            AnyFabric::Ports(ports) => Some(ports.inside()),
            AnyFabric::InReplay(replayed) => Some(replayed.inside()),
            AnyFabric::Remote(remote) => Some(remote.here().inside()),
        }
    }

    /// The fabric, if the rank `rank` of the world lives in another process.
    pub(crate) fn beyond(&self, rank: usize) -> Option<&RemoteFabric> {
        match self {
            AnyFabric::Remote(remote) if !remote.is_here(rank) => Some(remote),
            _ => None,
        }
    }
}

/// As [`Fabric`] has them.
impl AnyFabric {
    #[inline]
    pub(crate) fn world_rank(&self) -> usize {
        each_fabric!(self, fabric => fabric.world_rank())
    }

    #[inline]
    pub(crate) fn slot(&self) -> &RankSlot {
        each_fabric!(self, fabric => fabric.slot())
    }

    pub(crate) fn share_thread(&self, one: usize, other: usize) -> bool {
        each_fabric!(self, fabric => fabric.share_thread(one, other))
    }

    #[inline]
    pub(crate) fn slot_of(&self, rank: usize) -> &RankSlot {
        each_fabric!(self, fabric => fabric.slot_of(rank))
    }

    pub(crate) fn wake_if_sleeping(&self, rank: usize) {
        each_fabric!(self, fabric => fabric.wake_if_sleeping(rank));
    }

    #[inline]
    pub(crate) fn send(
        &self,
        to: usize,
        message: impl FnOnce() -> Envelope,
    ) -> Result<(), CommError> {
        each_fabric!(self, fabric => fabric.send(to, message))
    }

    pub(crate) fn sign(&self, receipt: &Receipt) {
        each_fabric!(self, fabric => fabric.sign(receipt));
    }

    #[inline]
    pub(crate) fn poll(&self) {
        each_fabric!(self, fabric => fabric.poll());
    }

    pub(crate) fn sleeps(&self) {
        each_fabric!(self, fabric => fabric.sleeps());
    }

    #[inline]
    pub(crate) fn arrivals(&self) -> u32 {
        each_fabric!(self, fabric => fabric.arrivals())
    }

    #[inline]
    pub(crate) fn post(&self, wanted: &ReceivePattern) -> Posted {
        each_fabric!(self, fabric => fabric.post(wanted))
    }

    #[inline]
    pub(crate) fn post_at_hand<V>(
        &self,
        wanted: &ReceivePattern,
        at_hand: impl FnOnce(&mut Envelope) -> Option<V>,
    ) -> Result<ReceivedValue<V>, PostedReceive> {
        each_fabric!(self, fabric => fabric.post_at_hand(wanted, at_hand))
    }

    /// As [`Mail::is_clear`], of this rank.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        each_fabric!(self, fabric => fabric.mail().is_clear())
    }

    pub(crate) fn request(&self, wanted: &ReceivePattern) -> PostedReceive {
        each_fabric!(self, fabric => fabric.request(wanted))
    }

    #[inline]
    pub(crate) fn collect(&self, ticket: &mut PostedReceive) -> Option<Envelope> {
        each_fabric!(self, fabric => fabric.collect(ticket))
    }

    pub(crate) fn withdraw(&self, ticket: PostedReceive) -> bool {
        each_fabric!(self, fabric => fabric.withdraw(ticket))
    }

    pub(crate) fn leave(&self, ticket: PostedReceive) {
        each_fabric!(self, fabric => fabric.leave(ticket));
    }

    pub(crate) fn put_back(&self, envelope: Envelope) {
        each_fabric!(self, fabric => fabric.put_back(envelope));
    }

    pub(crate) fn peek<R>(
        &self,
        wanted: &ReceivePattern,
        look: impl FnOnce(&Envelope) -> R,
    ) -> Option<R> {
        each_fabric!(self, fabric => fabric.peek(wanted, look))
    }

    pub(crate) fn clear(&self, wanted: &ReceivePattern) {
        each_fabric!(self, fabric => fabric.clear(wanted));
    }

    pub(crate) fn close_later(&self, peer: usize, closer: Closer) {
        each_fabric!(self, fabric => fabric.close_later(peer, closer));
    }

    pub(crate) fn new_communicators(&self, count: u32) -> u32 {
        each_fabric!(self, fabric => fabric.new_communicators(count))
    }
}
