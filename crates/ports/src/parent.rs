//! What an arbiter above others is asked and told.

use crate::deferred::{Deferred, Settle};
use crate::delivery::QueueHandle;
use motet_dispatch::Task;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// An arbiter above others. A group of an interleave and a choice each are one.
pub(crate) trait Parent: Settle {
    /// Whether a branch may still take anything. A branch that may not leaves its port.
    fn is_open(&self) -> bool;

    /// Decides for the branch that asks, which has all it needs. After `true` it takes its items.
    /// Called under ports' locks: no port may be used.
    fn claim(&self) -> bool;

    /// Takes over a task that has been claimed, whose room in `queue` is reserved: sends it off, or
    /// holds it until its turn. Called under ports' locks; what must wait goes into `deferred`. `this` is the
    /// parent itself, to be kept if need be.
    fn send(
        &self,
        this: &Arc<dyn Parent>,
        queue: &QueueHandle,
        task: Task,
        deferred: &mut Deferred,
    );

    /// A worker is about to run a task's handler. The parent may ask for the task, to hold it longer;
    /// else the handler runs now, and the pass is dropped when it has ended.
    fn enter(&self, queue: &QueueHandle, task: &mut dyn FnMut() -> Task) -> Option<Pass<'_>>;

    /// A task that was sent has been dropped and will not enter. Its items are back in their ports.
    fn lose(&self);
}

/// An arbiter that counts the handlers that are in.
pub(crate) trait Host: Send + Sync {
    /// A handler has ended on the thread where it entered: it returned or panicked.
    fn leave(&self);

    /// A handler goes on after its task's first run: it is async. [`leave_later`](Host::leave_later)
    /// is called in place of `leave` then, on what this returns.
    fn stay(&self) -> Arc<dyn Host>;

    /// A handler that stayed has ended: its future ended, panicked, or was dropped.
    fn leave_later(&self);
}

/// Tells the arbiter above, by being dropped, that a handler has ended.
pub struct Pass<'a>(&'a dyn Host);

/// The pass of a handler that goes on after its task's first run.
pub struct LongPass(Arc<dyn Host>);

impl<'a> Pass<'a> {
    pub(crate) fn new(host: &'a dyn Host) -> Self {
        Pass(host)
    }

    /// For an async handler, which keeps it until its future has ended.
    #[must_use = "the handler counts as ended when its pass is dropped"]
    pub fn into_long(self) -> LongPass {
        LongPass(ManuallyDrop::new(self).0.stay())
    }
}

impl Drop for Pass<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Drop for LongPass {
    fn drop(&mut self) {
        self.0.leave_later();
    }
}

impl fmt::Debug for Pass<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").finish_non_exhaustive()
    }
}

impl fmt::Debug for LongPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongPass").finish_non_exhaustive()
    }
}
