//! A queue that is never full: for tasks that nobody can be asked to bring again.

use crate::{Clock, Enqueue, Exception, QueueError, Task, Waiter};
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Queues its tasks beyond the depth of the queue behind it, as tasks that come back are.
struct BeyondDepth(Arc<dyn Enqueue>);

/// The same queue for tasks that nobody would bring again: it has room for them whatever its limits
/// are. They count in its depth. Refused are those that come when it is stopped.
///
/// ```
/// use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, beyond_depth};
///
/// let dispatcher = Dispatcher::new(1);
/// let queue = dispatcher.queue(QueueConfig::bounded("short", 1));
/// queue.suspend();
/// assert_eq!(queue.reserve(), Ok(()));
/// assert!(queue.reserve().is_err());
/// assert_eq!(beyond_depth(&queue.handle()).reserve(), Ok(()));
/// ```
#[must_use]
pub fn beyond_depth(queue: &Arc<dyn Enqueue>) -> Arc<dyn Enqueue> {
    match queue.is_free() {
        true => Arc::clone(queue),
        false => Arc::new(BeyondDepth(Arc::clone(queue))),
    }
}

impl Enqueue for BeyondDepth {
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
        Arc::new(BeyondDepth(Arc::clone(&self.0)))
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
