//! What concurrent tasks and members look at, without a lock.

use super::presence::order;
use motet_sync::atomic::{AtomicU8, Ordering};

/// Read by every concurrent task, written when the floor changes hands.
pub(super) struct Signal(AtomicU8);

/// Concurrent tasks may not enter.
const RAISED: u8 = 1;
/// A teardown item has been claimed: nothing may be taken any more.
const CLOSING: u8 = 2;

impl Signal {
    /// Raised.
    pub(super) fn new() -> Self {
        Signal(AtomicU8::new(RAISED))
    }

    #[inline]
    pub(super) fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst) & RAISED != 0
    }

    /// Called under the lock, as `lower` is.
    pub(super) fn raise(&self) {
        self.0.fetch_or(RAISED, Ordering::SeqCst);
        order();
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
