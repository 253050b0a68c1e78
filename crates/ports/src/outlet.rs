//! The outlet of an arbiter: its queue, and the arbiter above it that has a say.
//!
//! A receive or a join may stand alone, be a branch of a choice, or belong to a group of an
//! interleave. What differs is here, not in the receive: a branch asks its parent before it takes
//! anything, sends its tasks through it, and its handlers enter and leave under it. The order is
//! CCR's, so that a refusal leaves no trace: the branch establishes that all it needs is there (items,
//! predicates, room in the queue), then the parent decides, then the items are taken.
//!
//! ```text
//!   offer ──> items there? ──> room in the queue? ──> parent: claim ──> take ──> parent: send
//!                                                                                     │
//!                        leave (the pass is dropped) <── handler <── parent: enter <──┘
//! ```

use crate::deferred::Deferred;
use crate::delivery::QueueHandle;
use motet_dispatch::{Enqueue, Task};
use std::sync::Arc;

/// Where an arbiter's tasks go, and who has a say in it.
pub(crate) struct Outlet {
    queue: QueueHandle,
    parent: Option<Arc<dyn Parent>>,
}

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

/// Tells the parent, by being dropped, that a handler has ended.
pub(crate) struct Pass(Arc<dyn Parent>);

impl Pass {
    #[allow(dead_code, reason = "for arbiters above others")]
    pub(crate) fn new(parent: Arc<dyn Parent>) -> Self {
        Pass(parent)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Outlet {
    /// Straight to a queue.
    pub(crate) fn to(queue: &dyn Enqueue) -> Self {
        Outlet {
            queue: queue.handle(),
            parent: None,
        }
    }

    /// To a queue, by way of `parent`.
    #[allow(dead_code, reason = "for arbiters above others")]
    pub(crate) fn by_way_of(parent: Arc<dyn Parent>, queue: &QueueHandle) -> Self {
        Outlet {
            queue: Arc::clone(queue),
            parent: Some(parent),
        }
    }

    pub(crate) fn queue(&self) -> &QueueHandle {
        &self.queue
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.parent.as_ref().is_none_or(|parent| parent.is_open())
    }

    /// Asks the parent for the decision, once room in the queue is reserved. After `true` the caller
    /// takes its items; after `false` it leaves its port.
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        let Some(parent) = &self.parent else {
            return true;
        };
        let granted = parent.claim();
        if !granted {
            self.queue.release();
        }
        granted
    }

    /// Sends a task that has been claimed.
    #[inline]
    pub(crate) fn send(&self, task: Task, deferred: &mut Deferred) {
        match &self.parent {
            None => deferred.admit(&self.queue, task),
            Some(parent) => parent.send(&self.queue, task, deferred),
        }
    }

    /// Asks whether the handler of `work`, which a worker has just taken from the queue, may run
    /// now. `None`: the parent holds it.
    #[inline]
    pub(crate) fn enter<W>(
        &self,
        work: W,
        into_task: impl Fn(W) -> Task,
    ) -> Option<(W, Option<Pass>)> {
        let Some(parent) = &self.parent else {
            return Some((work, None));
        };
        let mut work = Some(work);
        let mut task = || into_task(work.take().expect("a parent asks for the task once"));
        let pass = parent.enter(&mut task);
        work.map(|work| (work, pass))
    }
}
