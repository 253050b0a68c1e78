//! The causalities that are active on this thread.
//!
//! Every task that runs and every item that is posted passes here, nearly always to find that there
//! are none: one load answers that. The slot has no destructor, which would have to be registered
//! for each thread; whoever puts something in takes it out again.

use super::{Cancelled, Causalities};
use std::cell::Cell;
use std::mem::ManuallyDrop;

struct CurrentCausalities {
    /// [`ACTIVE`] and [`FAILED`]: which of the other two hold something.
    holds: Cell<u8>,
    active: Cell<ManuallyDrop<Causalities>>,
    /// What was active where the panic that unwinds now began. The scopes it passes are left before
    /// anyone catches it.
    failed: Cell<ManuallyDrop<Causalities>>,
}

const ACTIVE: u8 = 1;
/// Also when nothing was active there.
const FAILED: u8 = 2;

motet_sync::thread_local! {
    static SLOT: CurrentCausalities = const {
        CurrentCausalities {
            holds: Cell::new(0),
            active: Cell::new(ManuallyDrop::new(Causalities::none())),
            failed: Cell::new(ManuallyDrop::new(Causalities::none())),
        }
    };
}

/// Makes `causalities` the active ones and gives back those that were.
pub(crate) fn replace(causalities: Causalities) -> Causalities {
    SLOT.with(|slot| {
        let active = u8::from(!causalities.is_empty()) * ACTIVE;
        slot.holds.set(slot.holds.get() & FAILED | active);
        ManuallyDrop::into_inner(slot.active.replace(ManuallyDrop::new(causalities)))
    })
}

/// The active ones go on elsewhere: nothing is active any more.
#[inline]
pub(crate) fn leave() -> Causalities {
    if holds_nothing() {
        return Causalities::none();
    }
    replace(Causalities::none())
}

/// A copy of the active ones.
#[inline]
pub(crate) fn active() -> Causalities {
    if holds_nothing() {
        return Causalities::none();
    }
    let active = replace(Causalities::none());
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
    if !causalities.is_empty() || !holds_nothing() {
        return within_some(causalities, body);
    }
    let nothing = Before::default();
    let result = body();
    if holds_nothing() {
        // Nor was there anything before.
        let _nothing = ManuallyDrop::new(nothing);
    } else {
        nothing.restore();
    }
    result
}

#[inline(never)]
fn within_some<R>(causalities: Causalities, body: impl FnOnce() -> R) -> R {
    let before = Before::exchange(causalities);
    let result = body();
    before.restore();
    result
}

/// What there was before something ran under other causalities. Dropped only by a panic.
#[derive(Default)]
struct Before {
    active: Causalities,
    /// Noted for a panic whose destructors have run this.
    failed: Option<Causalities>,
}

impl Before {
    #[cold]
    fn exchange(causalities: Causalities) -> Self {
        Before {
            active: replace(causalities),
            failed: take_failure(),
        }
    }

    #[cold]
    fn restore(self) {
        let mut before = ManuallyDrop::new(self);
        drop(replace(std::mem::take(&mut before.active)));
        // A panic that is noted still has been caught by the program itself.
        forget_failure();
        if let Some(failed) = before.failed.take() {
            fail(failed);
        }
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        fail(replace(std::mem::take(&mut self.active)));
    }
}

/// A panic passes a scope in which these were active. The innermost scope is the one that counts.
#[cold]
pub(crate) fn fail(causalities: Causalities) {
    SLOT.with(|slot| {
        if slot.holds.get() & FAILED == 0 {
            slot.holds.set(slot.holds.get() | FAILED);
            slot.failed.set(ManuallyDrop::new(causalities));
        }
    });
}

/// Where the panic that was just caught began, else what is active.
pub(crate) fn failed() -> Causalities {
    take_failure().unwrap_or_else(active)
}

/// Nothing unwinds here: a panic that was noted has been caught by the program itself.
pub(crate) fn forget_failure() {
    drop(take_failure());
}

fn take_failure() -> Option<Causalities> {
    SLOT.with(|slot| {
        let holds = slot.holds.get();
        slot.holds.set(holds & !FAILED);
        let failed = slot.failed.replace(ManuallyDrop::new(Causalities::none()));
        (holds & FAILED != 0).then(|| ManuallyDrop::into_inner(failed))
    })
}

#[inline]
pub(super) fn holds_nothing() -> bool {
    SLOT.with(|slot| slot.holds.get() == 0)
}
