//! How an async task waits for something that should come within microseconds.

use crate::worker::{self, Worker};
use motet_sync::{Backoff, spin_loop, thread_local};
use std::cell::Cell;
use std::task::Context;
use std::time::Duration;

/// One wait of an async task, held by the waiting future.
///
/// A task that waits for a message from another core gets it after a cache-line transfer (0.1 µs)
/// if it looks. It gets it after tens of microseconds if it has been put to sleep. So it looks.
/// While its worker has nothing else to run it spins, a slice at a time. When the worker has other
/// work it lets that run and comes back in its turn. It should sleep after what waking it would
/// cost, [`DispatcherConfig::wake_cost`](crate::DispatcherConfig::wake_cost). Where other threads
/// want the core, which it offers them, it should sleep after as much of its own time. That is
/// after [`Backoff::GIVEN`] times the cost at most.
#[derive(Debug)]
pub struct SpinWait {
    backoff: Backoff,
    turns: u32,
    /// The number of [`moves`] when the wait began to measure.
    moves: u32,
}

/// What the waiting future has to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Advice {
    /// It is there: go on.
    Ready,
    /// Return `Poll::Pending`: the task will be polled again in its turn. No waker is needed.
    Again,
    /// Register the waker, look once more, return `Poll::Pending`.
    Sleep,
}

impl SpinWait {
    /// What waking a task costs whose worker sleeps, if it is woken at once.
    pub const WAKE_COST: Duration = Duration::from_micros(60);

    /// Looks in one slice of spinning: about half a microsecond.
    const SLICE: u32 = 32;
    /// Turns between two looks at the clock while the worker has other work.
    const TURNS: u32 = 8;

    /// A wait that begins now.
    #[must_use]
    pub fn new() -> Self {
        SpinWait {
            backoff: Backoff::new(Self::WAKE_COST),
            turns: 0,
            moves: 0,
        }
    }

    /// What was waited for is there; the next wait begins anew.
    #[inline]
    pub fn end(&mut self) {
        worker::with_current(Worker::fruitful);
        self.backoff.restart();
        self.turns = 0;
    }

    /// Waits a little for `ready`, which must be quick and is called at least once.
    #[inline]
    pub fn wait(&mut self, cx: &Context<'_>, mut ready: impl FnMut() -> bool) -> Advice {
        if ready() {
            worker::with_current(Worker::fruitful);
            return Advice::Ready;
        }
        if EAGER.with(Cell::get) {
            return look_on(ready).unwrap_or(Advice::Again);
        }
        worker::with_current(|worker| self.wait_on(worker, cx, ready)).unwrap_or(Advice::Sleep)
    }

    /// How the wait goes on that has lasted. Most end before: they need not know what a wake-up
    /// costs here.
    fn backoff(&mut self, worker: &Worker) -> &mut Backoff {
        if !self.backoff.has_begun() {
            self.backoff = Backoff::new(worker.pool().wake_cost);
            self.moves = moves();
        }
        &mut self.backoff
    }

    /// Whether this thread has moved parts of long messages since the wait began to measure: then
    /// it begins anew.
    fn has_moved(&mut self) -> bool {
        let moved = moves() != self.moves;
        if moved {
            self.backoff.restart();
        }
        moved
    }

    fn wait_on(
        &mut self,
        worker: &Worker,
        cx: &Context<'_>,
        mut ready: impl FnMut() -> bool,
    ) -> Advice {
        let mut patient = true;
        if worker.has_other_work() {
            worker.fruitless();
            self.turns += 1;
            if self.turns.is_multiple_of(Self::TURNS) {
                patient = self.backoff(worker).within_budget() || self.has_moved();
            }
        } else {
            if let Some(ready) = look_on(&mut ready) {
                worker.fruitful();
                return ready;
            }
            patient =
                worker.is_patient() || self.backoff(worker).go_on_beside() || self.has_moved();
        }
        if patient && worker.poll_again(cx) {
            Advice::Again
        } else {
            Advice::Sleep
        }
    }
}

/// Spins for a slice; whether it is there then.
#[inline]
fn look_on(mut ready: impl FnMut() -> bool) -> Option<Advice> {
    for _ in 0..SpinWait::SLICE {
        spin_loop();
        if ready() {
            return Some(Advice::Ready);
        }
    }
    None
}

thread_local! {
    /// The thread polls again by itself.
    static EAGER: Cell<bool> = const { Cell::new(false) };
    static MOVES: Cell<u32> = const { Cell::new(0) };
}

/// Tells the waits of this thread that a part of a long message has been moved in one of their
/// looks. The rest takes longer than a wait looks, and is moved by who looks: so they go on.
pub fn keep_looking() {
    MOVES.with(|moves| moves.set(moves.get().wrapping_add(1)));
}

/// How often [`keep_looking`] has been called on this thread. Who polls [`eagerly`] begins its wait
/// anew when this has changed.
#[must_use]
pub fn moves() -> u32 {
    MOVES.with(Cell::get)
}

/// Calls `poll`, in which waits look for a moment and do not go to sleep. They leave no waker, and
/// the caller polls again by itself. For a thread that polls a future with a waker of its own, as
/// long as it would rather look than sleep.
pub fn eagerly<R>(poll: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            EAGER.with(|eager| eager.set(self.0));
        }
    }
    let _before = Before(EAGER.with(|eager| eager.replace(true)));
    poll()
}

impl Default for SpinWait {
    fn default() -> Self {
        SpinWait::new()
    }
}

#[cfg(all(test, not(motet_loom), not(motet_shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_begins_anew_when_its_thread_has_moved_a_part_of_a_long_message() {
        let mut wait = SpinWait::new();
        (wait.backoff, wait.moves) = (Backoff::new(Duration::ZERO), moves());
        assert!(!wait.backoff.within_budget() && !wait.has_moved());
        keep_looking();
        assert!(wait.has_moved() && !wait.backoff.has_begun());
        wait.moves = moves();
        assert!(!wait.has_moved(), "each move counts once");
    }
}
