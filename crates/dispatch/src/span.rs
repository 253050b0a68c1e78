//! What observers see of a task's run.

use crate::{Enqueue, Task};
use std::ops::Deref;

/// Runs a task of `queue`, with the feature `tracing` inside a span `run` of level debug that has
/// the queue's name, the type of the task's body and its causalities.
///
/// # Panics
/// When the task does.
#[cfg(feature = "tracing")]
pub(crate) fn run<Q: Deref<Target: Enqueue>>(task: Task, queue: impl FnOnce() -> Q) {
    let (kind, causalities) = task.describe();
    let span = tracing::debug_span!("run", queue = queue().name(), kind, ?causalities);
    span.in_scope(|| task.run());
}

/// Nobody looks.
#[cfg(not(feature = "tracing"))]
#[inline]
pub(crate) fn run<Q: Deref<Target: Enqueue>>(task: Task, _queue: impl FnOnce() -> Q) {
    task.run();
}
