//! Services that are suspended: their operations wait in a line of their own until they are let go
//! on. `/sys/debug` does that.
//!
//! ```text
//!   post ──► suspended? ── no ───► ports
//!                └─ yes ─► line ── step, resume ──► ports
//! ```
//!
//! What was posted before is in its port already and is carried out. What ends the service, and
//! what its node has it do, does not wait.

use super::slot::{OperationItem, ServiceSlot};
use crate::{Contract, Fault, FaultCode, Group};
use motet_dispatch::Causalities;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;

/// A service that may be suspended, whatever its contract. One at a time suspends it, has it step,
/// or resumes it: what two of them let go on might change its order.
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

    /// Lets all go on, and holds nothing any more: how many were held.
    ///
    /// # Errors
    /// It is not suspended.
    fn resume(&self) -> Result<usize, Fault>;

    /// How many are held; `None` while it is not suspended.
    fn held(&self) -> Option<usize>;
}

/// What is held of a service.
pub(crate) struct HeldOperations<C: Contract> {
    /// Written under the lock of the line.
    is_suspended: AtomicBool,
    line: Mutex<HeldLine<C>>,
}

struct HeldLine<C: Contract> {
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
    #[inline]
    pub(crate) fn is_suspended(&self) -> bool {
        // Acquire: whoever finds that it is over comes behind all that was held.
        self.is_suspended.load(Ordering::Acquire)
    }

    fn next(&self) -> Option<HeldOperation<C>> {
        self.line.lock().operations.pop_front()
    }

    /// The oldest; if there is none, nothing is held from here on.
    fn next_or_end(&self) -> Option<HeldOperation<C>> {
        let mut line = self.line.lock();
        let next = line.operations.pop_front();
        if next.is_none() {
            // Under the lock: what is posted from here on comes behind what was held.
            self.is_suspended.store(false, Ordering::Release);
        }
        next
    }
}

impl<C: Contract> ServiceSlot<C> {
    /// Posts an item for which there is room. While the service is suspended it is held.
    #[inline]
    pub(crate) fn post(&self, item: OperationItem<C>) {
        match self.held.is_suspended() {
            true => self.hold(item),
            false => self.post_now(item),
        }
    }

    #[cold]
    fn hold(&self, item: OperationItem<C>) {
        let (_, group) = item.what.verb();
        if group != Group::Teardown {
            let under = Causalities::active();
            let mut line = self.held.line.lock();
            if self.held.is_suspended() {
                return line.operations.push_back(HeldOperation { under, item });
            }
        }
        self.post_now(item);
    }

    /// The service has ended: what is held is refused, and nothing is held any more.
    pub(super) fn end_suspension(&self) {
        let held = {
            let mut line = self.held.line.lock();
            line.has_ended = true;
            self.held.is_suspended.store(false, Ordering::Release);
            std::mem::take(&mut line.operations)
        };
        for HeldOperation { item, .. } in held {
            drop(item.room);
            item.what.refuse(self.common.absence());
        }
    }

    fn let_go_on(&self, held: HeldOperation<C>) {
        let HeldOperation { under, item } = held;
        under.run(|| self.post_now(item));
    }

    fn check_suspended(&self) -> Result<(), Fault> {
        if self.held.is_suspended() {
            return Ok(());
        }
        let reason = "the service is not suspended; `suspend` of /sys/debug does that";
        Err(Fault::unknown_entry(reason).of_service(&self.common.path))
    }
}

impl<C: Contract> Suspension for ServiceSlot<C> {
    fn suspend(&self) -> Result<(), Fault> {
        let (has_ended, was_suspended) = {
            let line = self.held.line.lock();
            let was_suspended = self.held.is_suspended();
            if !line.has_ended {
                self.held.is_suspended.store(true, Ordering::Release);
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
        while steps < most
            && let Some(held) = self.held.next()
        {
            // One that is too late is refused when it comes to its handler.
            let deadline = held.item.envelope.deadline;
            steps += usize::from(deadline.is_none_or(|deadline| now <= deadline));
            self.let_go_on(held);
        }
        Ok(steps)
    }

    fn resume(&self) -> Result<usize, Fault> {
        self.check_suspended()?;
        let mut resumed = 0;
        // What comes meanwhile is held, too, and stays in its order.
        while let Some(held) = self.held.next_or_end() {
            self.let_go_on(held);
            resumed += 1;
        }
        Ok(resumed)
    }

    fn held(&self) -> Option<usize> {
        let line = self.held.line.lock();
        self.held.is_suspended().then(|| line.operations.len())
    }
}

impl<C: Contract> Default for HeldOperations<C> {
    fn default() -> Self {
        let line = HeldLine {
            has_ended: false,
            operations: VecDeque::new(),
        };
        HeldOperations {
            is_suspended: AtomicBool::new(false),
            line: Mutex::new(line),
        }
    }
}
