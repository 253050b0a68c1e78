//! Where a service lies, and who lets its handlers in. The slot keeps it for callers that carry out
//! what they call, and it does not keep the slot: they count no references to get there.
//!
//! What such callers do with it is modelled in `loom_place.rs` of `motet-ports`.

use super::Served;
use crate::service::SlotOf;
use crate::{Group, Service};
use motet_ports::{ActiveInterleave, EnteredInterleave};
use motet_sync::{HeldPlace, SharedPlace};
use std::any::Any;
use std::sync::{Arc, OnceLock, Weak};

/// A service that handlers share. Without weak references it takes less time to ask whether they
/// do.
pub(super) type SharedService<S> = triomphe::Arc<S>;

/// Where a service lies.
pub(super) struct ServiceCell<S: Service> {
    /// Empty while an exclusive handler has the service, while it is built anew, and at its end.
    place: SharedPlace<SharedService<S>>,
    /// There once it serves.
    interleave: OnceLock<ActiveInterleave>,
    served: Weak<Served<S>>,
}

impl<S: Service> ServiceCell<S> {
    pub(super) fn new(served: Weak<Served<S>>) -> Self {
        ServiceCell {
            place: SharedPlace::default(),
            interleave: OnceLock::new(),
            served,
        }
    }

    /// What serves, if something does.
    pub(super) fn served(&self) -> Option<Arc<Served<S>>> {
        self.served.upgrade()
    }

    /// Handlers are let in by this from here on.
    pub(super) fn opened_by(&self, interleave: ActiveInterleave) {
        // It serves once.
        let _again = self.interleave.set(interleave);
    }

    pub(super) fn interleave(&self) -> Option<&ActiveInterleave> {
        self.interleave.get()
    }

    /// Reads the service where it lies, if it does.
    #[inline]
    pub(super) fn read<R>(&self, read: impl FnOnce(&S) -> R) -> Option<R> {
        self.place.read(read)
    }

    /// For a handler that changes nothing.
    #[inline]
    pub(super) fn shared(&self) -> Option<SharedService<S>> {
        self.place.shared()
    }

    /// For a handler that is alone, which puts it back.
    #[inline]
    pub(super) fn take(&self) -> Option<SharedService<S>> {
        self.place.take()
    }

    /// As [`ServiceCell::take`], where it lies, for a handler that does not wait.
    #[inline]
    pub(super) fn hold(&self) -> Option<HeldPlace<'_, SharedService<S>>> {
        self.place.hold()
    }

    /// Puts a service in; after the end it is dropped.
    #[inline]
    pub(super) fn put(&self, service: SharedService<S>) {
        drop(self.exchange(service));
    }

    /// As [`ServiceCell::put`]: what is not in it any more, to be dropped where nothing is locked.
    #[inline]
    pub(super) fn exchange(&self, service: SharedService<S>) -> Option<SharedService<S>> {
        self.place.exchange(service)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    /// Takes the service out for good.
    pub(super) fn end(&self) -> Option<SharedService<S>> {
        self.place.end()
    }
}

/// The cell of the service that is called, and a handler that is let in, if it need not wait.
#[inline]
pub(super) fn enter<S: Service>(
    slot: &SlotOf<S>,
    group: Group,
) -> Option<(&ServiceCell<S>, EnteredInterleave<'_>)> {
    let at_once = slot.direct.at_once()?;
    let cell: &dyn Any = &*at_once.service;
    Some((cell.downcast_ref()?, at_once.enter(group)?))
}
