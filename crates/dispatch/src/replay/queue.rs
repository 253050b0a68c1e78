//! A queue of a replay.

use super::core::{Owner, ReplayCore};
use crate::clock::Clock;
use crate::counters::QueueCounters;
use crate::line::RoomLine;
use crate::policy::ExecutionPolicyNotification;
use crate::queue_core::QueueConfig;
use crate::waiting::Waiter;
use crate::{Enqueue, Exception, QueueError, Task};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// A queue of tasks that one [`Replay`](crate::Replay) runs; clones are the same queue. Where a
/// program has a [`DispatcherQueue`](crate::DispatcherQueue) it may have one of these.
///
/// It takes tasks from any thread. What other threads queue comes when it comes, so a program that
/// uses some does not repeat.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, QueueError, Replay, Task};
///
/// let replay = Replay::new(1);
/// let queue = replay.queue(QueueConfig::bounded("small", 1));
/// queue.enqueue(Task::new(|| ())).unwrap();
/// assert_eq!(queue.enqueue(Task::new(|| ())).unwrap_err().reason, QueueError::Full);
/// replay.run();
/// assert_eq!(queue.counters().executed, 1);
/// ```
#[derive(Clone)]
pub struct ReplayQueue {
    core: Arc<ReplayCore>,
    /// The queue's place among those of the replay.
    index: usize,
    owner: Arc<Owner>,
}

impl ReplayQueue {
    pub(super) fn new(core: &Arc<ReplayCore>, config: QueueConfig) -> Self {
        let (index, owner) = core.add(config);
        ReplayQueue {
            core: Arc::clone(core),
            index,
            owner,
        }
    }

    /// Lets no further task start. Tasks are still queued.
    pub fn suspend(&self) {
        self.core.suspend(self.index, true);
    }

    /// Lets tasks start again, those queued meanwhile included.
    pub fn resume(&self) {
        self.core.suspend(self.index, false);
    }

    /// Whether the queue is suspended.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.core.is_suspended(self.index)
    }

    /// The counters as they are now.
    #[must_use]
    pub fn counters(&self) -> QueueCounters {
        QueueCounters {
            discarded: self.owner.notifications.discarded(),
            throttled: self.owner.notifications.throttled(),
            ..self.core.counters(self.index)
        }
    }

    /// As [`DispatcherQueue::on_notification`](crate::DispatcherQueue::on_notification).
    pub fn on_notification(
        &self,
        handler: impl Fn(ExecutionPolicyNotification) + Send + Sync + 'static,
    ) {
        self.owner.notifications.set(Arc::new(handler));
    }

    /// Tells `handler` of each panic of a task of this queue, instead of the replay's handler and
    /// standard error.
    pub fn on_exception(&self, handler: impl Fn(Exception) + Send + Sync + 'static) {
        self.owner.routes.set(Arc::new(handler));
    }
}

impl Enqueue for ReplayQueue {
    fn reserve(&self) -> Result<(), QueueError> {
        self.core.reserve(self.index)
    }

    fn is_free(&self) -> bool {
        self.core.is_free(self.index)
    }

    fn is_stopped(&self) -> bool {
        self.core.is_closed()
    }

    fn release(&self) {
        if let Some(room) = self.room() {
            room.give_up();
        }
    }

    fn admit(&self, task: Task) {
        self.core.push(self.index, task, false);
    }

    fn readmit(&self, task: Task) {
        self.hold();
        self.admit_kept(task);
    }

    fn admit_kept(&self, task: Task) {
        self.core.push(self.index, task, true);
    }

    fn room(&self) -> Option<RoomLine> {
        self.core.room(self.index)
    }

    /// A task of a replay runs on the only thread there is.
    fn is_own_worker(&self) -> bool {
        Clock::of_thread().is_some()
    }

    fn hold(&self) {
        if let Some(room) = self.room() {
            room.exceed();
        }
    }

    fn leaves(&self) {
        if let Some(room) = self.room()
            && room.leave()
        {
            room.serve();
        }
    }

    fn may_start(&self) -> bool {
        !self.is_suspended()
    }

    fn watch(&self, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
        self.core.registry.enter(None, waiter, created);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(self.clone())
    }

    fn name(&self) -> &str {
        &self.owner.name
    }

    fn clock(&self) -> Clock {
        self.core.clock().scaled(self.owner.timescale)
    }

    fn raise(&self, exception: Exception) {
        self.owner.routes.raise(exception);
    }
}

impl fmt::Debug for ReplayQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayQueue")
            .field("name", &self.owner.name)
            .field("suspended", &self.is_suspended())
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}
