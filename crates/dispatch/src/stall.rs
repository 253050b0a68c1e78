//! Handlers that hold their worker too long: seen by a thread that looks at all workers now and
//! then.
//!
//! A worker of a dispatcher that is watched writes down what it begins to run, in a slot of its
//! own. It never looks at a clock. The watcher sees whether that has changed since its last look. A
//! dispatcher that is not watched pays for one comparison with null.

use crate::route::tell_standard_error;
use motet_sync::{CachePadded, Condvar, Mutex};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A handler that has held its worker for longer than the limit, and still does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stall {
    /// The number of the worker, whose thread's name ends with it.
    pub worker: usize,
    /// The name of the queue whose task runs.
    pub queue: String,
    /// The type of the handler, which says where it was written:
    /// [`Task::name`](crate::Task::name).
    pub handler: &'static str,
    /// How long it has run, at least.
    pub held_for: Duration,
}

/// Someone who is told of stalls.
pub(crate) type StallHandler = dyn Fn(Stall) + Send + Sync;

/// What the watcher and the workers share.
pub(crate) struct StallWatch {
    limit: Duration,
    workers: Box<[CachePadded<Mutex<Running>>]>,
    handler: Mutex<Option<Arc<StallHandler>>>,
    stopped: Mutex<bool>,
    stop: Condvar,
}

/// What a worker runs.
#[derive(Clone, Copy, Default)]
struct Running {
    /// Changes with each task.
    turn: u64,
    /// The slot of its queue, and its name; `None` when the worker looks for work or sleeps.
    task: Option<(usize, &'static str)>,
}

/// What the watcher saw of a worker.
#[derive(Clone, Copy)]
struct Seen {
    turn: u64,
    since: Instant,
    told: bool,
}

impl StallWatch {
    pub(crate) fn new(limit: Duration, workers: usize) -> Self {
        StallWatch {
            limit,
            workers: (0..workers).map(|_| CachePadded::default()).collect(),
            handler: Mutex::new(None),
            stopped: Mutex::new(false),
            stop: Condvar::new(),
        }
    }

    pub(crate) fn set_handler(&self, handler: Arc<StallHandler>) {
        let before = self.handler.lock().replace(handler);
        // Outside the lock: its destructor is the program's.
        drop(before);
    }

    /// Worker `index` begins a task of the queue in that slot.
    pub(crate) fn begin(&self, index: usize, slot: usize, name: &'static str) {
        let mut running = self.workers[index].lock();
        running.turn += 1;
        running.task = Some((slot, name));
    }

    /// Worker `index` has nothing to run.
    pub(crate) fn rest(&self, index: usize) {
        self.workers[index].lock().task = None;
    }

    /// Lets the watcher end.
    pub(crate) fn stop(&self) {
        *self.stopped.lock() = true;
        self.stop.notify_all();
    }

    /// The life of the watcher's thread. `queue_name` knows the queues by slot.
    pub(crate) fn watch(&self, queue_name: impl Fn(usize) -> String) {
        let mut seen = vec![None; self.workers.len()];
        let mut stopped = self.stopped.lock();
        while !*stopped {
            let pause = (self.limit / 4).max(Duration::from_millis(1));
            (stopped, _) = self.stop.wait_timeout(stopped, pause);
            if *stopped {
                return;
            }
            drop(stopped);
            for (worker, seen) in seen.iter_mut().enumerate() {
                if let Some((slot, handler, held_for)) = self.look(worker, seen) {
                    self.tell(Stall {
                        worker,
                        queue: queue_name(slot),
                        handler,
                        held_for,
                    });
                }
            }
            stopped = self.stopped.lock();
        }
    }

    /// What one worker has run for too long, if it is news.
    fn look(
        &self,
        worker: usize,
        seen: &mut Option<Seen>,
    ) -> Option<(usize, &'static str, Duration)> {
        let running = *self.workers[worker].lock();
        let Some((slot, name)) = running.task else {
            *seen = None;
            return None;
        };
        let same = seen.filter(|seen| seen.turn == running.turn);
        let now = seen.insert(same.unwrap_or(Seen {
            turn: running.turn,
            since: Instant::now(),
            told: false,
        }));
        let held_for = now.since.elapsed();
        if now.told || held_for < self.limit {
            return None;
        }
        now.told = true;
        Some((slot, name, held_for))
    }

    fn tell(&self, stall: Stall) {
        let handler = self.handler.lock().clone();
        let told = catch_unwind(AssertUnwindSafe(|| match handler {
            Some(handler) => handler(stall),
            None => tell_standard_error(&stall.to_string()),
        }));
        if told.is_err() {
            tell_standard_error("the handler of on_stall panicked");
        }
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a handler of queue '{}' has held worker {} for {} ms: {} (await blocking calls by \
             run_blocking)",
            self.queue,
            self.worker,
            self.held_for.as_millis(),
            self.handler
        )
    }
}
