//! What is counted: from the end of the warm-up to the last step.

use motet_sync::atomic::{AtomicU64, Ordering};
use std::hint::black_box;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Steps that are counted, and as many before them that are not.
pub(crate) const STEPS: u64 = 1000;

/// Callgrind forgets what it has counted when this is called: `cargo xtask counts` names it.
#[inline(never)]
pub(crate) fn counted_begin() {
    black_box(1);
}

/// Callgrind writes down what it has counted when this is called.
#[inline(never)]
pub(crate) fn counted_end() {
    black_box(2);
}

/// Counts the steps of handlers that start one another, and tells when the last has run.
pub(crate) struct StepCounter {
    done: AtomicU64,
    end: Sender<()>,
}

impl StepCounter {
    /// No steps yet, and where their end is told.
    pub(crate) fn new() -> (StepCounter, Receiver<()>) {
        let (end, ended) = channel();
        let done = AtomicU64::new(0);
        (StepCounter { done, end }, ended)
    }

    /// One more step; whether there are more after it.
    #[inline]
    pub(crate) fn go_on(&self) -> bool {
        // One thread at a time takes a step.
        let done = self.done.load(Ordering::Relaxed) + 1;
        self.done.store(done, Ordering::Relaxed);
        if done == STEPS {
            counted_begin();
        } else if done == 2 * STEPS {
            counted_end();
            let _ = self.end.send(());
            return false;
        }
        true
    }
}

/// Takes the steps in a row on this thread.
pub(crate) fn in_turn(mut step: impl FnMut(u64)) {
    (0..STEPS).for_each(&mut step);
    counted_begin();
    (0..STEPS).for_each(&mut step);
    counted_end();
}
