//! A mutex for holds of a few instructions, which is given back by a plain store.
//!
//! [`Mutex`](crate::Mutex) gives its lock back by an exchange, since somebody may sleep until then.
//! Nobody sleeps for this one: who finds it taken spins, and then offers its core to others.
#![cfg_attr(
    any(motet_loom, motet_shuttle),
    allow(
        clippy::disallowed_types,
        reason = "in a model it does not matter how one waits"
    )
)]

#[cfg(any(motet_loom, motet_shuttle))]
use crate::{Mutex as Inner, MutexGuard as SpinGuardOf};
#[cfg(not(any(motet_loom, motet_shuttle)))]
use crate::{spin_loop, thread};
#[cfg(not(any(motet_loom, motet_shuttle)))]
use spin::mutex::{SpinMutex as Inner, SpinMutexGuard as SpinGuardOf};
use std::fmt;

/// Before the core is offered to others: longer than any hold of a holder that runs.
#[cfg(not(any(motet_loom, motet_shuttle)))]
const SPINS: u32 = 256;

/// Mutual exclusion for a `T` that is used for a few instructions at a time: moved, exchanged,
/// cloned. Nothing that waits, and nothing of a user's, runs under it.
///
/// ```
/// use motet_sync::SpinMutex;
///
/// let place = SpinMutex::new(Some(1));
/// assert_eq!(place.with(Option::take), Some(1));
/// assert_eq!(place.with(|place| *place), None);
/// ```
pub struct SpinMutex<T>(Inner<T>);

/// Gives the lock back by a store.
pub(crate) type SpinGuard<'a, T> = SpinGuardOf<'a, T>;

impl<T> SpinMutex<T> {
    /// A free mutex around `value`.
    pub fn new(value: T) -> Self {
        SpinMutex(Inner::new(value))
    }

    /// Uses the value when nobody else does.
    #[inline]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(any(motet_loom, motet_shuttle))]
        return work(&mut self.0.lock());
        #[cfg(not(any(motet_loom, motet_shuttle)))]
        loop {
            if let Some(mut value) = self.0.try_lock() {
                return work(&mut value);
            }
            self.spin();
        }
    }

    /// The value, if nobody else uses it now.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<SpinGuard<'_, T>> {
        self.0.try_lock()
    }

    /// Until it may be free.
    #[cfg(any(motet_loom, motet_shuttle))]
    pub(crate) fn spin(&self) {
        crate::thread::yield_now();
    }

    /// Until it may be free.
    #[cold]
    #[cfg(not(any(motet_loom, motet_shuttle)))]
    pub(crate) fn spin(&self) {
        for _ in 0..SPINS {
            if !self.0.is_locked() {
                return;
            }
            spin_loop();
        }
        // Who has it does not run.
        thread::yield_now();
    }
}

impl<T> fmt::Debug for SpinMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinMutex").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    #[test]
    fn nothing_is_lost_of_what_many_threads_add() {
        const EACH: usize = 20_000;
        let sum = Arc::new(SpinMutex::new(0));
        let adders = [(); 4].map(|()| {
            let sum = Arc::clone(&sum);
            thread::spawn(move || (0..EACH).for_each(|_| sum.with(|sum| *sum += 1)))
        });
        adders.into_iter().for_each(|adder| adder.join().unwrap());
        assert_eq!(sum.with(|sum| *sum), 4 * EACH);
    }

    #[test]
    fn it_is_free_after_a_panic() {
        let place = SpinMutex::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| place.with(|_| panic!("inside"))));
        assert!(panicked.is_err());
        assert_eq!(place.with(|place| *place), 1);
    }
}
