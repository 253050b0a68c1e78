//! A queue that is never full: for tasks that nobody can be asked to bring again.

use crate::delivery::QueueHandle;
use motet_dispatch::{Clock, Enqueue, Exception, QueueError, Task, Waiter};
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Queues its tasks beyond the depth of the queue behind it, as tasks that come back are.
pub(crate) struct Beyond(QueueHandle);

impl Beyond {
    pub(crate) fn queue(queue: &QueueHandle) -> QueueHandle {
        Arc::new(Beyond(Arc::clone(queue)))
    }
}

impl Enqueue for Beyond {
    fn reserve(&self) -> Result<(), QueueError> {
        Ok(())
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
        Arc::new(Beyond(Arc::clone(&self.0)))
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

    fn arbiter_ended(&self) {
        self.0.arbiter_ended();
    }

    fn raise(&self, exception: Exception) {
        self.0.raise(exception);
    }
}
