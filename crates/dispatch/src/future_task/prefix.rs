//! The front of an async task: its state and its queue, all that wakers touch.

use crate::Enqueue;
use crate::task::{Task, TaskHeader};
use motet_sync::atomic::{AtomicUsize, Ordering, fence};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Context, RawWaker, RawWakerVTable};

pub(super) const SCHEDULED: usize = 1;
pub(super) const RUNNING: usize = 2;
pub(super) const DONE: usize = 4;
/// Nobody can wake the task any more; it is queued one last time to drop its future.
pub(super) const ABANDONED: usize = 8;
/// The future has been polled.
pub(super) const STARTED: usize = 16;
/// Somebody has a [`FutureHandle`](super::FutureHandle).
pub(super) const WATCHED: usize = 32;
pub(super) const REFERENCE: usize = 64;

/// The bits that say what has happened, not what is to happen.
const FACTS: usize = STARTED | WATCHED;

/// The front of every async task's node: all that wakers need, and no more, since millions may
/// wait. `repr(C)` puts the header first.
#[repr(C)]
pub(super) struct Prefix {
    pub(super) header: TaskHeader,
    pub(super) state: AtomicUsize,
    pub(super) queue: Arc<dyn Enqueue>,
}

/// Whether the task waits.
pub(super) fn waits(state: usize) -> bool {
    state & (SCHEDULED | RUNNING | DONE | ABANDONED) == 0
}

/// Whether the task waits and there is one reference to it.
pub(super) fn waits_with_one_reference(state: usize) -> bool {
    state & !FACTS == REFERENCE
}

impl Prefix {
    /// Queues the task again, passing on a reference the caller holds.
    pub(super) fn readmit(&self) {
        // SAFETY: the caller passes its reference, and the state says that the task is queued.
        let task = unsafe { Task::from_header(NonNull::from(self).cast()) };
        // Our own handle on the queue: the task may end, and free `self`, before `readmit` returns.
        let queue = Arc::clone(&self.queue);
        queue.readmit(task);
    }

    /// Sets `SCHEDULED`; queues the task if nobody else has to.
    pub(super) fn wake(&self) {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & DONE != 0 {
                return;
            }
            // Waiting: the queue needs a reference. Queued or being polled: leave the mark only.
            // It is left even where it is there already. So the release below orders what this
            // thread wrote before the poll that takes the mark.
            let queue_it = state & (SCHEDULED | RUNNING) == 0;
            let to = (state | SCHEDULED) + if queue_it { REFERENCE } else { 0 };
            match self
                .state
                .compare_exchange_weak(state, to, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) if queue_it => return self.readmit(),
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }
}

/// Gives up one reference.
///
/// # Safety
/// The caller holds one and does not use it again.
pub(super) unsafe fn release(prefix: NonNull<Prefix>) {
    // SAFETY: the caller's reference keeps the node alive until the exchange.
    let state = unsafe { &prefix.as_ref().state };
    let mut now = state.load(Ordering::Relaxed);
    loop {
        let last = now / REFERENCE == 1;
        // The last reference to a future that is still there queues it to be dropped at home.
        let to = if last && now & DONE == 0 {
            now | SCHEDULED | ABANDONED
        } else {
            now - REFERENCE
        };
        match state.compare_exchange_weak(now, to, Ordering::AcqRel, Ordering::Relaxed) {
            Err(changed) => now = changed,
            Ok(_) if !last => return,
            // SAFETY: the reference was kept for the queue.
            Ok(_) if now & DONE == 0 => return unsafe { prefix.as_ref() }.readmit(),
            Ok(_) => break,
        }
    }
    fence(Ordering::Acquire);
    // SAFETY: that was the last reference; the task's VTABLE frees a node that is DONE.
    drop(unsafe { Task::from_header(prefix.cast()) });
}

/// Gives up a waker's reference. If that leaves the handle of a task that waits alone, the task is
/// polled once more. Its queue comes to rest anew, and whoever watches it learns that nobody else
/// can wake the task now.
///
/// # Safety
/// As [`release`].
unsafe fn release_waker(prefix: NonNull<Prefix>) {
    // SAFETY: the caller's reference keeps the node alive until the exchange.
    let state = unsafe { &prefix.as_ref().state };
    let mut now = state.load(Ordering::Relaxed);
    while now & WATCHED != 0 && now / REFERENCE > 1 {
        let leaves_handle = waits_with_one_reference(now - REFERENCE);
        let to = if leaves_handle {
            now | SCHEDULED
        } else {
            now - REFERENCE
        };
        match state.compare_exchange_weak(now, to, Ordering::AcqRel, Ordering::Relaxed) {
            Err(changed) => now = changed,
            // SAFETY: the reference was kept for the queue.
            Ok(_) if leaves_handle => return unsafe { prefix.as_ref() }.readmit(),
            Ok(_) => return,
        }
    }
    // SAFETY: the caller's reference was not given up.
    unsafe { release(prefix) };
}

static WAKER: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Whether `cx` is the context of an async task of motet, without a combinator's own waker between.
/// Then what is active on this thread belongs to that task.
#[inline]
#[must_use]
pub fn is_task_context(cx: &Context<'_>) -> bool {
    ptr::eq(cx.waker().vtable(), &raw const WAKER)
}

pub(super) fn raw_waker(prefix: NonNull<Prefix>) -> RawWaker {
    RawWaker::new(prefix.as_ptr().cast(), &WAKER)
}

// SAFETY of the four functions: `data` is the prefix of a node that a reference of the waker keeps
// alive. `wake` and `drop_waker` give that reference up.

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: see above.
    let prefix = unsafe { NonNull::new_unchecked(data.cast_mut().cast::<Prefix>()) };
    // SAFETY: see above. Relaxed: a reference is made from one that exists.
    unsafe { prefix.as_ref() }
        .state
        .fetch_add(REFERENCE, Ordering::Relaxed);
    raw_waker(prefix)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: see above.
    unsafe {
        wake_by_ref(data);
        drop_waker(data);
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: see above.
    unsafe { &*data.cast::<Prefix>() }.wake();
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: see above.
    unsafe { release_waker(NonNull::new_unchecked(data.cast_mut().cast())) }
}
