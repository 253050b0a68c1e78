//! Services whose operations wait in a line of their own until they are let go on: before they
//! serve, where each port would keep the order of its own items alone, and while they are suspended
//! by `/sys/debug`.
//!
//! ```text
//!   post ──► serves, and is not suspended? ── yes ──► ports
//!                          └─ no ─► line ── it serves; step; `OwnStep::GoOn` ──► ports
//! ```
//!
//! What was posted before it was suspended is in its port already and is carried out. What is still
//! in the line waits: that of a service which starts, or has just been resumed. What ends the
//! service, and what its node has it do, does not wait.
//!
//! The line is emptied where nobody else has the interleave: when all ports are registered, and in
//! the exclusive group when the service is resumed. Nothing else of the service runs then, so no
//! more comes to the line than there is room for. What is independent runs beside it, and is not
//! held then.

use super::slot::{OperationItem, OwnStep, ServiceSlot};
use crate::{Contract, Fault, FaultCode, Group};
use motet_dispatch::{Causalities, QueueError};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{FirstPanic, Mutex};
use std::collections::VecDeque;

/// A service that may be suspended, whatever its contract. One at a time suspends it, has it step,
/// or resumes it.
pub(crate) trait Suspension {
    /// From here on what is posted is held.
    ///
    /// # Errors
    /// It is suspended already, or has ended.
    fn suspend(&self) -> Result<(), Fault>;

    /// Lets the oldest go on, so many at most: how many. Those whose time is over are not counted.
    ///
    /// # Errors
    /// It is not suspended.
    fn step(&self, most: usize) -> Result<usize, Fault>;

    /// Ends the suspension: how many are held. They go on when nothing else of the service runs, in
    /// front of what comes from here on; those that are independent go on at once. If it does not
    /// serve yet, all go on when it does.
    ///
    /// # Errors
    /// It is not suspended.
    fn resume(&self) -> Result<usize, Fault>;

    /// How many are held; `None` while it is not suspended.
    fn held(&self) -> Option<usize>;
}

/// What is held of a service.
pub(crate) struct HeldOperations<C: Contract> {
    /// Whether what is posted is held. Written under the lock of the line.
    holds: AtomicBool,
    /// Held while the oldest is taken and posted. Else two might post in another order than that in
    /// which they take. Locked before the line.
    going: Mutex<()>,
    line: Mutex<HeldLine<C>>,
}

struct HeldLine<C: Contract> {
    /// All its ports are its interleave's.
    serves: bool,
    is_suspended: bool,
    /// Nothing is held any more.
    has_ended: bool,
    /// Oldest first.
    operations: VecDeque<HeldOperation<C>>,
}

struct HeldOperation<C: Contract> {
    /// Under what it was posted.
    under: Causalities,
    item: OperationItem<C>,
}

impl<C: Contract> HeldOperations<C> {
    /// Whether what is posted is held.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        // Acquire: whoever finds that it is over comes behind all that was held.
        self.holds.load(Ordering::Acquire)
    }

    /// The oldest, for a step; one that does not serve yet has none that could begin.
    fn next_step(&self) -> Option<HeldOperation<C>> {
        let mut line = self.line.lock();
        let may = line.serves && line.is_suspended;
        may.then(|| line.operations.pop_front()).flatten()
    }

    /// The oldest, if they go on; if there is none, nothing is held from here on.
    fn next_or_end(&self) -> Option<HeldOperation<C>> {
        let mut line = self.line.lock();
        if !line.serves || line.is_suspended {
            return None;
        }
        let next = line.operations.pop_front();
        if next.is_none() {
            // Under the lock: what is posted from here on comes behind what was held.
            self.holds.store(false, Ordering::Release);
            // With the memory to which it had grown.
            line.operations = VecDeque::new();
        }
        next
    }
}

impl<C: Contract> HeldLine<C> {
    /// Takes those out that are independent, if they could begin.
    fn take_independent(&mut self) -> VecDeque<HeldOperation<C>> {
        if !self.serves {
            return VecDeque::new();
        }
        let operations = std::mem::take(&mut self.operations);
        let (apart, held) = operations
            .into_iter()
            .partition(HeldOperation::is_independent);
        self.operations = held;
        apart
    }
}

impl<C: Contract> HeldOperation<C> {
    fn is_independent(&self) -> bool {
        self.item.what.verb().1 == Group::Independent
    }
}

impl<C: Contract> ServiceSlot<C> {
    /// Posts an item for which there is room. Until the service serves, and while it is suspended,
    /// it is held.
    #[inline]
    pub(crate) fn post(&self, item: OperationItem<C>) {
        match self.held.holds() {
            true => self.hold(item),
            false => self.post_now(item),
        }
    }

    #[cold]
    fn hold(&self, item: OperationItem<C>) {
        let (_, group) = item.what.verb();
        if group == Group::Teardown {
            return self.post_now(item);
        }
        let under = Causalities::active();
        let mut line = self.held.line.lock();
        // What is independent has no order to keep, and would fill the line while it is emptied.
        let is_apart = group == Group::Independent && line.serves && !line.is_suspended;
        if is_apart || !self.held.holds() {
            drop(line);
            return self.post_now(item);
        }
        if self.common.queue.is_stopped() {
            // Nobody would let it go on.
            drop(line);
            return self.refuse_untaken(item, &QueueError::Stopped);
        }
        line.operations.push_back(HeldOperation { under, item });
    }

    /// The service has ended: what is held is refused, and nothing is held any more.
    pub(super) fn end_suspension(&self) {
        let held = {
            let mut line = self.held.line.lock();
            line.has_ended = true;
            line.is_suspended = false;
            self.held.holds.store(false, Ordering::Release);
            std::mem::take(&mut line.operations)
        };
        let mut panics = FirstPanic::default();
        for HeldOperation { item, .. } in held {
            // What one of them drops keeps no other from its answer.
            panics.catch(|| self.refuse_absent(item));
        }
        // The caller ends the service, and is not cut short.
        self.common.queue.guarded(|| panics.resume());
    }

    /// Lets all that is held go on, if it is not suspended. The interleave has all ports of the
    /// service, so the order of what is posted stays across them. The caller has the interleave
    /// alone.
    pub(crate) fn go_on(&self) {
        self.held.line.lock().serves = true;
        loop {
            let _going = self.held.going.lock();
            // What comes meanwhile is held, too, and stays in its order.
            let Some(held) = self.held.next_or_end() else {
                return;
            };
            self.let_go_on(held);
        }
    }

    /// Posts it. What it drops, should it be refused, keeps no other from its answer.
    fn let_go_on(&self, held: HeldOperation<C>) {
        let HeldOperation { under, item } = held;
        let post = || under.run(|| self.post_now(item));
        self.common.queue.guarded(post);
    }

    fn check_suspended(&self) -> Result<(), Fault> {
        if self.held.line.lock().is_suspended {
            return Ok(());
        }
        let reason = "the service is not suspended; `suspend` of /sys/debug does that";
        Err(Fault::unknown_entry(reason).of_service(&self.common.path))
    }
}

impl<C: Contract> Suspension for ServiceSlot<C> {
    fn suspend(&self) -> Result<(), Fault> {
        let (has_ended, was_suspended) = {
            let mut line = self.held.line.lock();
            let was_suspended = line.is_suspended;
            if !line.has_ended {
                line.is_suspended = true;
                self.held.holds.store(true, Ordering::Release);
            }
            (line.has_ended, was_suspended)
        };
        if has_ended {
            return Err(self.common.absence());
        }
        if was_suspended {
            let reason = "the service is suspended already; `step` of /sys/debug lets operations \
                          of it begin, and `resume` ends it";
            let fault = Fault::new(FaultCode::DuplicateEntry, reason);
            return Err(fault.of_service(&self.common.path));
        }
        Ok(())
    }

    fn step(&self, most: usize) -> Result<usize, Fault> {
        self.check_suspended()?;
        let now = self.common.shared.deadlines.clock().now();
        let mut steps = 0;
        while steps < most {
            let _going = self.held.going.lock();
            let Some(held) = self.held.next_step() else {
                break;
            };
            // One that is too late is refused when it comes to its handler.
            let deadline = held.item.envelope.deadline;
            steps += usize::from(deadline.is_none_or(|deadline| now <= deadline));
            self.let_go_on(held);
        }
        Ok(steps)
    }

    fn resume(&self) -> Result<usize, Fault> {
        self.check_suspended()?;
        let (count, serves, apart) = {
            let mut line = self.held.line.lock();
            line.is_suspended = false;
            let count = line.operations.len();
            (count, line.serves, line.take_independent())
        };
        for held in apart {
            self.let_go_on(held);
        }
        // Else they go on when it begins to serve.
        if serves {
            self.post_own(OwnStep::GoOn);
        }
        Ok(count)
    }

    fn held(&self) -> Option<usize> {
        let line = self.held.line.lock();
        line.is_suspended.then(|| line.operations.len())
    }
}

impl<C: Contract> Default for HeldOperations<C> {
    fn default() -> Self {
        let line = HeldLine {
            serves: false,
            is_suspended: false,
            has_ended: false,
            operations: VecDeque::new(),
        };
        HeldOperations {
            holds: AtomicBool::new(true),
            going: Mutex::new(()),
            line: Mutex::new(line),
        }
    }
}
