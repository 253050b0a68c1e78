//! Timers in the order of their times.
//!
//! It is a tree, not a heap or a wheel. A timer that is cancelled, as most timeouts are, leaves at
//! once and takes what it holds with it.

use crate::task::Task;
use std::collections::BTreeMap;
use std::mem::{self, ManuallyDrop};
use std::time::Instant;

/// A timer's time and, among those of the same time, its turn.
pub(super) type Key = (Instant, u64);

#[derive(Debug, Default)]
pub(super) struct Timers {
    waiting: BTreeMap<Key, Task>,
    serial: u64,
}

impl Timers {
    /// Adds a timer behind the others of its time.
    pub(super) fn insert(&mut self, when: Instant, due: Task) -> Key {
        self.serial += 1;
        let key = (when, self.serial);
        self.waiting.insert(key, due);
        key
    }

    /// Takes a timer that is still there.
    pub(super) fn remove(&mut self, key: &Key) -> Option<Task> {
        self.waiting.remove(key)
    }

    /// Takes the first timer whose time has come.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Task> {
        let first = self.waiting.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// The time of the first timer.
    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(key, _)| key.0)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes all timers, first to last.
    pub(super) fn take_all(&mut self) -> Vec<Task> {
        mem::take(&mut self.waiting).into_values().collect()
    }

    /// Forgets all timers, and drops nothing of what they hold.
    pub(super) fn leave(&mut self) {
        let _ = ManuallyDrop::new(mem::take(&mut self.waiting));
    }
}
