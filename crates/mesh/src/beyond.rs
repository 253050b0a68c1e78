//! The queue of a node for tasks that nobody would bring again: it is never full.

use motet_dispatch::{Clock, Enqueue, Exception, QueueError, Task, Waiter};
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Queues its tasks beyond the depth of the queue behind it, as tasks that come back are.
struct QueueOfTasks(Arc<dyn Enqueue>);

/// The queue itself, if it has no limit.
pub(crate) fn for_tasks(queue: &Arc<dyn Enqueue>) -> Arc<dyn Enqueue> {
    match queue.is_free() {
        true => Arc::clone(queue),
        false => Arc::new(QueueOfTasks(Arc::clone(queue))),
    }
}

impl Enqueue for QueueOfTasks {
    fn reserve(&self) -> Result<(), QueueError> {
        match self.0.is_stopped() {
            true => Err(QueueError::Stopped),
            false => Ok(()),
        }
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    fn release(&self) {}

    fn admit(&self, task: Task) {
        self.0.readmit(task);
    }

    fn readmit(&self, task: Task) {
        self.0.readmit(task);
    }

    fn may_start(&self) -> bool {
        self.0.may_start()
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(QueueOfTasks(Arc::clone(&self.0)))
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    fn watch(&self, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
        self.0.watch(waiter, created);
    }

    fn raise(&self, exception: Exception) {
        self.0.raise(exception);
    }
}
