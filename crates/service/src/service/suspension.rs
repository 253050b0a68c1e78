//! Services whose operations wait in a line of their own until they are let go on: before they
//! serve, where each port would keep the order of its own items alone, and while they are suspended
//! by `/sys/debug`.
//!
//! ```text
//!   post ──► serves, and is not suspended? ── yes ──► ports
//!                          └─ no ─► line ── it serves; step, resume ──► ports
//! ```
//!
//! What was posted before it was suspended is in its port already and is carried out. What ends the
//! service, and what its node has it do, does not wait.

use super::slot::{OperationItem, ServiceSlot};
use crate::{Contract, Fault, FaultCode, Group};
use motet_dispatch::Causalities;
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{FirstPanic, Mutex};
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
    /// Whether what is posted is held. Written under the lock of the line.
    holds: AtomicBool,
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

    fn next(&self) -> Option<HeldOperation<C>> {
        self.line.lock().operations.pop_front()
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
        }
        next
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
        if group != Group::Teardown {
            let under = Causalities::active();
            let mut line = self.held.line.lock();
            if self.held.holds() {
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
            line.is_suspended = false;
            self.held.holds.store(false, Ordering::Release);
            std::mem::take(&mut line.operations)
        };
        let mut panics = FirstPanic::default();
        for HeldOperation { item, .. } in held {
            // What one of them drops keeps no other from its answer.
            panics.catch(move || {
                drop(item.room);
                item.what.refuse(self.common.absence());
            });
        }
        panics.resume();
    }

    /// The interleave has all ports of the service: from here on the order of what is posted stays
    /// across them.
    pub(crate) fn begin_to_serve(&self) {
        self.held.line.lock().serves = true;
        self.let_all_go_on();
    }

    /// Lets all that is held go on, if it is not suspended: how many.
    fn let_all_go_on(&self) -> usize {
        let mut count = 0;
        // What comes meanwhile is held, too, and stays in its order.
        while let Some(held) = self.held.next_or_end() {
            self.let_go_on(held);
            count += 1;
        }
        count
    }

    fn let_go_on(&self, held: HeldOperation<C>) {
        let HeldOperation { under, item } = held;
        under.run(|| self.post_now(item));
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
        // One that does not serve yet has none that could begin.
        while self.held.line.lock().serves
            && steps < most
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
        self.held.line.lock().is_suspended = false;
        Ok(self.let_all_go_on())
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
            line: Mutex::new(line),
        }
    }
}
