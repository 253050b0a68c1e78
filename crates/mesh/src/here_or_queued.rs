//! Where a task runs: on the thread that wakes it, or by a queue.

use crate::unwinding::on_panic;
use motet_dispatch::{Clock, Enqueue, Exception, Inline, QueueError, Task, inside_task};
use std::cell::Cell;
use std::sync::Arc;

motet_sync::thread_local! {
    /// This thread sends frames of a node.
    static SENDS: Cell<bool> = const { Cell::new(false) };
}

/// Sends frames. The carrier may tell events meanwhile, also of others.
pub(crate) fn while_sending<R>(send: impl FnOnce() -> R) -> R {
    let before = SENDS.with(|sends| sends.replace(true));
    let ends = || SENDS.with(|sends| sends.set(before));
    let panicked = on_panic(ends);
    let sent = send();
    panicked.did_not();
    ends();
    sent
}

/// This thread sends frames of a node.
pub(crate) fn is_sending() -> bool {
    SENDS.with(Cell::get)
}

/// Runs tasks on the thread that queues them, if nobody's work waits there: what runs here may call
/// what users wrote. On these threads a queue runs them:
///
/// - one that runs a task: it may go on for long, or wait for what this one brings;
/// - one that sends frames, since it publishes or calls: it may hold locks of a user;
/// - all, while the queue is suspended.
#[derive(Clone)]
pub(crate) struct HereOrQueued {
    here: Inline,
    queue: Arc<dyn Enqueue>,
}

impl HereOrQueued {
    /// Panics are those of tasks of `queue`.
    pub(crate) fn new(queue: &Arc<dyn Enqueue>) -> Self {
        let (here, raises) = (Inline::new(queue.name()), Arc::clone(queue));
        here.on_exception(move |exception| raises.raise(exception));
        let queue = Arc::clone(queue);
        HereOrQueued { here, queue }
    }
}

impl Enqueue for HereOrQueued {
    fn reserve(&self) -> Result<(), QueueError> {
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.queue.is_stopped()
    }

    fn release(&self) {}

    fn admit(&self, task: Task) {
        let is_free = !inside_task() && !is_sending();
        match is_free && self.queue.may_start() {
            true => self.here.admit(task),
            false => self.queue.readmit(task),
        }
    }

    fn readmit(&self, task: Task) {
        self.admit(task);
    }

    fn may_start(&self) -> bool {
        self.queue.may_start()
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(self.clone())
    }

    fn name(&self) -> &str {
        self.queue.name()
    }

    fn clock(&self) -> Clock {
        self.queue.clock()
    }

    fn raise(&self, exception: Exception) {
        self.queue.raise(exception);
    }
}
