//! The part of a queue that belongs to one worker.

use crate::clock::Clock;
use crate::line::RoomLine;
use crate::queue_core::QueueCore;
use crate::waiting::Waiter;
use crate::worker;
use crate::{Enqueue, Exception, QueueError, Task};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Tasks queued here are run by one worker only, never stolen. Within one poster they run in
/// order; they take turns with the other tasks of the queue.
///
/// This is where tasks live whose data should stay in one core's cache, or which must not leave
/// their thread (ranks). Made by [`DispatcherQueue::home`](crate::DispatcherQueue::home).
#[derive(Clone)]
pub struct Home {
    queue: Arc<QueueCore>,
    worker: usize,
}

impl Home {
    pub(crate) fn new(queue: Arc<QueueCore>, worker: usize) -> Self {
        Home { queue, worker }
    }

    /// The worker that runs the tasks.
    #[must_use]
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Queues a task that has passed the gate.
    #[inline]
    fn push(&self, task: Task) {
        if let Err(task) = worker::push_home(&self.queue, self.worker, task)
            && self.queue.leave_for(self.worker, task)
        {
            worker::expect_sleeper();
        }
    }
}

impl Enqueue for Home {
    fn reserve(&self) -> Result<(), QueueError> {
        self.queue.claim_room()
    }

    fn is_free(&self) -> bool {
        self.queue.is_free()
    }

    fn is_stopped(&self) -> bool {
        self.queue.is_stopped()
    }

    fn release(&self) {
        self.queue.release_room();
    }

    #[inline]
    fn admit(&self, task: Task) {
        if self.queue.diverts() {
            let free = self.queue.divert(task, Some(self.worker), false);
            return free.into_iter().for_each(|task| self.push(task));
        }
        self.push(task);
    }

    #[inline]
    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        if self.queue.diverts() {
            return Err(task);
        }
        worker::push_home(&self.queue, self.worker, task)
    }

    #[inline]
    fn readmit(&self, task: Task) {
        self.queue.returns();
        self.admit_kept(task);
    }

    fn admit_kept(&self, task: Task) {
        if self.queue.diverts() {
            let free = self.queue.divert(task, Some(self.worker), true);
            return free.into_iter().for_each(|task| self.push(task));
        }
        self.push(task);
    }

    fn room(&self) -> Option<RoomLine> {
        self.queue.line().cloned()
    }

    fn is_own_worker(&self) -> bool {
        worker::is_of(&self.queue.pool)
    }

    fn hold(&self) {
        self.queue.returns();
    }

    fn leaves(&self) {
        self.queue.leaves();
    }

    fn may_start(&self) -> bool {
        self.queue.runs()
    }

    fn watch(&self, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
        self.queue.watch(waiter, created);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(self.clone())
    }

    fn name(&self) -> &str {
        &self.queue.config.name
    }

    fn clock(&self) -> Clock {
        self.queue.own_clock()
    }

    fn raise(&self, exception: Exception) {
        self.queue.raise(exception);
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Home")
            .field("queue", &self.queue.config.name)
            .field("worker", &self.worker)
            .finish()
    }
}
