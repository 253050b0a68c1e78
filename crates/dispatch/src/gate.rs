//! What stands between a queue and its tasks: its execution policy at work.

use crate::clock::Clock;
use crate::limit::{Limit, nanoseconds};
use crate::line::RoomLine;
use crate::policy::{ExecutionPolicy, Notifications};
use crate::rate::TokenBucket;
use crate::route::Routes;
use crate::store::Store;
use crate::{QueueError, Task};
use motet_sync::atomic::AtomicUsize;
use std::sync::Arc;
use std::time::Instant;

/// How a queue lets tasks in. `Open` is the fast path: all others are looked at behind it.
pub(crate) enum Gate {
    /// Every task.
    Open,
    /// As long as there is room, which can be waited for.
    Line(RoomLine),
    /// Every task, at the cost of the oldest; all its tasks wait in the store.
    DiscardOldest(Store),
    /// As fast as a rate allows; others are discarded.
    DiscardFast(TokenBucket, Clock, Instant),
}

impl Gate {
    /// The gate of a queue, whose rates are those of `clock` and whose panics go by `routes`.
    pub(crate) fn new(
        policy: ExecutionPolicy,
        workers: usize,
        clock: Clock,
        told: &Arc<Notifications>,
        routes: &Arc<Routes>,
    ) -> Self {
        let depth = |depth| Limit::Depth(depth, AtomicUsize::new(0));
        match policy {
            ExecutionPolicy::Unconstrained => Gate::Open,
            ExecutionPolicy::RejectTasks { depth: most } => {
                Gate::Line(RoomLine::new(depth(most), None, routes))
            }
            ExecutionPolicy::ConstrainQueueDepthDiscardTasks { depth } => {
                Gate::DiscardOldest(Store::new(depth, workers))
            }
            ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth: most } => Gate::Line(
                RoomLine::new(depth(most.get()), Some(Arc::clone(told)), routes),
            ),
            ExecutionPolicy::ConstrainSchedulingRateDiscardTasks { rate } => {
                let begun = clock.now();
                Gate::DiscardFast(TokenBucket::new(rate), clock, begun)
            }
            ExecutionPolicy::ConstrainSchedulingRateThrottleExecution { rate } => {
                let begun = clock.now();
                let limit = Limit::Rate(TokenBucket::new(rate), clock, begun);
                Gate::Line(RoomLine::new(limit, Some(Arc::clone(told)), routes))
            }
        }
    }

    /// Whether there is no limit.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Gate::Open)
    }

    /// Claims room for one task.
    pub(crate) fn claim(&self) -> Result<(), QueueError> {
        match self {
            Gate::Line(line) => line.claim(),
            Gate::Open | Gate::DiscardOldest(_) | Gate::DiscardFast(..) => Ok(()),
        }
    }

    /// The line for room.
    #[inline]
    pub(crate) fn line(&self) -> Option<&RoomLine> {
        match self {
            Gate::Line(line) => Some(line),
            Gate::Open | Gate::DiscardOldest(_) | Gate::DiscardFast(..) => None,
        }
    }

    /// The place where the tasks wait, when they do not wait at the workers.
    #[inline]
    pub(crate) fn store(&self) -> Option<&Store> {
        match self {
            Gate::DiscardOldest(store) => Some(store),
            Gate::Open | Gate::Line(_) | Gate::DiscardFast(..) => None,
        }
    }

    /// Whether admitted tasks go by [`Gate::pass`].
    #[inline]
    pub(crate) fn discards(&self) -> bool {
        !self.is_open() && matches!(self, Gate::DiscardOldest(_) | Gate::DiscardFast(..))
    }

    /// Lets a task through on its way to `home`, or to any worker. A task that is `kept` is not
    /// discarded.
    pub(crate) fn pass(&self, task: Task, home: Option<usize>, kept: bool) -> Passage {
        match self {
            Gate::DiscardOldest(store) => Passage::Stored {
                discarded: store.push(task, home, kept),
            },
            Gate::DiscardFast(bucket, clock, begun) => {
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
            Gate::Open | Gate::Line(_) => Passage::Free(task),
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
