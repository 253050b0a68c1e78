//! The outlet of an arbiter: its queue, and the arbiter above it that has a say.
//!
//! A receive or a join may stand alone, be a branch of a choice, or belong to a group of an
//! interleave. What differs is here, not in the receive. A branch asks its parent before it takes
//! anything and sends its tasks through it. Its handlers enter and leave under it. The order is
//! CCR's, so that a refusal leaves no trace. First the branch establishes that all it needs is
//! there (items, predicates, room in the queue). Then the parent decides, and then the items are
//! taken.
//!
//! ```text
//!   offer ──> items there? ──> room in the queue? ──> parent: claim ──> take ──> parent: send
//!                                                                                     │
//!                        leave (the pass is dropped) <── handler <── parent: enter <──┘
//! ```

use crate::deferred::{Deferred, Settle};
use crate::delivery::QueueHandle;
use crate::parent::{Above, Pass};
use crate::readers::Readers;
use motet_dispatch::{Enqueue, Task, beyond_depth};
use std::fmt;
use std::sync::Arc;

/// Where an arbiter's tasks go, and who has a say in it: what [`Attach`](crate::Attach) gives to an
/// arbiter for its work.
#[derive(Clone)]
pub struct Outlet {
    queue: QueueHandle,
    above: Option<Above>,
}

impl Outlet {
    /// Straight to a queue, by the handle that is kept.
    pub(crate) fn direct(queue: QueueHandle) -> Self {
        Outlet { queue, above: None }
    }

    /// To a queue, by way of the arbiter `above`.
    pub(crate) fn by_way_of(above: Above, queue: &QueueHandle) -> Self {
        Outlet {
            queue: Arc::clone(queue),
            above: Some(above),
        }
    }

    /// The same, but its tasks ask for no room.
    pub(crate) fn beyond(self) -> Self {
        Outlet {
            queue: beyond_depth(&self.queue),
            above: self.above,
        }
    }

    /// The queue, for the room and the exceptions of the arbiter. Its tasks go through
    /// [`Offer::send`](crate::Offer::send).
    #[must_use]
    pub fn queue(&self) -> &Arc<dyn Enqueue> {
        &self.queue
    }

    /// Whether handlers ask an arbiter above before they run.
    pub(crate) fn asks(&self) -> bool {
        self.above.as_ref().is_some_and(Above::is_asked)
    }

    /// Whether the arbiter above lets this one take anything more. One that may not leaves its
    /// port.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.above.as_ref().is_none_or(Above::is_open)
    }

    /// Whether nobody else has a say.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.above.is_none()
    }

    /// Who its handlers run together with. Nobody else has a say then, until the end.
    pub(crate) fn readers(&self) -> Option<&Arc<Readers>> {
        self.above.as_ref().and_then(Above::readers)
    }

    /// Asks the parent for the decision, once room in the queue is reserved. After `true` the
    /// caller takes its items; after `false` it leaves its port.
    #[inline]
    pub(crate) fn claim(&self, deferred: &mut Deferred) -> bool {
        let granted = self.is_granted();
        if !granted {
            // Not now: who waits for room may be run by its waker, and use the port that is locked
            // here.
            deferred.release(&self.queue);
        }
        granted
    }

    /// Asks the parent for the decision.
    #[inline]
    pub(crate) fn is_granted(&self) -> bool {
        self.above.as_ref().is_none_or(Above::claim)
    }

    /// Sends a task that has been claimed.
    // Always: each post to a receive comes by.
    #[inline(always)]
    pub(crate) fn send(&self, task: Task, deferred: &mut Deferred) {
        match &self.above {
            Some(above) if !above.lets_pass() => above.send(&self.queue, task, deferred),
            _ => deferred.admit(&self.queue, task),
        }
    }

    /// Sends a task of the branch that `choice`, whose outlet this is, has decided for. The losers
    /// leave their ports before the task is queued, unless an arbiter above queues it.
    pub(crate) fn send_settled(
        &self,
        choice: Arc<dyn Settle>,
        queue: &QueueHandle,
        task: Task,
        deferred: &mut Deferred,
    ) {
        match &self.above {
            None => deferred.settle(choice, Some((Arc::clone(queue), task))),
            Some(above) => {
                deferred.settle(choice, None);
                if above.lets_pass() {
                    deferred.admit(queue, task);
                } else {
                    above.send(queue, task, deferred);
                }
            }
        }
    }

    /// Asks whether the handler of `work`, which a worker has just taken from the queue, may run
    /// now. `None`: the arbiter above holds it, as the task that `into_task` made. The pass is kept
    /// until the handler has ended.
    #[inline]
    pub fn enter<W>(
        &self,
        work: W,
        into_task: impl Fn(W) -> Task,
    ) -> Option<(W, Option<Pass<'_>>)> {
        match &self.above {
            None => Some((work, None)),
            Some(above) => above.enter(&self.queue, work, into_task),
        }
    }

    /// As [`Parent::enter`](crate::parent::Parent::enter).
    pub(crate) fn pass(
        &self,
        queue: &QueueHandle,
        task: &mut dyn FnMut() -> Task,
    ) -> Option<Pass<'_>> {
        let entered = self.above.as_ref()?.enter(queue, task, |task| task());
        entered.and_then(|(_, pass)| pass)
    }

    /// Tells the arbiter above that a task that was sent will not run, after what it carried is
    /// back. Groups of an interleave wait for their tasks.
    #[cold]
    pub fn lose(&self) {
        if let Some(above) = &self.above {
            above.lose();
        }
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet")
            .field("queue", &self.queue.name())
            .field("under_another", &self.above.is_some())
            .finish()
    }
}
