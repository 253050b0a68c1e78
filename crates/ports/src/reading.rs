//! Reading a port without a receiver: looking at what waits, and taking it.

use crate::deferred::Deferred;
use crate::delivery::{ItemDelivery, item_of, items_of, token};
use crate::port::Port;
use crate::predicate;
use motet_dispatch::BoxList;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// # Reading without a receiver
impl<T: Send + 'static> Port<T> {
    /// Takes the oldest waiting item, if there is one. Its causalities do not become active.
    #[must_use]
    pub fn test(&self) -> Option<T> {
        if let Some((item, _)) = self.core().pop_bare() {
            return Some(item);
        }
        self.core().pop().map(item_of)
    }

    /// Takes the oldest `count` items, or none when fewer wait.
    #[must_use]
    pub fn test_multiple(&self, count: usize) -> Option<Vec<T>> {
        self.take_multiple(count).map(items_of)
    }

    /// Brings items that were taken together back to the front, in their order, also of a closed
    /// port, without causalities. Receivers are offered all that waits then; one whose queue has no
    /// room is passed by, until it has.
    #[doc(hidden)]
    pub fn bring_to_front(&self, items: Vec<T>) {
        let parcels = items.into_iter().map(token).collect();
        let mut deferred = Deferred::default();
        self.core()
            .locked(|state| state.bring_to_front(parcels, &mut deferred));
        deferred.carry_out();
    }

    /// Copies of the waiting items, oldest first.
    ///
    /// # Panics
    /// When `T::clone` uses this port.
    #[must_use]
    pub fn items(&self) -> Vec<T>
    where
        T: Clone,
    {
        // Outside of the lock: a clone may panic, and those before it have destructors.
        let mut copies = Vec::new();
        let mut state = self.core().state();
        let items = state.items_mut();
        let clone = || copies.extend(items.iter().map(|delivery| delivery.item.clone()));
        let cloned = catch_unwind(AssertUnwindSafe(|| predicate::inside(clone)));
        drop(state);
        predicate::do_kept();
        cloned.unwrap_or_else(|panicked| resume_unwind(panicked));
        copies
    }

    /// Drops the waiting items; returns how many there were.
    pub fn clear(&self) -> usize {
        // Dropped outside the lock: an item's destructor may use the port.
        let items = self.core().take(std::mem::take);
        items.len()
    }

    /// Takes the oldest `count` items in their nodes, or none when fewer wait.
    pub(crate) fn take_multiple(&self, count: usize) -> Option<BoxList<ItemDelivery<T>>> {
        self.core().take(|items| {
            if items.len() < count {
                return None;
            }
            let mut taken = BoxList::new();
            let oldest = (0..count).filter_map(|_| items.pop_front());
            oldest.for_each(|parcel| taken.push_back(parcel));
            Some(taken)
        })
    }
}
