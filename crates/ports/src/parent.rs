//! What an arbiter above others is asked and told.

use crate::deferred::Deferred;
use crate::delivery::QueueHandle;
use motet_dispatch::Task;
use std::fmt;
use std::sync::Arc;

/// An arbiter above others. A group of an interleave and a choice each are one.
pub(crate) trait Parent: Send + Sync {
    /// Whether a branch may still take anything. A branch that may not leaves its port.
    fn is_open(&self) -> bool;

    /// Decides for the branch that asks, which has all it needs. After `true` it takes its items.
    /// Called under ports' locks: no port may be used.
    fn claim(&self) -> bool;

    /// Takes over a task that has been claimed, whose room in `queue` is reserved: sends it off, or
    /// holds it until its turn. Called under ports' locks; what must wait goes into `deferred`.
    fn send(&self, queue: &QueueHandle, task: Task, deferred: &mut Deferred);

    /// A worker is about to run a task's handler. The parent may ask for the task, to hold it longer;
    /// else the handler runs now, and the pass is dropped when it has ended.
    fn enter(&self, task: &mut dyn FnMut() -> Task) -> Option<Pass>;

    /// A handler has ended: it returned, panicked, or its future was dropped.
    fn leave(&self);
}

/// Tells the arbiter above, by being dropped, that a handler has ended.
pub struct Pass(Arc<dyn Parent>);

impl Pass {
    #[allow(dead_code, reason = "for groups that count their handlers")]
    pub(crate) fn new(parent: Arc<dyn Parent>) -> Self {
        Pass(parent)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").finish_non_exhaustive()
    }
}
