//! A mutex for those who also try it: [`Mutex`](crate::Mutex), but in models of loom one of their
//! own.
//!
//! Loom's holds up who is about to try it as if he waited for it. This one is a flag under a lock
//! of loom's, which nobody keeps.
#![allow(
    clippy::disallowed_types,
    reason = "what a model sees of this lock is its flag"
)]

use loom::sync::{Condvar, Mutex};
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::TryLockError;

const NO_PANIC: &str = "nothing panics under it";

/// Mutual exclusion for a `T`, that can be tried.
pub struct TryMutex<T> {
    flag: Flag,
    value: std::sync::Mutex<T>,
}

/// The value of a [`TryMutex`], locked.
pub struct TryMutexGuard<'a, T> {
    /// There until it is dropped.
    value: Option<std::sync::MutexGuard<'a, T>>,
    flag: &'a Flag,
}

struct Flag {
    held: Mutex<bool>,
    freed: Condvar,
}

impl<T> TryMutex<T> {
    /// A free mutex around `value`.
    pub fn new(value: T) -> Self {
        TryMutex {
            flag: Flag {
                held: Mutex::new(false),
                freed: Condvar::new(),
            },
            value: std::sync::Mutex::new(value),
        }
    }

    /// Waits for the lock and takes it.
    pub fn lock(&self) -> TryMutexGuard<'_, T> {
        let mut held = self.flag.held.lock().expect(NO_PANIC);
        while *held {
            held = self.flag.freed.wait(held).expect(NO_PANIC);
        }
        *held = true;
        drop(held);
        self.taken()
    }

    /// Takes the lock if it is free now.
    pub fn try_lock(&self) -> Option<TryMutexGuard<'_, T>> {
        let before = mem::replace(&mut *self.flag.held.lock().expect(NO_PANIC), true);
        (!before).then(|| self.taken())
    }

    /// The value, for who has raised the flag.
    fn taken(&self) -> TryMutexGuard<'_, T> {
        let value = self.value.try_lock().unwrap_or_else(|error| match error {
            TryLockError::Poisoned(poisoned) => poisoned.into_inner(),
            TryLockError::WouldBlock => panic!("the flag says that it is free"),
        });
        TryMutexGuard {
            value: Some(value),
            flag: &self.flag,
        }
    }
}

impl<T> Deref for TryMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("there until it is dropped")
    }
}

impl<T> DerefMut for TryMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("there until it is dropped")
    }
}

impl<T> Drop for TryMutexGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        *self.flag.held.lock().expect(NO_PANIC) = false;
        self.flag.freed.notify_one();
    }
}

impl<T> fmt::Debug for TryMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryMutex").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for TryMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryMutexGuard").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// One waits for the lock, another tries it: each that has it sees what the other did.
    #[test]
    fn loom_a_lock_that_is_tried_is_held_by_one() {
        loom::model(|| {
            let lock = Arc::new(TryMutex::new(0));
            let tries = thread::spawn({
                let lock = Arc::clone(&lock);
                move || lock.try_lock().map(|mut held| *held += 1).is_some()
            });
            *lock.lock() += 1;
            let got = tries.join().unwrap();
            assert_eq!(*lock.lock(), 1 + u32::from(got));
        });
    }
}
