//! The gate of an arbiter that takes several items: the one decision, once all items are there.

use crate::claim::Claim;
use crate::deferred::Deferred;
use crate::outlet::Outlet;
use motet_dispatch::QueueError;

/// Room in the queue, the arbiter above and the arbiter's own claim, in one.
pub(crate) struct JoinGate {
    outlet: Outlet,
    once: bool,
    claim: Claim,
}

/// Why an arbiter takes nothing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakeRefusal {
    /// Something is missing: it waits.
    Missing,
    /// All is there, and the queue has no room.
    Refused(QueueError),
    /// It will never take anything again.
    Over,
}

impl JoinGate {
    pub(crate) fn new(once: bool, outlet: Outlet) -> Self {
        JoinGate {
            outlet,
            once,
            claim: Claim::new(),
        }
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.claim.is_open() && self.outlet.is_open()
    }

    /// Whether it is passed as long as it is open. It is if it has no end of its own, nobody above
    /// it, and a queue that takes whatever comes.
    #[inline]
    pub(crate) fn is_always_passed(&self) -> bool {
        !self.once
            && self.claim.is_open()
            && self.outlet.is_alone()
            && self.outlet.queue().is_free()
    }

    /// Whether a one-time arbiter has taken its items.
    pub(crate) fn has_fired(&self) -> bool {
        self.claim.is_taken()
    }

    /// Whether it has been closed before it was passed for good.
    pub(crate) fn has_ended(&self) -> bool {
        !self.claim.is_open() && !self.claim.is_taken()
    }

    #[inline]
    pub(crate) fn is_once(&self) -> bool {
        self.once
    }

    #[inline]
    pub(crate) fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    /// Decides, once all that is needed is there. After `Ok` the items are taken.
    #[inline]
    pub(crate) fn pass(&self, deferred: &mut Deferred) -> Result<(), TakeRefusal> {
        deferred
            .claim_room(self.outlet.queue())
            .map_err(|reason| match reason {
                QueueError::Stopped => TakeRefusal::Over,
                reason => TakeRefusal::Refused(reason),
            })?;
        if !self.outlet.claim(deferred) {
            return Err(TakeRefusal::Over);
        }
        if self.once {
            // Nobody else claims under the locks; a cleanup waits for them or came first.
            let won = self.claim.take();
            debug_assert!(won, "the claim was open a moment ago, under the same locks");
        }
        Ok(())
    }

    /// Sees to it that nothing is taken any more. The caller holds the lock of a port.
    pub(crate) fn close(&self) {
        self.claim.close();
    }
}
