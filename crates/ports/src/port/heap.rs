//! How items come onto a port's pile, and who takes them from there.

use super::PortCore;
use super::pile::{Bare, Front, Pile};
use super::state::PortState;
use crate::delivery::{ItemBox, parcel_under};
use crate::predicate;
use motet_dispatch::Causalities;
use motet_sync::atomic::Ordering;
use std::sync::Arc;

impl<T: Send + 'static> PortCore<T> {
    /// Items may lie on a pile from now on, unless a join connects the port. The caller has the
    /// lock.
    #[cold]
    pub(super) fn begin_pile(&self) -> Option<&Arc<Front<T>>> {
        if self.has_domain() {
            return None;
        }
        self.bare.store(true, Ordering::Relaxed);
        Some(self.front.get_or_init(|| Arc::new(Front::new())))
    }

    /// Takes the oldest item, if it lies on a pile, without the port's lock.
    #[inline]
    pub(crate) fn pop_bare(&self) -> Option<Bare<T>> {
        let front = self.front.get()?;
        predicate::assert_outside();
        front.pop()
    }
}

impl<T: Send + 'static> PortState<T> {
    /// Puts a posted item on the pile. Gives it back when there is none.
    #[inline]
    pub(super) fn heap(&mut self, item: T, causalities: Causalities) -> Option<T> {
        let Some(pile) = &mut self.pile else {
            return Some(item);
        };
        pile.push(item, causalities);
        self.stamps.give();
        None
    }

    /// Keeps a posted item behind many others: on the pile, if there may be one.
    pub(super) fn keep_on_pile(&mut self, parcel: ItemBox<T>) {
        if self.pile.is_none() {
            self.begin_pile();
        }
        let Some(pile) = &mut self.pile else {
            return self.nodes().push_back(parcel);
        };
        let (delivery, causalities) = parcel.into_parts();
        pile.push(delivery.item, causalities);
    }

    /// Begins a pile, if there may be one.
    fn begin_pile(&mut self) {
        let alone = self.receivers.is_empty() && self.bound.is_none();
        let port = if alone { self.this.upgrade() } else { None };
        let front = port.as_ref().and_then(|port| port.begin_pile());
        self.pile = front.map(|front| Box::new(Pile::new(front)));
    }

    /// Takes the oldest item of the pile; nothing is in a node.
    #[inline(never)]
    pub(super) fn pop_pile(&mut self) -> Option<ItemBox<T>> {
        let Some((item, causalities)) = self.pile.as_mut()?.pop() else {
            self.pile = None;
            return None;
        };
        // Without a stamp: who takes an item by hand does not bring its node back.
        Some(parcel_under(causalities, item))
    }
}
