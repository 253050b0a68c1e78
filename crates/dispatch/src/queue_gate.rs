//! What stands between a queue and its tasks: its execution policy at work.

use crate::clock::Clock;
use crate::limit::{QueueLimit, nanoseconds};
use crate::line::RoomLine;
use crate::policy::{ExecutionPolicy, Notifications};
use crate::rate::TokenBucket;
use crate::route::Routes;
use crate::store::TaskStore;
use crate::{QueueError, Task};
use motet_sync::atomic::AtomicUsize;
use std::sync::Arc;
use std::time::Instant;

/// How a queue lets tasks in. `Open` is the fast path: all others are looked at behind it.
pub(crate) enum QueueGate {
    /// Every task.
    Open,
    /// As long as there is room, which can be waited for.
    Line(RoomLine),
    /// Every task, at the cost of the oldest; all its tasks wait in the store.
    DiscardOldest(TaskStore),
    /// As fast as a rate allows; others are discarded.
    DiscardFast(TokenBucket, Clock, Instant),
}

impl QueueGate {
    /// The gate of a queue, whose rates are those of `clock` and whose panics go by `routes`.
    pub(crate) fn new(
        policy: ExecutionPolicy,
        workers: usize,
        clock: Clock,
        told: &Arc<Notifications>,
        routes: &Arc<Routes>,
    ) -> Self {
        let depth = |depth| QueueLimit::Depth(depth, AtomicUsize::new(0));
        match policy {
            ExecutionPolicy::Unconstrained => QueueGate::Open,
            ExecutionPolicy::RejectTasks { depth: most } => {
                QueueGate::Line(RoomLine::new(depth(most), None, routes))
            }
            ExecutionPolicy::ConstrainQueueDepthDiscardTasks { depth } => {
                QueueGate::DiscardOldest(TaskStore::new(depth, workers))
            }
            ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth: most } => {
                QueueGate::Line(RoomLine::new(
                    depth(most.get()),
                    Some(Arc::clone(told)),
                    routes,
                ))
            }
            ExecutionPolicy::ConstrainSchedulingRateDiscardTasks { rate } => {
                let begun = clock.now();
                QueueGate::DiscardFast(TokenBucket::new(rate), clock, begun)
            }
            ExecutionPolicy::ConstrainSchedulingRateThrottleExecution { rate } => {
                let begun = clock.now();
                let limit = QueueLimit::Rate(TokenBucket::new(rate), clock, begun);
                QueueGate::Line(RoomLine::new(limit, Some(Arc::clone(told)), routes))
            }
        }
    }

    /// Whether there is no limit.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, QueueGate::Open)
    }

    /// Claims room for one task.
    pub(crate) fn claim(&self) -> Result<(), QueueError> {
        match self {
            QueueGate::Line(line) => line.claim(),
            QueueGate::Open | QueueGate::DiscardOldest(_) | QueueGate::DiscardFast(..) => Ok(()),
        }
    }

    /// The line for room.
    #[inline]
    pub(crate) fn line(&self) -> Option<&RoomLine> {
        match self {
            QueueGate::Line(line) => Some(line),
            QueueGate::Open | QueueGate::DiscardOldest(_) | QueueGate::DiscardFast(..) => None,
        }
    }

    /// The place where the tasks wait, when they do not wait at the workers.
    #[inline]
    pub(crate) fn store(&self) -> Option<&TaskStore> {
        match self {
            QueueGate::DiscardOldest(store) => Some(store),
            QueueGate::Open | QueueGate::Line(_) | QueueGate::DiscardFast(..) => None,
        }
    }

    /// Whether admitted tasks go by [`QueueGate::pass`].
    #[inline]
    pub(crate) fn discards(&self) -> bool {
        !self.is_open()
            && matches!(
                self,
                QueueGate::DiscardOldest(_) | QueueGate::DiscardFast(..)
            )
    }

    /// Lets a task through on its way to `home`, or to any worker. A task that is `kept` is not
    /// discarded.
    pub(crate) fn pass(&self, task: Task, home: Option<usize>, kept: bool) -> Passage {
        match self {
            QueueGate::DiscardOldest(store) => Passage::Stored {
                discarded: store.push(task, home, kept),
            },
            QueueGate::DiscardFast(bucket, clock, begun) => {
                if kept
                    || bucket
                        .take(nanoseconds(clock.now().saturating_duration_since(*begun)))
                        .is_ok()
                {
                    Passage::Free(task)
                } else {
                    Passage::Discarded(task)
                }
            }
            QueueGate::Open | QueueGate::Line(_) => Passage::Free(task),
        }
    }
}

/// What the gate has done with an admitted task.
pub(crate) enum Passage {
    /// It goes where tasks of a queue without policy go.
    Free(Task),
    /// It waits in the store; another one may have had to leave.
    Stored { discarded: Option<Task> },
    /// It is discarded.
    Discarded(Task),
}
