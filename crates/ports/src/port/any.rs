//! A port without the type of its items.
//!
//! Most of what happens to a port is the same for items of all types: they are nodes in lists.
//! Where it calls nothing that knows the type it is the same machine code, too, of which the
//! compiler keeps one. So what needs the type, and is not on the way of each message, is called
//! through these traits and [`ByType`]. The state and the arbiters have ports in that form.

use super::PortCore;
use super::bound::Bound;
use super::direct::Items;
use super::pile::Front;
use super::state::PortState;
use crate::claim::Claim;
use crate::deferred::{Deferred, Keep, LetIn};
use crate::delivery::ItemBox;
use crate::domain::Domain;
use crate::receiver::Receiver;
use motet_dispatch::ClaimedRoom;
use motet_sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// A port whose type is not known any more.
pub(crate) trait AnyPort: Keep + LetIn {
    fn id(&self) -> u64;

    fn domain(&self) -> &Arc<Domain>;

    /// As [`PortCore::end_if_closed`].
    fn end_if_closed(&self);

    /// Whether it is closed and empty.
    fn has_ended(&self) -> bool;

    fn label(&self) -> String;

    fn item_count(&self) -> usize;

    /// How many items may wait; without a limit the greatest number.
    fn capacity(&self) -> usize;

    /// Items may wait without nodes from now on. The caller has the lock.
    fn set_bare(&self);

    /// As [`PortCore::close_and_unregister`].
    fn close_and_unregister(&self, claim: &Claim, receiver: *const ());

    /// As [`PortCore::unregister_at`].
    fn unregister_at(&self, receiver: *const ()) -> bool;

    /// As [`PortCore::serve_blocked`].
    fn serve_blocked(&self, receiver: usize, room: ClaimedRoom);
}

/// A port of `T`, through its table.
pub(crate) trait PortOf<T: Send + 'static>: AnyPort {
    fn core(self: Arc<Self>) -> Arc<PortCore<T>>;

    fn register(&self, receiver: Arc<dyn Receiver<T>>);

    /// As [`PortCore::bring_back`].
    fn bring_back(&self, parcel: ItemBox<T>);

    /// As [`PortCore::offer_again`].
    fn offer_again(
        &self,
        receiver: &Arc<dyn Receiver<T>>,
        begin: &dyn Fn(),
        wants: &dyn Fn() -> bool,
    );

    /// As [`PortCore::begin_pile`].
    fn begin_pile(&self) -> Option<&Arc<Front<T>>>;
}

/// What the state of a port needs the type of the items for, and seldom.
pub(super) struct ByType<T: Send + 'static> {
    pub(super) make_nodes: fn(&mut Items<T>, i64),
    pub(super) unpile_all: fn(&mut PortState<T>),
    pub(super) keep_on_pile: fn(&mut PortState<T>, ItemBox<T>),
    pub(super) drop_item: fn(&mut Bound<T>, ItemBox<T>, &mut Deferred),
    /// Tells a receiver of a closed port, once that is unlocked, that it has been taken off.
    pub(super) tell_ended: fn(Arc<dyn Receiver<T>>, &mut Deferred),
}

impl<T: Send + 'static> ByType<T> {
    pub(super) const TABLE: &'static Self = &ByType {
        make_nodes: Items::make_nodes,
        unpile_all: PortState::unpile_all,
        keep_on_pile: PortState::keep_on_pile,
        drop_item: Bound::drop_item,
        tell_ended: |receiver, deferred| deferred.call(move || receiver.ended()),
    };
}

impl<T: Send + 'static> AnyPort for PortCore<T> {
    fn id(&self) -> u64 {
        PortCore::id(self)
    }

    fn domain(&self) -> &Arc<Domain> {
        PortCore::domain(self)
    }

    fn end_if_closed(&self) {
        PortCore::end_if_closed(self);
    }

    fn has_ended(&self) -> bool {
        self.is_closed() && self.item_count() == 0
    }

    fn label(&self) -> String {
        PortCore::label(self)
    }

    fn item_count(&self) -> usize {
        PortCore::item_count(self)
    }

    fn capacity(&self) -> usize {
        let state = self.state();
        state.bound.as_ref().map_or(usize::MAX, |it| it.capacity())
    }

    fn set_bare(&self) {
        self.bare.store(true, Ordering::Relaxed);
    }

    fn close_and_unregister(&self, claim: &Claim, receiver: *const ()) {
        PortCore::close_and_unregister(self, claim, receiver);
    }

    fn unregister_at(&self, receiver: *const ()) -> bool {
        PortCore::unregister_at(self, receiver)
    }

    fn serve_blocked(&self, receiver: usize, room: ClaimedRoom) {
        PortCore::serve_blocked(self, receiver, room);
    }
}

impl<T: Send + 'static> PortOf<T> for PortCore<T> {
    fn core(self: Arc<Self>) -> Arc<PortCore<T>> {
        self
    }

    fn register(&self, receiver: Arc<dyn Receiver<T>>) {
        PortCore::register(self, receiver);
    }

    fn bring_back(&self, parcel: ItemBox<T>) {
        PortCore::bring_back(self, parcel);
    }

    fn offer_again(
        &self,
        receiver: &Arc<dyn Receiver<T>>,
        begin: &dyn Fn(),
        wants: &dyn Fn() -> bool,
    ) {
        PortCore::offer_again(self, receiver, begin, wants);
    }

    fn begin_pile(&self) -> Option<&Arc<Front<T>>> {
        PortCore::begin_pile(self)
    }
}

/// The port in a few words.
pub(crate) fn label<P: AnyPort + ?Sized>(port: &Weak<P>) -> String {
    let port = port.upgrade();
    port.map_or("a port that is gone".to_owned(), |port| port.label())
}

/// Brings a parcel back to where it stood in its port. If the port is gone, so is everyone who
/// could have asked for the item.
pub(crate) fn put_back<T, P>(port: &Weak<P>, parcel: ItemBox<T>)
where
    T: Send + 'static,
    P: PortOf<T> + ?Sized,
{
    if let Some(port) = port.upgrade() {
        port.bring_back(parcel);
    }
}
