//! Fabrics: what carries messages between ranks.
//!
//! A communicator is written against the trait [`Fabric`]; which one it stands on is an enum,
//! [`AnyFabric`], so that types stay short and calls are direct. The simplest comes first: `Solo`, one
//! rank; then `Threads`, ranks that share memory.

mod any_cell;
mod farewells;
mod hall;
mod lane;
mod meeting;
mod solo;
mod threads;

pub(crate) use farewells::Farewells;
pub(crate) use hall::Hall;
pub(crate) use lane::{Closer, Lane, LaneReceiver, LaneSender};
pub(crate) use solo::Solo;
pub(crate) use threads::Threads;

use crate::CommError;
use crate::envelope::{Envelope, Wanted};
use crate::rank_slot::RankSlot;
use crate::report::Wait;

/// One rank's access to what carries its messages.
pub(crate) trait Fabric {
    /// The rank.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// The place where this rank waits.
    fn slot(&self) -> &RankSlot;

    /// Whether this rank and `other` take turns on one thread.
    fn shares_thread_with(&self, other: usize) -> bool;

    /// Wakes a rank if it sleeps. Called after something was brought to it, and after a fence unless
    /// this rank shares a thread with it.
    fn wake_if_sleeping(&self, rank: usize);

    /// Carries an envelope to a rank that exists. Never waits.
    fn send(&self, to: usize, envelope: Envelope);

    /// Waits for an envelope that is wanted and takes it.
    async fn recv(&self, wanted: &Wanted, wait: Wait) -> Envelope;

    /// The lane to or from `peer` is gone for good. The peer is told when the rank waits next: a rank that
    /// ends, well or not, has the run say so. One rank alone has nobody to tell.
    fn farewell(&self, _peer: usize, _closer: Closer) {}

    /// Brings an envelope back that was received and could not be used.
    fn put_back(&self, envelope: Envelope);

    /// All ranks meet: each brings a value, every rank gets the values combined in rank order.
    async fn meet_all<T: Clone + Send + Sync + 'static>(
        &self,
        wait: Wait,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<T, CommError>;

    /// All ranks meet; only `root` gets the combined value.
    async fn meet_at<T: Send + 'static>(
        &self,
        root: usize,
        wait: Wait,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, CommError>;
}

/// The fabrics there are.
pub(crate) enum AnyFabric {
    Solo(Solo),
    Threads(Threads),
}

/// Calls the same method of whichever fabric it is.
macro_rules! each_fabric {
    ($self:ident, $fabric:ident => $call:expr) => {
        match $self {
            AnyFabric::Solo($fabric) => $call,
            AnyFabric::Threads($fabric) => $call,
        }
    };
}

impl Fabric for AnyFabric {
    #[inline]
    fn rank(&self) -> usize {
        each_fabric!(self, fabric => fabric.rank())
    }

    #[inline]
    fn size(&self) -> usize {
        each_fabric!(self, fabric => fabric.size())
    }

    #[inline]
    fn slot(&self) -> &RankSlot {
        each_fabric!(self, fabric => fabric.slot())
    }

    fn shares_thread_with(&self, other: usize) -> bool {
        each_fabric!(self, fabric => fabric.shares_thread_with(other))
    }

    #[inline]
    fn wake_if_sleeping(&self, rank: usize) {
        each_fabric!(self, fabric => fabric.wake_if_sleeping(rank));
    }

    fn send(&self, to: usize, envelope: Envelope) {
        each_fabric!(self, fabric => fabric.send(to, envelope));
    }

    async fn recv(&self, wanted: &Wanted, wait: Wait) -> Envelope {
        each_fabric!(self, fabric => fabric.recv(wanted, wait).await)
    }

    fn farewell(&self, peer: usize, closer: Closer) {
        each_fabric!(self, fabric => fabric.farewell(peer, closer));
    }

    fn put_back(&self, envelope: Envelope) {
        each_fabric!(self, fabric => fabric.put_back(envelope));
    }

    async fn meet_all<T: Clone + Send + Sync + 'static>(
        &self,
        wait: Wait,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<T, CommError> {
        each_fabric!(self, fabric => fabric.meet_all(wait, value, combine).await)
    }

    async fn meet_at<T: Send + 'static>(
        &self,
        root: usize,
        wait: Wait,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, CommError> {
        each_fabric!(self, fabric => fabric.meet_at(root, wait, value, combine).await)
    }
}
