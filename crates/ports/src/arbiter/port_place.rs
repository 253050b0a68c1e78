//! The place of an arbiter at the one port from which it takes items.

use crate::activation::Active;
use crate::claim::Claim;
use crate::delivery::ItemBox;
use crate::handle_cache::HandleCaching;
use crate::outlet::Outlet;
use crate::port::{Port, PortOf, label, put_back};
use crate::receiver::{Offer, Receiver};
use motet_dispatch::{Awaited, WaitPart, Waiter};
use std::ptr;
use std::sync::{Arc, Weak};

/// The arbiter's own handle, its port and its one decision.
pub(super) struct PortPlace<T: Send + 'static, A> {
    arbiter: Weak<A>,
    port: Weak<dyn PortOf<T>>,
    once: bool,
    claim: Claim,
    outlet: Outlet,
    handle_caching: HandleCaching,
}

/// An arbiter that has such a place; it answers for itself by it.
pub(super) trait Placed: Receiver<Self::Item> + Sized + 'static {
    /// What it takes.
    type Item: Send + 'static;

    fn place(&self) -> &PortPlace<Self::Item, Self>;
}

impl<T: Send + 'static, A> PortPlace<T, A> {
    pub(super) fn new(arbiter: &Weak<A>, port: &Port<T>, once: bool, outlet: Outlet) -> Self {
        PortPlace {
            arbiter: Weak::clone(arbiter),
            port: Arc::downgrade(port.core()) as _,
            once,
            claim: Claim::new(),
            outlet,
            handle_caching: HandleCaching::default(),
        }
    }

    /// The port, if it is still there.
    pub(super) fn port(&self) -> Option<Arc<dyn PortOf<T>>> {
        self.port.upgrade()
    }

    /// Whether nothing but its queue and its outlet can keep it from taking items, as long as it is
    /// registered.
    pub(super) fn takes_always(&self) -> bool {
        !self.once && self.is_open()
    }

    /// The arbiter, for its tasks to keep.
    #[inline]
    pub(super) fn arbiter(&self) -> Option<Arc<A>> {
        self.arbiter.upgrade()
    }

    #[inline]
    pub(super) fn handle_caching(&self) -> &HandleCaching {
        &self.handle_caching
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.claim.is_open() && self.outlet.is_open()
    }

    #[inline]
    pub(super) fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    /// Called when the arbiter takes items: a one-time arbiter has then decided, and leaves.
    /// `true` when it may take no more.
    #[inline]
    pub(super) fn taken(&self, offer: &mut Offer<'_, T>) -> bool {
        if self.once {
            // Nobody else claims under the port's lock; a cleanup waits for the lock or came first.
            offer.leave_port();
            let won = self.claim.take();
            debug_assert!(won, "the claim was open a moment ago, under the same lock");
        }
        self.once
    }

    /// As [`PortPlace::taken`], for one that takes items without an offer, under the port's lock.
    /// `true`: it is to be taken off the port.
    pub(super) fn taken_unoffered(&self) -> bool {
        self.once && self.claim.take()
    }

    /// The port is closed, and the arbiter has been taken off it.
    pub(super) fn ended(&self) {
        self.claim.close();
        self.outlet.queue().arbiter_ended();
    }

    /// What the arbiter called `who` waits for.
    pub(super) fn awaits(&self, who: &'static str) -> Option<Awaited> {
        if !self.is_open() {
            return None;
        }
        let part = WaitPart {
            port: label(&self.port),
            there: self.port.upgrade().map_or(0, |port| port.item_count()),
            needed: 1,
        };
        Some(Awaited {
            who,
            queue: Some(self.outlet.queue().name().to_owned()),
            parts: vec![part],
        })
    }

    /// How descriptions begin.
    pub(super) fn kind(&self) -> &'static str {
        if self.once { "one-time " } else { "" }
    }

    pub(super) fn put_back(&self, parcel: ItemBox<T>) {
        put_back(&self.port, parcel);
    }
}

impl<A: Placed + Waiter> Active for A {
    fn register(&self) {
        let place = self.place();
        if let (Some(port), Some(arbiter)) = (place.port.upgrade(), place.arbiter()) {
            port.register(arbiter);
        }
    }

    fn cleanup(&self) {
        let place = self.place();
        // Also when it has taken its item: whoever does that has sent it on before the port is
        // unlocked.
        match place.port.upgrade() {
            Some(port) => port.close_and_unregister(&place.claim, ptr::from_ref(self).cast()),
            None => {
                place.claim.close();
            }
        }
    }

    fn leave(&self) {
        let place = self.place();
        if place.claim.is_taken() {
            return;
        }
        // Not closed: the arbiter above is, and has a say in each offer.
        if let Some(port) = place.port.upgrade() {
            port.unregister_at(ptr::from_ref(self).cast());
        }
    }

    fn is_active(&self) -> bool {
        self.place().is_open()
    }

    fn has_ended(&self) -> bool {
        let claim = &self.place().claim;
        !claim.is_open() && !claim.is_taken()
    }
}
