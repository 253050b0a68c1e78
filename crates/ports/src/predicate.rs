//! Predicates: user code under a port's lock, kept on a short leash.

use crate::delivery::QueueHandle;
use crate::receiver::Offer;
use motet_dispatch::Exception;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Says whether a receiver wants an item. Runs on the poster's thread, under the port's lock: it
/// must be quick and pure, and must not use ports.
pub(crate) type Predicate<T> = Box<dyn Fn(&T) -> bool + Send + Sync>;

motet_sync::thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Ports call this before they lock: user code that runs under a port's lock could wait for itself.
#[inline]
pub(crate) fn assert_outside() {
    assert!(
        !INSIDE.with(Cell::get),
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

/// Whether `predicate` wants the offered item. A predicate that panics wants nothing; the panic
/// goes the way of `queue`'s exceptions.
pub(crate) fn wants<T: Send + 'static>(
    predicate: &Predicate<T>,
    offer: &mut Offer<'_, T>,
    queue: &QueueHandle,
) -> bool {
    let wanted = catch_unwind(AssertUnwindSafe(|| inside(|| predicate(offer.item()))));
    wanted.unwrap_or_else(|payload| {
        offer.raise(
            QueueHandle::clone(queue),
            Exception::new(payload, queue.name()),
        );
        false
    })
}
