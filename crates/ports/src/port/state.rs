//! What a port holds, and what happens to it under the port's lock.

use super::any::{ByType, PortOf};
use super::blocked_receiver::BlockedReceiver;
use super::bound::Bound;
use super::counters::TurnedAway;
use super::direct::Items;
use super::pile::{ENOUGH, Pile};
use crate::deferred::Deferred;
use crate::delivery::{ItemBox, ItemDelivery, item_of};
use crate::direct_delivery::DirectDelivery;
use crate::port_items::End;
use crate::receiver::{Offer, Receiver, Verdict};
use crate::stamps::{ItemEntry, Stamps};
use crate::{PostError, PostRefusal};
use motet_dispatch::BoxList;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// What each post writes comes first, then what it reads; see [`Inside`](super::Inside).
#[repr(C)]
pub(crate) struct PortState<T: Send + 'static> {
    pub(super) stamps: Stamps,
    /// Those that do not lie on the pile, which are older.
    pub(super) items: Items<T>,
    /// There while the port has one receiver, who wants everything: where that goes.
    pub(super) direct: Option<DirectDelivery<T>>,
    /// In the order in which they are asked.
    pub(super) receivers: VecDeque<Arc<dyn Receiver<T>>>,
    /// There when the capacity is limited.
    pub(super) bound: Option<Box<Bound<T>>>,
    /// There while items lie on it.
    pub(super) pile: Option<Box<Pile<T>>>,
    /// Receivers that wait for room in their queues, to be offered the waiting items.
    pub(super) blocked: Vec<Weak<dyn Receiver<T>>>,
    pub(super) this: Weak<dyn PortOf<T>>,
    pub(super) by_type: &'static ByType<T>,
    /// The port has a domain.
    pub(super) joined: bool,
    pub(super) turned_away: TurnedAway,
}

/// A parcel that could not be placed. It has two words, for they are returned in registers. The
/// queue of the receiver that wanted it, when room there can be waited for, stays with what is
/// deferred.
pub(super) struct Refusal<T: Send + 'static> {
    pub(super) parcel: ItemBox<T>,
    pub(super) reason: PostRefusal,
}

impl<T: Send + 'static> PortState<T> {
    pub(super) fn new(bound: Option<Box<Bound<T>>>, this: Weak<dyn PortOf<T>>) -> Self {
        PortState {
            items: Items::Nodes(BoxList::new()),
            direct: None,
            joined: false,
            pile: None,
            receivers: VecDeque::new(),
            blocked: Vec::new(),
            bound,
            this,
            by_type: ByType::TABLE,
            stamps: Stamps::default(),
            turned_away: TurnedAway::default(),
        }
    }

    /// The state of the same port with nothing in it.
    pub(super) fn emptied(&self) -> Self {
        PortState::new(None, Weak::clone(&self.this))
    }

    /// Whether nothing is in it that could have a destructor.
    pub(super) fn is_bare(&self) -> bool {
        let items = self.items.len() > 0 || self.pile.is_some();
        !items && self.receivers.is_empty() && self.blocked.is_empty() && self.bound.is_none()
    }

    /// Whether the port has a handle.
    pub(crate) fn is_there(&self) -> bool {
        self.this.strong_count() > 0
    }

    /// Offers the parcel to the receivers; keeps it if none takes it.
    #[inline]
    pub(super) fn place(
        &mut self,
        parcel: ItemBox<T>,
        entry: ItemEntry,
        deferred: &mut Deferred,
    ) -> Result<(), Refusal<T>> {
        match self.offer(parcel, entry, true, deferred)? {
            None => {
                self.let_in_later(deferred);
                Ok(())
            }
            Some(parcel) => self.keep(parcel, entry, deferred),
        }
    }

    /// Offers the parcel to the receivers; keeps it if none takes it, whatever the capacity.
    pub(super) fn place_always(
        &mut self,
        parcel: ItemBox<T>,
        entry: ItemEntry,
        deferred: &mut Deferred,
    ) {
        if matches!(entry, ItemEntry::Posted) && self.is_closed() {
            return deferred.discard(parcel.into_task());
        }
        self.place_somewhere(parcel, entry, deferred);
        self.let_in_later(deferred);
    }

    /// As [`PortState::place_always`], for who lets posters in himself.
    pub(super) fn place_somewhere(
        &mut self,
        parcel: ItemBox<T>,
        entry: ItemEntry,
        deferred: &mut Deferred,
    ) {
        if matches!(entry, ItemEntry::First) {
            self.turned_away.comes_back();
        }
        let left = match self.offer(parcel, entry, false, deferred) {
            Ok(left) => left,
            Err(refusal) => Some(refusal.parcel),
        };
        if let Some(parcel) = left {
            self.insert(parcel, entry);
        }
    }

    /// Brings items that were taken together back to the front, in their order. Then receivers are
    /// offered all that waits, oldest first.
    pub(crate) fn bring_to_front(&mut self, parcels: Vec<ItemBox<T>>, deferred: &mut Deferred) {
        for mut parcel in parcels.into_iter().rev() {
            self.turned_away.comes_back();
            // First: by the last stamp those in a row get theirs.
            self.items.nodes(self.stamps.last(), self.by_type);
            self.stamps.stamp(&mut parcel.stamp, ItemEntry::First);
            self.insert(parcel, ItemEntry::First);
        }
        let receivers: Vec<_> = self.receivers().map(Arc::clone).collect();
        for receiver in receivers {
            if !self.offer_waiting(&receiver, deferred) {
                let left = self.remove(&*receiver);
                left.into_iter().for_each(|it| deferred.drop_later(it));
            }
            deferred.drop_later(receiver);
        }
        self.let_in_later(deferred);
    }

    /// Offers the parcel to the receivers; gives it back if none takes it. If it is not
    /// `refusable`, those whose queues have no room are passed by.
    #[inline]
    fn offer(
        &mut self,
        mut parcel: ItemBox<T>,
        entry: ItemEntry,
        refusable: bool,
        deferred: &mut Deferred,
    ) -> Result<Option<ItemBox<T>>, Refusal<T>> {
        // First: by the last stamp those in a row get theirs.
        let items = self.items.nodes(self.stamps.last(), self.by_type);
        let end = self.stamps.stamp(&mut parcel.stamp, entry);
        if self.receivers.is_empty() {
            return Ok(Some(parcel));
        }
        let mut offer = Offer::new(parcel, end, items, deferred);
        let (mut at, before) = (0, self.receivers.len());
        while let Some(receiver) = self.receivers.get(at) {
            let verdict = receiver.offer(&mut offer);
            if let Verdict::Refuse(reason) = verdict
                && refusable
            {
                self.turned_away.count();
                let parcel = offer.into_parcel().expect("a refused item was not taken");
                let reason = self.refusal_of(reason);
                if self.receivers.len() != before {
                    self.receivers_changed();
                }
                return Err(Refusal { parcel, reason });
            }
            if offer.deferred().has_full()
                && let Some(queue) = offer.deferred().take_full()
            {
                // It would have taken this item, or more of those that wait.
                let blocked = BlockedReceiver::new(receiver, queue);
                blocked.line_up(&mut self.blocked, &self.this, offer.deferred());
            }
            if offer.receiver_leaves() {
                let receiver = self.receivers.remove(at);
                receiver
                    .into_iter()
                    .for_each(|receiver| offer.drop_later(receiver));
            } else {
                at += 1;
            }
            if verdict == Verdict::Accept {
                break;
            }
        }
        let left = offer.into_parcel();
        if self.receivers.len() != before {
            self.receivers_changed();
        }
        Ok(left)
    }

    /// Keeps a parcel whatever the capacity.
    #[inline]
    pub(super) fn insert(&mut self, parcel: ItemBox<T>, entry: ItemEntry) {
        match entry {
            ItemEntry::Posted if self.items.len() >= ENOUGH || self.pile.is_some() => {
                (self.by_type.keep_on_pile)(self, parcel);
            }
            ItemEntry::Posted => self.nodes().push_back(parcel),
            ItemEntry::First => self.older_items().push_front(parcel),
            ItemEntry::Returned => self
                .older_items()
                .insert(parcel, |one, other| one.stamp < other.stamp),
        }
    }

    /// Adds a receiver and offers it the waiting items, as if they were posted to it one by one.
    pub(crate) fn register(&mut self, receiver: Arc<dyn Receiver<T>>, deferred: &mut Deferred) {
        if self.offer_waiting(&receiver, deferred) {
            self.push_receiver(receiver);
        } else {
            deferred.drop_later(receiver);
        }
    }

    /// Offers the waiting items to one receiver, oldest first, as long as its queue has room.
    /// `false` when it leaves the port.
    pub(super) fn offer_waiting(
        &mut self,
        receiver: &Arc<dyn Receiver<T>>,
        deferred: &mut Deferred,
    ) -> bool {
        self.unpile();
        let (mut kept, mut stays, mut blocked) = (BoxList::new(), true, None);
        while stays
            && blocked.is_none()
            && let Some(parcel) = self.nodes().pop_front()
        {
            let mut offer = Offer::new(parcel, End::Back, &mut kept, deferred);
            // An item that is refused for want of room stays in the port like one that is rejected.
            let _verdict = receiver.offer(&mut offer);
            stays = !offer.receiver_leaves();
            let full = offer.deferred().take_full();
            blocked = full.map(|queue| BlockedReceiver::new(receiver, queue));
            if let Some(parcel) = offer.into_parcel() {
                kept.push_back(parcel);
            }
        }
        kept.append(std::mem::take(self.nodes()));
        *self.nodes() = kept;
        if let Some(blocked) = blocked
            && stays
            && self.items.len() > 0
        {
            blocked.line_up(&mut self.blocked, &self.this, deferred);
        }
        self.let_in_later(deferred);
        stays
    }

    /// Takes one registration of a receiver out; it is known by its address.
    #[inline]
    pub(crate) fn remove<R: ?Sized>(&mut self, receiver: &R) -> Option<Arc<dyn Receiver<T>>> {
        self.remove_at(std::ptr::from_ref(receiver).cast())
    }

    pub(super) fn remove_at(&mut self, receiver: *const ()) -> Option<Arc<dyn Receiver<T>>> {
        let at = self
            .receivers
            .iter()
            .position(|other| std::ptr::addr_eq(Arc::as_ptr(other), receiver))?;
        let removed = self.receivers.remove(at);
        self.receivers_changed();
        removed
    }

    /// Adds a receiver that has been offered, in its own way, what waits.
    pub(crate) fn push_receiver(&mut self, receiver: Arc<dyn Receiver<T>>) {
        self.unpile();
        self.receivers.push_back(receiver);
        self.receivers_changed();
    }

    /// A join connects the port: what is posted is offered.
    pub(super) fn join(&mut self) {
        self.joined = true;
        self.find_direct_delivery();
    }

    pub(crate) fn receivers(&self) -> impl Iterator<Item = &Arc<dyn Receiver<T>>> {
        // Without the gate.
        self.receivers.iter().skip(usize::from(self.is_closed()))
    }

    /// The waiting items, all in nodes. Who takes some then lets those in who wait for room
    /// ([`PortState::let_in_later`]).
    #[inline]
    pub(crate) fn items_mut(&mut self) -> &mut BoxList<ItemDelivery<T>> {
        self.unpile();
        self.nodes()
    }

    /// The number of waiting items.
    #[inline]
    pub(crate) fn item_count(&self) -> usize {
        self.items.len() + self.pile.as_ref().map_or(0, |pile| pile.len())
    }

    /// Takes the oldest waiting item. Who does then lets those in who wait for room
    /// ([`PortState::let_in_later`]).
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<ItemBox<T>> {
        match self.nodes().pop_front() {
            None if self.pile.is_some() => self.pop_pile(),
            oldest => oldest,
        }
    }

    /// The items in nodes, for one that is older than the pile.
    fn older_items(&mut self) -> &mut BoxList<ItemDelivery<T>> {
        if let Some(pile) = &self.pile {
            pile.close();
        }
        self.nodes()
    }

    /// The items that do not lie on the pile.
    #[inline]
    pub(super) fn nodes(&mut self) -> &mut BoxList<ItemDelivery<T>> {
        self.items.nodes(self.stamps.last(), self.by_type)
    }

    /// Gives nodes to all items.
    #[inline]
    pub(super) fn unpile(&mut self) {
        if self.pile.is_some() {
            (self.by_type.unpile_all)(self);
        }
    }

    #[cold]
    pub(super) fn unpile_all(&mut self) {
        if let Some(mut pile) = self.pile.take() {
            let last = self.stamps.last();
            pile.make_nodes(self.items.nodes(0, self.by_type), last);
        }
    }
}

impl<T: Send + 'static> Refusal<T> {
    #[cold]
    pub(super) fn into_error(self) -> PostError<T> {
        PostError {
            item: item_of(self.parcel),
            reason: self.reason,
        }
    }
}
