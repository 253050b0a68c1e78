//! What observers see of a task's run.

use crate::Task;

/// Starts a task of the queue called `queue`. With the feature `tracing` it does so inside a span
/// `run` of level debug. The span has the queue's name, the type of the task's body and its
/// causalities.
///
/// # Panics
/// When the task does.
#[cfg(feature = "tracing")]
pub(crate) fn start(task: Task, queue: impl FnOnce() -> String) {
    let span = tracing::debug_span!(
        "run",
        queue = queue(),
        kind = task.name(),
        causalities = ?task.causalities()
    );
    span.in_scope(|| task.start());
}

/// Nobody looks.
#[cfg(not(feature = "tracing"))]
#[inline]
pub(crate) fn start(task: Task, _queue: impl FnOnce() -> String) {
    task.start();
}
