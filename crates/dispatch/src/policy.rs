//! Execution policies: what a queue does with a task for which it has no room.

use crate::Task;
use crate::rate::Rate;
use crate::route;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The limit of a queue, and what happens beyond it. The names are CCR's, but for
/// [`RejectTasks`](ExecutionPolicy::RejectTasks).
///
/// A task that is woken, and the registration of an arbiter, were let in before or are no load.
/// They take no room, and are never discarded.
///
/// | policy | `enqueue`, `post` | `enqueue_wait`, `post_wait` |
/// |---|---|---|
/// | `Unconstrained` | takes it | takes it |
/// | `RejectTasks` | hands it back | the same |
/// | `ConstrainQueueDepthDiscardTasks` | takes it, discards the oldest | the same |
/// | `ConstrainQueueDepthThrottleExecution` | hands it back | waits for room, in order |
/// | `ConstrainSchedulingRateDiscardTasks` | discards it | the same |
/// | `ConstrainSchedulingRateThrottleExecution` | hands it back | waits for its time, in order |
///
/// CCR's throttling puts the poster's thread to sleep, which may be a worker that the queue needs
/// to become empty. Here only those wait who ask for it, and no worker does.
///
/// ```
/// use motet_dispatch::{Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, Task};
///
/// let dispatcher = Dispatcher::new(1);
/// let newest = dispatcher.queue(QueueConfig {
///     policy: ExecutionPolicy::ConstrainQueueDepthDiscardTasks { depth: 2.try_into().unwrap() },
///     ..QueueConfig::named("newest")
/// });
/// newest.suspend();
/// (0..5).for_each(|_| newest.enqueue(Task::new(|| ())).unwrap());
/// newest.resume();
/// dispatcher.wait_idle();
/// assert_eq!((newest.counters().executed, newest.counters().discarded), (2, 3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ExecutionPolicy {
    /// No limit.
    #[default]
    Unconstrained,
    /// A task beyond the depth is handed back. A depth of 0 takes nothing.
    RejectTasks {
        /// The number of tasks that may wait.
        depth: usize,
    },
    /// A task beyond the depth takes the place of the oldest, which is discarded.
    ConstrainQueueDepthDiscardTasks {
        /// The number of tasks that may wait.
        depth: NonZeroUsize,
    },
    /// A task beyond the depth is handed back, or waits for room, as its poster likes. Those who
    /// begin to wait are announced as [`Throttled`](ExecutionPolicyNotification::Throttled).
    ConstrainQueueDepthThrottleExecution {
        /// The number of tasks that may wait.
        depth: NonZeroUsize,
    },
    /// A task that comes too early is discarded.
    ConstrainSchedulingRateDiscardTasks {
        /// The rate at which tasks are taken.
        rate: Rate,
    },
    /// A task that comes too early is handed back, or waits for its time, as its poster likes.
    /// Those who begin to wait are announced as
    /// [`Throttled`](ExecutionPolicyNotification::Throttled).
    ConstrainSchedulingRateThrottleExecution {
        /// The rate at which tasks are taken.
        rate: Rate,
    },
}

/// What a queue tells of its policy at work.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExecutionPolicyNotification {
    /// This task was discarded. It still holds its items: run it, or drop it. (Cleaned up, it
    /// brings them back to their ports, whose receivers queue them anew.)
    Discarded(Task),
    /// Someone begins to wait for room.
    Throttled,
}

/// Someone who is told of a policy at work.
type Handler = dyn Fn(ExecutionPolicyNotification) + Send + Sync;

/// Who is told, and how often there was something to tell.
#[derive(Default)]
pub(crate) struct Notifications {
    handler: Mutex<Option<Arc<Handler>>>,
    discarded: AtomicU64,
    throttled: AtomicU64,
}

impl Notifications {
    pub(crate) fn set(&self, handler: Arc<Handler>) {
        let before = self.handler.lock().replace(handler);
        // Outside the lock: its destructor is the program's.
        drop(before);
    }

    /// Gives a task up: to the handler if there is one. Called under no lock.
    pub(crate) fn discard(&self, task: Task) {
        self.discarded.fetch_add(1, Ordering::Relaxed);
        self.tell(ExecutionPolicyNotification::Discarded(task));
    }

    /// Someone begins to wait. Called under no lock.
    pub(crate) fn throttle(&self) {
        self.throttled.fetch_add(1, Ordering::Relaxed);
        self.tell(ExecutionPolicyNotification::Throttled);
    }

    pub(crate) fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }

    pub(crate) fn throttled(&self) -> u64 {
        self.throttled.load(Ordering::Relaxed)
    }

    /// A handler, and the destructor of what it does not want, are user code on the thread of
    /// someone who posted. So a panic there ends at standard error.
    fn tell(&self, notification: ExecutionPolicyNotification) {
        let handler = self.handler.lock().clone();
        route::guarded("on_notification", &[], || match handler {
            Some(handler) => handler(notification),
            None => drop(notification),
        });
    }
}

impl fmt::Debug for Notifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifications")
            .field("discarded", &self.discarded())
            .field("throttled", &self.throttled())
            .finish_non_exhaustive()
    }
}
