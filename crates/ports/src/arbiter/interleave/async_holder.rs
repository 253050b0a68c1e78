//! The exclusive handler that runs: whether it ends with its task's first run, or stays because it
//! is async.
//!
//! Two may end it at once. One is the turn that began it, whose first run is over. The other is the
//! handler's future, which may end on another thread. The second of the two goes on with the
//! exclusion.

use motet_sync::atomic::{AtomicU8, Ordering};

/// The handler that holds the exclusion.
pub(super) struct AsyncHolder(AtomicU8);

/// It has ended, or will, with its task's first run.
const NONE: u8 = 0;
/// It is async; its task's first run has not ended.
const STAYS: u8 = 1;
/// It is async, and has ended before its task's first run.
const LEFT: u8 = 2;
/// It holds the exclusion alone.
const AWAY: u8 = 3;

impl AsyncHolder {
    pub(super) fn new() -> Self {
        AsyncHolder(AtomicU8::new(NONE))
    }

    /// It is async. Called during its task's first run.
    pub(super) fn stay(&self) {
        self.0.store(STAYS, Ordering::Relaxed);
    }

    /// It is async, and may not have ended. Called after its task's first run.
    pub(super) fn has_stayed(&self) -> bool {
        self.0.load(Ordering::Acquire) != NONE
    }

    /// Its task's first run has ended. `true`: it goes on, with the exclusion.
    pub(super) fn takes_over(&self) -> bool {
        // AcqRel: what the turn left behind is seen by whoever ends the handler, and the other way
        // round.
        let away = self
            .0
            .compare_exchange(STAYS, AWAY, Ordering::AcqRel, Ordering::Acquire);
        if away.is_err() {
            self.0.store(NONE, Ordering::Relaxed);
        }
        away.is_ok()
    }

    /// It is async and has ended. `true`: it held the exclusion, which the caller has now.
    pub(super) fn leave(&self) -> bool {
        let had_exclusion = self.0.swap(LEFT, Ordering::AcqRel) == AWAY;
        if had_exclusion {
            self.0.store(NONE, Ordering::Relaxed);
        }
        had_exclusion
    }
}
