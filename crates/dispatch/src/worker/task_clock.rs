//! The clock of the task that a worker runs.

use super::{Worker, with_current};
use crate::clock::Clock;

/// The clock of the queue whose task runs on this thread, if it is a worker. Found when somebody
/// asks, so that tasks that do not ask pay nothing.
pub(crate) fn clock_of_task() -> Option<Clock> {
    let clock = |worker: &Worker| {
        let locals = worker.locals.borrow();
        let local = locals.get(worker.cursor.get());
        local.map(|local| local.queue.own_clock())
    };
    with_current(clock).flatten()
}
