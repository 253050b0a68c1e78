//! What becomes of a causality: it is cancelled, or ended, or neither.
//!
//! ```text
//!          cancel, deadline
//!   Live ───────────────────> Cancelled
//!     └───────── end ───────────┴──────> Ended
//! ```
//!
//! The state changes under the lock of those who wait. So a wait that finds it live and leaves its
//! waker is woken by whoever changes it.

use super::Causalities;
use motet_sync::atomic::{AtomicU8, Ordering};
use motet_sync::{FirstPanic, Mutex};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::task::Waker;

const LIVE: u8 = 0;
const CANCELLED: u8 = 1;
const ENDED: u8 = 2;

/// Why work is not wanted any more: stop, and give up what was made for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancelled {
    /// Somebody cancelled it.
    Asked {
        /// The causality's name.
        causality: String,
        /// What was said.
        reason: String,
    },
    /// Its deadline has passed.
    Deadline {
        /// The causality's name.
        causality: String,
    },
}

/// A time by which work must be done. What a clock is, others know.
pub(crate) trait WorkDeadline: Send + Sync {
    /// Whether it has passed.
    fn is_over(&self) -> bool;

    /// Calls `ring` when it passes, unless the alarm has been dropped by then.
    fn alarm(&self, ring: Box<dyn FnOnce() + Send>) -> DeadlineAlarm;
}

/// Holds a call that is to come.
pub(crate) type DeadlineAlarm = Box<dyn Any + Send>;

pub(super) struct Fate {
    state: AtomicU8,
    deadline: Option<Box<dyn WorkDeadline>>,
    late: Mutex<Late>,
}

/// What is rarely needed.
#[derive(Default)]
struct Late {
    /// Given by whoever cancelled; none for the clock.
    reason: Option<String>,
    /// Those who wait, by a number of their own.
    wakers: BTreeMap<u64, Waker>,
    next: u64,
    /// The causalities it was made under.
    outside: Causalities,
}

impl Fate {
    pub(super) fn new(outside: Causalities) -> Self {
        Fate {
            state: AtomicU8::new(LIVE),
            deadline: None,
            late: Mutex::new(Late {
                outside,
                ..Late::default()
            }),
        }
    }

    pub(super) fn set_deadline(&mut self, deadline: Box<dyn WorkDeadline>) {
        self.deadline = Some(deadline);
    }

    /// Calls `ring` at the deadline, if there is one that may still come.
    pub(super) fn alarm(&self, ring: Box<dyn FnOnce() + Send>) -> Option<DeadlineAlarm> {
        let deadline = self.deadline.as_ref()?;
        (self.state.load(Ordering::Acquire) == LIVE).then(|| deadline.alarm(ring))
    }

    /// Those it was made under; none once it has ended.
    pub(super) fn outside(&self) -> Causalities {
        self.late.lock().outside.clone()
    }

    #[inline]
    pub(super) fn is_ended(&self) -> bool {
        self.state.load(Ordering::Acquire) == ENDED
    }

    /// Whether it is cancelled itself, or past its deadline. Wakes nobody: ports ask under their
    /// locks.
    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        match self.state.load(Ordering::Acquire) {
            LIVE => self.deadline.as_ref().is_some_and(|at| at.is_over()),
            state => state == CANCELLED,
        }
    }

    /// Why it is cancelled itself; `name` is the causality's.
    pub(super) fn cancellation(&self, name: &str) -> Option<Cancelled> {
        if !self.is_cancelled() {
            return None;
        }
        let causality = name.to_owned();
        let reason = {
            let late = self.late.lock();
            // It may have ended since the look, and its reason is gone then.
            if self.is_ended() {
                return None;
            }
            late.reason.clone()
        };
        Some(match reason {
            Some(reason) => Cancelled::Asked { causality, reason },
            None => Cancelled::Deadline { causality },
        })
    }

    /// Cancels; `false` when somebody else, the deadline or the end came first.
    pub(super) fn cancel(&self, reason: &str) -> bool {
        !self.is_cancelled() && self.change(Some(reason))
    }

    /// The deadline has passed.
    pub(super) fn expire(&self) {
        // Nothing changes if somebody came first.
        self.change(None);
    }

    /// Nothing becomes of it any more.
    pub(super) fn end(&self) {
        let mut late = self.late.lock();
        self.state.store(ENDED, Ordering::Release);
        let gone = std::mem::take(&mut *late);
        drop(late);
        // Outside the lock: wakers and causalities may hold user code.
        drop(gone);
    }

    /// Leaves `waker` with those who are woken, unless all is decided already. `key` is the number
    /// under which that is done.
    pub(super) fn wait(&self, key: &mut Option<u64>, waker: &Waker) {
        let mut late = self.late.lock();
        if self.state.load(Ordering::Acquire) != LIVE {
            return;
        }
        let number = *key.get_or_insert_with(|| {
            late.next += 1;
            late.next
        });
        let before = late.wakers.insert(number, waker.clone());
        drop(late);
        drop(before);
    }

    /// Takes the waker back.
    pub(super) fn give_up(&self, key: u64) {
        let waker = self.late.lock().wakers.remove(&key);
        drop(waker);
    }

    fn change(&self, reason: Option<&str>) -> bool {
        let mut late = self.late.lock();
        if self.state.load(Ordering::Acquire) != LIVE {
            return false;
        }
        late.reason = reason.map(str::to_owned);
        self.state.store(CANCELLED, Ordering::Release);
        let wakers = std::mem::take(&mut late.wakers);
        drop(late);
        let mut panics = FirstPanic::default();
        for waker in wakers.into_values() {
            panics.catch(|| waker.wake());
        }
        panics.resume();
        true
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cancelled::Asked { causality, reason } => {
                write!(
                    f,
                    "causality '{causality}' was cancelled ({reason}): stop its work"
                )
            }
            Cancelled::Deadline { causality } => {
                write!(
                    f,
                    "the deadline of causality '{causality}' has passed: stop its work"
                )
            }
        }
    }
}

impl std::error::Error for Cancelled {}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::atomic::AtomicBool;
    use motet_sync::{Arc, thread};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    /// A wait, as a task does it, against a cancel: the task sees it at once or is woken.
    #[test]
    fn loom_a_cancel_wakes_a_wait() {
        loom::model(|| {
            let fate = Arc::new(Fate::new(Causalities::none()));
            let canceller = thread::spawn({
                let fate = Arc::clone(&fate);
                move || fate.cancel("enough")
            });
            let woken = std::sync::Arc::new(Woken::default());
            let mut key = None;
            fate.wait(&mut key, &Waker::from(std::sync::Arc::clone(&woken)));
            let seen = fate.is_cancelled();
            assert!(canceller.join().unwrap());
            assert!(seen || woken.0.load(Ordering::Acquire));
            assert!(fate.cancellation("it").is_some());
        });
    }

    /// A wait that is given up against a cancel: its waker is gone either way.
    #[test]
    fn loom_a_cancel_against_a_wait_that_is_given_up() {
        loom::model(|| {
            let fate = Arc::new(Fate::new(Causalities::none()));
            let woken = std::sync::Arc::new(Woken::default());
            let mut key = None;
            fate.wait(&mut key, &Waker::from(std::sync::Arc::clone(&woken)));
            let canceller = thread::spawn({
                let fate = Arc::clone(&fate);
                move || fate.cancel("enough")
            });
            fate.give_up(key.unwrap());
            canceller.join().unwrap();
            assert_eq!(std::sync::Arc::strong_count(&woken), 1);
        });
    }

    /// Who asks why against the end: the reason that was given, or none; never the clock.
    #[test]
    fn loom_the_reason_against_the_end() {
        loom::model(|| {
            let fate = Arc::new(Fate::new(Causalities::none()));
            assert!(fate.cancel("enough"));
            let ender = thread::spawn({
                let fate = Arc::clone(&fate);
                move || fate.end()
            });
            let why = fate.cancellation("it");
            assert!(!matches!(why, Some(Cancelled::Deadline { .. })), "{why:?}");
            ender.join().unwrap();
        });
    }

    /// Two who cancel: one is told that it did, and its reason stays.
    #[test]
    fn loom_one_cancels() {
        loom::model(|| {
            let fate = Arc::new(Fate::new(Causalities::none()));
            let other = thread::spawn({
                let fate = Arc::clone(&fate);
                move || fate.cancel("other")
            });
            let here = fate.cancel("here");
            let there = other.join().unwrap();
            assert!(here != there);
            let reason = if here { "here" } else { "other" };
            let why = fate.cancellation("it");
            assert!(matches!(why, Some(Cancelled::Asked { reason: said, .. }) if said == reason));
        });
    }
}
