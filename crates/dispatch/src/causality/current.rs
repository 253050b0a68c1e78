//! The causalities that are active on this thread.
//!
//! Every task that runs and every item that is posted passes here, nearly always to find that there
//! are none: so the slot has no destructor that would have to be registered for each thread, and
//! whoever puts something in takes it out again.

use super::{Cancelled, Causalities};
use std::cell::Cell;
use std::mem::ManuallyDrop;

struct Slot {
    active: Cell<ManuallyDrop<Causalities>>,
    /// What was active where the panic that unwinds now began. The scopes it passes are left before
    /// anyone catches it.
    failed: Cell<ManuallyDrop<Option<Causalities>>>,
}

thread_local! {
    static SLOT: Slot = const {
        Slot {
            active: Cell::new(ManuallyDrop::new(Causalities::none())),
            failed: Cell::new(ManuallyDrop::new(None)),
        }
    };
}

/// Makes `causalities` the active ones and gives back those that were.
#[inline]
pub(crate) fn replace(causalities: Causalities) -> Causalities {
    SLOT.with(|slot| ManuallyDrop::into_inner(slot.active.replace(ManuallyDrop::new(causalities))))
}

/// The active ones go on elsewhere: nothing is active any more.
#[inline]
pub(crate) fn leave() -> Causalities {
    replace(Causalities::none())
}

/// A copy of the active ones.
#[inline]
pub(crate) fn active() -> Causalities {
    let active = replace(Causalities::none());
    if active.is_empty() {
        return active;
    }
    let copy = active.clone();
    // Nothing has become active meanwhile; what comes back is empty.
    let _empty = replace(active);
    copy
}

/// Whether the active ones are still wanted.
#[inline]
pub(crate) fn check() -> Result<(), Cancelled> {
    active().check()
}

/// Runs `body` under `causalities`; what it leaves active ends with it.
#[inline]
pub(crate) fn within<R>(causalities: Causalities, body: impl FnOnce() -> R) -> R {
    /// Dropped only by a panic.
    struct Unwinding(Causalities);
    impl Drop for Unwinding {
        fn drop(&mut self) {
            fail(replace(std::mem::take(&mut self.0)));
        }
    }
    let unwinding = Unwinding(replace(causalities));
    let result = body();
    let mut before = ManuallyDrop::new(unwinding);
    drop(replace(std::mem::take(&mut before.0)));
    forget_failure();
    result
}

/// A panic passes a scope in which these were active. The innermost scope is the one that counts.
#[cold]
pub(crate) fn fail(causalities: Causalities) {
    SLOT.with(|slot| {
        let first = ManuallyDrop::into_inner(slot.failed.replace(ManuallyDrop::new(None)));
        let kept = first.or(Some(causalities));
        slot.failed.set(ManuallyDrop::new(kept));
    });
}

/// Where the panic that was just caught began, else what is active.
pub(crate) fn failed() -> Causalities {
    let failed = SLOT.with(|slot| slot.failed.replace(ManuallyDrop::new(None)));
    ManuallyDrop::into_inner(failed).unwrap_or_else(active)
}

/// Nothing unwinds here: a panic that was noted has been caught by the program itself.
#[inline]
pub(crate) fn forget_failure() {
    let failed = SLOT.with(|slot| slot.failed.replace(ManuallyDrop::new(None)));
    drop(ManuallyDrop::into_inner(failed));
}
