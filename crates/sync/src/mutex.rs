//! A mutex and a condition variable without poisoning.
//!
//! The runtime never runs user code under a lock, except predicates, whose panics it catches while
//! the lock is held. A poisoned lock would only turn one reported panic into many.
#![allow(
    clippy::disallowed_types,
    reason = "this is where the project gets its locks"
)]

use std::fmt;
use std::sync::{PoisonError, TryLockError};

#[cfg(motet_loom)]
use loom::sync as imp;
#[cfg(motet_shuttle)]
use shuttle::sync as imp;
#[cfg(not(any(motet_loom, motet_shuttle)))]
use std::sync as imp;

pub use imp::MutexGuard;

/// Pauses before each further try, in all 30 to 50 microseconds. Few at first: a hold is short, and
/// who met it by chance finds the lock free. Then many more: a try takes the lock's cache line from
/// whoever holds it. One who comes back again and again meanwhile goes through dozens of holds,
/// even hundreds, at the speed of its cache. To go to sleep, or to offer the core to another who
/// wants the same lock, costs about as much.
const PAUSES: [u32; 4] = [4, 32, 256, 1024];

/// Then whoever has the lock does not run, or many want it: so often the core is offered to others.
const YIELDS: u32 = 16;

/// Mutual exclusion for a `T`.
pub struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    /// A free mutex around `value`.
    pub fn new(value: T) -> Self {
        Mutex(imp::Mutex::new(value))
    }

    /// Waits for the lock and takes it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // In a model it does not matter how one waits.
        if cfg!(any(motet_loom, motet_shuttle)) {
            return self.lock_asleep();
        }
        match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::WouldBlock) => self.lock_contended(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        }
    }

    /// Takes the lock if it is free now.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Tries again a few times before it sleeps: to wake a sleeper costs more than thousands of
    /// short holds.
    #[cold]
    #[inline(never)]
    fn lock_contended(&self) -> MutexGuard<'_, T> {
        let mut guard = None;
        try_often(&mut || {
            guard = self.try_lock();
            guard.is_some()
        });
        match guard {
            Some(guard) => guard,
            None => self.lock_asleep(),
        }
    }

    fn lock_asleep(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, when no one else can hold the lock any more.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tries until it succeeds, a few times: one copy for the locks of all types.
fn try_often(try_it: &mut dyn FnMut() -> bool) {
    for pauses in PAUSES {
        (0..pauses).for_each(|_| crate::spin_loop());
        if try_it() {
            return;
        }
    }
    for _ in 0..YIELDS {
        crate::thread::yield_now();
        if try_it() {
            return;
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// A condition to wait for while a [`Mutex`] is released.
#[derive(Debug)]
pub struct Condvar(imp::Condvar);

impl Condvar {
    /// A condition nobody waits for.
    #[must_use]
    pub fn new() -> Self {
        Condvar(imp::Condvar::new())
    }

    /// Releases the lock, waits to be notified and takes the lock again. May wake without a
    /// notification: test the condition in a loop.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`Condvar::wait`], for at most `span`. `false` when that has passed. (A model knows no
    /// time: there it waits for the notification.)
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        span: std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let waited = self.0.wait_timeout(guard, span);
        let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (guard, !timeout.timed_out())
    }

    /// Wakes one of those who wait: for conditions that any of them may make use of.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes everyone who waits.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}
