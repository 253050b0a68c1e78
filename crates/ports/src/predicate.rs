//! Predicates: user code under a port's lock, kept on a short leash.

use crate::deferred::Deferred;
use crate::delivery::QueueHandle;
use crate::receiver::Offer;
use motet_dispatch::{Causalities, Exception};
use motet_sync::FirstPanic;
use std::cell::{Cell, RefCell};
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Says whether a receiver wants an item. Runs on the poster's thread, under the port's lock: it
/// must be quick and pure, and must not use ports.
pub(crate) type Predicate<T> = Box<dyn Fn(&T) -> bool + Send + Sync>;

/// What is done when a port is unlocked.
type KeptWork = Box<dyn FnOnce()>;

motet_sync::thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Whether there may be something in [`KEPT`].
    static HAS_KEPT: Cell<bool> = const { Cell::new(false) };
    /// What is to be done when the port is unlocked under whose lock user code runs. Without a
    /// destructor, so that it can be used while a thread ends: it is empty then, without memory.
    static KEPT: ManuallyDrop<RefCell<Vec<KeptWork>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Whether user code runs under a port's lock.
#[inline]
pub(crate) fn is_inside() -> bool {
    INSIDE.with(Cell::get)
}

/// Ports call this before they lock: user code that runs under a port's lock could wait for itself.
#[inline]
pub(crate) fn assert_outside() {
    assert!(
        !is_inside(),
        "a predicate (or an item's Clone) must not use ports: it runs inside one"
    );
}

/// Runs user code under a port's lock.
pub(crate) fn inside<R>(user_code: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.with(|inside| inside.set(false));
        }
    }
    INSIDE.with(|inside| inside.set(true));
    let _leave = Leave;
    user_code()
}

/// Does what a destructor does that uses ports, or runs others. Where user code runs under a port's
/// lock it is kept until that is released ([`do_kept`]): what is given up there may be anybody's.
pub(crate) fn outside(work: impl FnOnce() + 'static) {
    if !is_inside() {
        return work();
    }
    KEPT.with(|kept| kept.borrow_mut().push(Box::new(work)));
    HAS_KEPT.with(|has_kept| has_kept.set(true));
}

/// Does what was kept under a port's lock. The caller holds none.
#[cold]
pub(crate) fn do_kept() {
    HAS_KEPT.with(|has_kept| has_kept.set(false));
    let mut panics = FirstPanic::default();
    for work in KEPT.with(|kept| mem::take(&mut *kept.borrow_mut())) {
        panics.catch(work);
    }
    panics.resume();
}

/// Has that done once the port is unlocked.
#[inline]
fn do_kept_later(deferred: &mut Deferred) {
    if HAS_KEPT.with(|has_kept| has_kept.replace(false)) {
        deferred.call(do_kept);
    }
}

/// Whether `predicate` wants the offered item. A predicate that panics wants nothing; the panic
/// goes the way of `queue`'s exceptions.
pub(crate) fn wants<T: Send + 'static>(
    predicate: &Predicate<T>,
    offer: &mut Offer<'_, T>,
    queue: &QueueHandle,
) -> bool {
    let wanted = answer(predicate, offer.item(), queue);
    do_kept_later(offer.deferred());
    wanted.unwrap_or_else(|exception| {
        offer.raise(QueueHandle::clone(queue), exception);
        false
    })
}

/// Asks predicates about items that wait. One that panics wants nothing; the panic goes the way of
/// the queue's exceptions.
pub(crate) struct Asker<'a> {
    pub(crate) queue: &'a QueueHandle,
    pub(crate) deferred: &'a mut Deferred,
}

impl Asker<'_> {
    pub(crate) fn wants<T>(&mut self, predicate: &Predicate<T>, item: &T) -> bool {
        let wanted = answer(predicate, item, self.queue);
        do_kept_later(self.deferred);
        wanted.unwrap_or_else(|exception| {
            let queue = QueueHandle::clone(self.queue);
            self.deferred.raise(queue, exception, Causalities::active());
            false
        })
    }
}

fn answer<T>(predicate: &Predicate<T>, item: &T, queue: &QueueHandle) -> Result<bool, Exception> {
    catch_unwind(AssertUnwindSafe(|| inside(|| predicate(item))))
        .map_err(|payload| Exception::new(payload, queue.name()))
}
