//! How one thread sleeps until another wakes it.
//!
//! A parker holds at most one token. [`Unparker::unpark`] leaves the token, [`Parker::park`] waits
//! for it and takes it, so a wake-up that comes before the sleep is not lost.

use crate::atomic::{AtomicU32, Ordering};
use crate::{Arc, thread};
use std::time::{Duration, Instant};

const EMPTY: u32 = 0;
const TOKEN: u32 = 1;

/// The sleeping side. Belongs to the thread that created it.
#[derive(Debug)]
pub struct Parker(Arc<Inner>);

/// The waking side; any thread may hold one.
#[derive(Debug, Clone)]
pub struct Unparker(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: AtomicU32,
    thread: thread::Thread,
}

impl Parker {
    /// A parker for the current thread.
    #[must_use]
    pub fn new() -> Self {
        let inner = Inner {
            state: AtomicU32::new(EMPTY),
            thread: thread::current(),
        };
        Parker(Arc::new(inner))
    }

    /// The handle others wake this thread with.
    #[must_use]
    pub fn unparker(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }

    /// Sleeps until the token is there and takes it. Must be called by the creating thread.
    pub fn park(&self) {
        // Acquire pairs with the Release in `unpark`: what the waker wrote before is seen here.
        while self.0.state.swap(EMPTY, Ordering::Acquire) != TOKEN {
            thread::park();
        }
    }

    /// Sleeps until the token is there and takes it, but not longer than `limit`; `false` when the
    /// time is up without a token. Must be called by the creating thread. (In a model no time
    /// passes: the others get a turn.)
    #[must_use]
    pub fn park_timeout(&self, limit: Duration) -> bool {
        let begin = Instant::now();
        // Acquire: as in `park`.
        while self.0.state.swap(EMPTY, Ordering::Acquire) != TOKEN {
            let left = limit.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return false;
            }
            thread::park_timeout(left);
        }
        true
    }
}

impl Default for Parker {
    fn default() -> Self {
        Parker::new()
    }
}

impl Unparker {
    /// Leaves the token and wakes the thread if it sleeps. A second token is not kept.
    pub fn unpark(&self) {
        if self.0.state.swap(TOKEN, Ordering::Release) == EMPTY {
            self.0.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_left_before_the_sleep_is_taken() {
        let parker = Parker::new();
        parker.unparker().unpark();
        parker.unparker().unpark();
        parker.park();
        assert_eq!(
            parker.0.state.load(Ordering::Relaxed),
            EMPTY,
            "only one token is kept"
        );
    }

    #[test]
    fn a_sleep_ends_with_the_token_or_the_time() {
        let parker = Parker::new();
        assert!(!parker.park_timeout(Duration::from_millis(2)));
        assert!(!parker.park_timeout(Duration::ZERO));
        parker.unparker().unpark();
        assert!(parker.park_timeout(Duration::ZERO));
        let unparker = parker.unparker();
        let waker = thread::spawn(move || unparker.unpark());
        assert!(parker.park_timeout(Duration::from_secs(600)));
        waker.join().unwrap();
    }

    #[test]
    fn a_sleeper_is_woken() {
        for _ in 0..200 {
            let parker = Parker::new();
            let unparker = parker.unparker();
            let waker = thread::spawn(move || unparker.unpark());
            parker.park();
            waker.join().unwrap();
        }
    }
}
