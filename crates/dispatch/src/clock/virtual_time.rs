//! The time of a replay: it stands still until the replay moves it.

use super::timers::{Key, Timers};
use crate::task::Task;
use motet_sync::Mutex;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct VirtualTime {
    /// Where the time begins. What it is does not matter: only differences are told.
    epoch: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    elapsed: Duration,
    timers: Timers,
    /// The replay is gone: nobody will fire a timer any more.
    closed: bool,
}

impl VirtualTime {
    pub(crate) fn new() -> Self {
        VirtualTime {
            epoch: Instant::now(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.epoch + self.elapsed()
    }

    /// How long the replay has run, in its own time.
    pub(crate) fn elapsed(&self) -> Duration {
        self.state.lock().elapsed
    }

    /// The number of timers that wait.
    pub(crate) fn timers(&self) -> usize {
        self.state.lock().timers.len()
    }

    /// Moves the time on, never back.
    pub(crate) fn advance_to(&self, when: Instant) {
        let elapsed = when.saturating_duration_since(self.epoch);
        let mut state = self.state.lock();
        state.elapsed = state.elapsed.max(elapsed);
    }

    /// The time of the next timer.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.state.lock().timers.next()
    }

    /// Takes the first timer whose time has come.
    pub(crate) fn pop_due(&self) -> Option<Task> {
        let mut state = self.state.lock();
        let now = self.epoch + state.elapsed;
        state.timers.pop_due(now)
    }

    /// Takes all timers, which the caller gives up. Those that are set from now on are given up at
    /// once.
    pub(crate) fn close(&self) -> Vec<Task> {
        let mut state = self.state.lock();
        state.closed = true;
        state.timers.take_all()
    }

    pub(super) fn insert(&self, when: Instant, due: Task) -> Key {
        let mut state = self.state.lock();
        if !state.closed {
            return state.timers.insert(when, due);
        }
        drop(state);
        due.cleanup();
        // The key of no timer: they are numbered from 1.
        (when, 0)
    }

    pub(super) fn remove(&self, key: &Key) -> Option<Task> {
        self.state.lock().timers.remove(key)
    }
}
