//! Changes that wait, in batches: up to sixteen are one exclusive handler.
//!
//! ```text
//!   calls ──► items, oldest first:  a b c d │ e f      one post to the port of batches for each batch
//!                                   batch 1 │ batch 2  begun when the one before is full, begun or closed
//! ```
//!
//! A batch is closed when an operation is posted that goes by a port of its own. So all of them
//! stay in the order of their calls.

use super::slot::OperationItem;
use crate::Contract;
use motet_dispatch::drop_each;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::mem;

/// The changes of a service that wait, and whose handlers do not.
pub(crate) struct Batches<C: Contract> {
    waiting: Mutex<WaitingService<C>>,
    running: BatchesRun,
}

/// Whether a batch is handled now.
pub(crate) struct BatchesRun(AtomicBool);

impl BatchesRun {
    #[inline]
    pub(crate) fn is_now(&self) -> bool {
        // Relaxed, here and below: it decides only how long a caller looks.
        self.0.load(Ordering::Relaxed)
    }
}

struct WaitingService<C: Contract> {
    items: VecDeque<OperationItem<C>>,
    /// How many of them are of each batch, oldest first.
    counts: VecDeque<usize>,
    /// Whether the youngest batch takes more.
    is_open: bool,
}

impl<C: Contract> Drop for WaitingService<C> {
    /// One by one: two panics of what users gave would end the process.
    fn drop(&mut self) {
        drop_each(mem::take(&mut self.items));
    }
}

/// A batch that is handled.
pub(crate) struct RunningBatch<'a>(&'a AtomicBool);

impl Drop for RunningBatch<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// So many are of one batch at most.
const MOST: usize = 16;

impl<C: Contract> Batches<C> {
    /// Adds an item to the youngest batch, or to a new one, which `post` posts; called under the
    /// lock.
    ///
    /// # Errors
    /// The item, and why the batch was not posted.
    #[expect(
        clippy::result_large_err,
        reason = "what was given comes back as it was"
    )]
    pub(crate) fn add<E>(
        &self,
        item: OperationItem<C>,
        post: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), (OperationItem<C>, E)> {
        let mut waiting = self.waiting.lock();
        if let (true, Some(count)) = (waiting.is_open, waiting.counts.back_mut()) {
            *count += 1;
            waiting.is_open = *count < MOST;
            waiting.items.push_back(item);
            return Ok(());
        }
        // Whoever handles it waits for the lock.
        if let Err(why) = post() {
            return Err((item, why));
        }
        waiting.items.push_back(item);
        waiting.counts.push_back(1);
        waiting.is_open = true;
        Ok(())
    }

    /// What is added from here on is of another batch than what was added before.
    pub(crate) fn close(&self) {
        self.waiting.lock().is_open = false;
    }

    /// Whether a batch is handled now.
    pub(crate) fn run_now(&self) -> &BatchesRun {
        &self.running
    }

    /// A batch is handled until this is dropped.
    pub(crate) fn run(&self) -> RunningBatch<'_> {
        self.running.0.store(true, Ordering::Relaxed);
        RunningBatch(&self.running.0)
    }

    /// Takes the oldest batch.
    pub(crate) fn take(&self) -> VecDeque<OperationItem<C>> {
        let mut waiting = self.waiting.lock();
        let count = waiting.counts.pop_front().unwrap_or(0);
        if waiting.counts.is_empty() {
            waiting.is_open = false;
        }
        let later = waiting.items.split_off(count);
        mem::replace(&mut waiting.items, later)
    }
}

impl<C: Contract> Default for Batches<C> {
    fn default() -> Self {
        let waiting = WaitingService {
            items: VecDeque::new(),
            counts: VecDeque::new(),
            is_open: false,
        };
        Batches {
            waiting: Mutex::new(waiting),
            running: BatchesRun(AtomicBool::new(false)),
        }
    }
}
