//! A handle to an async task.

use super::prefix::{DONE, Prefix, release, waits, waits_with_one_reference};
use motet_sync::atomic::Ordering;
use std::fmt;
use std::ptr::NonNull;
use std::task::Context;

/// A handle to an async task that was started by [`spawn_unchecked`](crate::spawn_unchecked): looks
/// at it and wakes it.
pub struct FutureHandle(pub(super) NonNull<Prefix>);

impl FutureHandle {
    /// Wakes the task.
    pub fn wake(&self) {
        self.prefix().wake();
    }

    /// Whether the future has ended or was dropped.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.prefix().state.load(Ordering::Acquire) & DONE != 0
    }

    /// Whether the task waits: it neither runs nor is queued, and has not ended.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        waits(self.prefix().state.load(Ordering::Acquire))
    }

    /// Whether the task waits and only this handle can wake it: no waker of it is held anywhere.
    #[must_use]
    pub fn waits_for_handle(&self) -> bool {
        waits_with_one_reference(self.prefix().state.load(Ordering::Acquire))
    }

    /// Whether `cx` is the context this very task is polled with.
    #[must_use]
    pub fn is_context(&self, cx: &Context<'_>) -> bool {
        cx.waker().data() == self.0.as_ptr().cast()
    }

    fn prefix(&self) -> &Prefix {
        // SAFETY: the handle's reference keeps the node alive.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for FutureHandle {
    fn drop(&mut self) {
        // SAFETY: the handle held a reference.
        unsafe { release(self.0) };
    }
}

// SAFETY: handles and wakers touch only the prefix, whose parts are Sync; the future is touched
// only by the thread that runs the task.
unsafe impl Send for FutureHandle {}
// SAFETY: as above.
unsafe impl Sync for FutureHandle {}

impl fmt::Debug for FutureHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FutureHandle")
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
