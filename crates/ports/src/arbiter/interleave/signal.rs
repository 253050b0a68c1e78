//! What concurrent tasks and members look at, without a lock.

use super::presence::order;
use motet_sync::asymmetric;
use motet_sync::atomic::{AtomicU8, Ordering};

/// Read by every concurrent task, written when the floor changes hands.
pub(super) struct Signal(AtomicU8);

/// Concurrent tasks may not enter.
const RAISED: u8 = 1;
/// A teardown item has been claimed: nothing may be taken any more.
const CLOSING: u8 = 2;
/// Nobody has wanted to be alone for a good while: concurrent handlers are counted the light way, and the
/// next one who wants to be alone pays for it.
const CALM: u8 = 4;

impl Signal {
    /// Raised.
    pub(super) fn new() -> Self {
        Signal(AtomicU8::new(RAISED))
    }

    #[inline]
    pub(super) fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst) & RAISED != 0
    }

    /// Called under the lock, as `lower` and `calm_down` are.
    pub(super) fn raise(&self) {
        let before = self.0.fetch_or(RAISED, Ordering::SeqCst);
        if before & CALM == 0 {
            return order();
        }
        self.0.fetch_and(!CALM, Ordering::SeqCst);
        // From here on those who count the light way have been seen, or see that it is raised.
        asymmetric::heavy();
    }

    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.0.load(Ordering::Relaxed) & CALM != 0
    }

    /// Whether those who have counted themselves may go on: nobody wants to be alone, and if they did it
    /// the light way it is still calm.
    #[inline]
    pub(super) fn lets_go_on(&self, calm: bool) -> bool {
        let now = self.0.load(Ordering::SeqCst);
        now & RAISED == 0 && (!calm || now & CALM != 0)
    }

    pub(super) fn calm_down(&self) {
        self.0.fetch_or(CALM, Ordering::SeqCst);
    }

    pub(super) fn lower(&self) {
        self.0.fetch_and(!RAISED, Ordering::SeqCst);
    }

    #[inline]
    pub(super) fn is_closing(&self) -> bool {
        self.0.load(Ordering::Acquire) & CLOSING != 0
    }

    /// Claims the end. `true` for one caller.
    pub(super) fn close(&self) -> bool {
        self.0.fetch_or(CLOSING, Ordering::AcqRel) & CLOSING == 0
    }
}
