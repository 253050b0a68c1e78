//! Async tasks: a future that is polled as a task each time it is woken.
//!
//! One allocation holds the task's header, its state, the queue it runs on and the future. While it
//! waits it costs that memory and nothing else; it is kept alive by its wakers.
//!
//! # State
//!
//! A word of three bits and a reference count:
//!
//! | bit | meaning | set by | cleared by |
//! |---|---|---|---|
//! | `SCHEDULED` | wants to be polled | a waker | `run`, before it polls |
//! | `RUNNING` | being polled, or about to be polled again without having waited | `run` | `run`, after the poll |
//! | `DONE` | the future is gone | whoever dropped it | never |
//!
//! - The task is in a queue exactly when (`SCHEDULED` and not `RUNNING`) or it has asked for another
//!   turn (`RUNNING`, between polls). Being queued holds one reference; so does each waker and each
//!   [`FutureHandle`].
//! - The future is touched only by the thread that runs, cleans up or discards the queued task: the
//!   queue hands a task to one thread. The last reference to go while the future is still there
//!   queues the task once more, marked `DONE` to be (`ABANDONED`), so that the future is dropped
//!   where it ran.

use crate::task::{Header, Task, VTable};
use crate::worker;
use crate::{Enqueue, Refused};
use motet_sync::atomic::{AtomicUsize, Ordering, fence};
use motet_sync::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

const SCHEDULED: usize = 1;
const RUNNING: usize = 2;
const DONE: usize = 4;
/// Nobody can wake the task any more; it is queued one last time to drop its future.
const ABANDONED: usize = 8;
const REFERENCE: usize = 16;

/// A handle to an async task that was started by [`spawn_unchecked`]: looks at it and wakes it.
pub struct FutureHandle(NonNull<Prefix>);

/// The front of every [`FutureNode`]: all that wakers need. `repr(C)` puts the header first.
#[repr(C)]
struct Prefix {
    header: Header,
    state: AtomicUsize,
    queue: Arc<dyn Enqueue>,
    free: unsafe fn(NonNull<Prefix>),
}

#[repr(C)]
struct FutureNode<F> {
    prefix: Prefix,
    /// Dropped when `DONE` is set.
    future: UnsafeCell<ManuallyDrop<F>>,
}

/// Runs `future` on `queue`: it is polled there each time it is woken. A panic goes the way of the
/// queue's exceptions. A future that nobody can wake any more is dropped.
///
/// # Errors
/// [`Refused`] when the queue is full or stopped; dropping the task in it drops the future.
///
/// ```
/// use motet_dispatch::{Enqueue, Inline, spawn};
///
/// let (tell, told) = std::sync::mpsc::channel();
/// spawn(&Inline::new("here").handle(), async move { tell.send("done").unwrap() }).unwrap();
/// assert_eq!(told.recv(), Ok("done"));
/// ```
pub fn spawn(
    queue: &Arc<dyn Enqueue>,
    future: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Refused> {
    if let Err(reason) = queue.reserve() {
        return Err(Refused {
            task: Task::new(move || drop(future)),
            reason,
        });
    }
    let (task, _) = allocate(Arc::clone(queue), future, SCHEDULED | REFERENCE);
    queue.admit(task);
    Ok(())
}

/// Like [`spawn`], but polls the future for the first time here and now, as part of the task that is
/// running. It has been admitted with that task, so it asks for no room.
///
/// # Panics
/// When the future does during its first poll.
pub fn spawn_here(queue: &Arc<dyn Enqueue>, future: impl Future<Output = ()> + Send + 'static) {
    let (task, _) = allocate(Arc::clone(queue), future, SCHEDULED | REFERENCE);
    task.run();
}

/// Like [`spawn`], for a future that is not `Send` or borrows; returns a handle. The task does not
/// ask for room in the queue.
///
/// # Safety
/// - Everything `future` borrows outlives it: the caller waits until the future has been dropped
///   (it completes, panics, or its queue is drained) before the borrow ends.
/// - If `future` is not `Send`: `queue` runs all its tasks on one thread, this is that thread, and
///   the future completes before that thread ends.
pub unsafe fn spawn_unchecked<F: Future<Output = ()>>(
    queue: &Arc<dyn Enqueue>,
    future: F,
) -> FutureHandle {
    let (task, prefix) = allocate(Arc::clone(queue), future, SCHEDULED | (2 * REFERENCE));
    queue.readmit(task);
    FutureHandle(prefix)
}

fn allocate<F: Future<Output = ()>>(
    queue: Arc<dyn Enqueue>,
    future: F,
    state: usize,
) -> (Task, NonNull<Prefix>) {
    let node = Box::new(FutureNode {
        prefix: Prefix {
            header: Header::new(FutureNode::<F>::VTABLE),
            state: AtomicUsize::new(state),
            queue,
            free: FutureNode::<F>::free,
        },
        future: UnsafeCell::new(ManuallyDrop::new(future)),
    });
    let prefix: NonNull<Prefix> = NonNull::from(Box::leak(node)).cast();
    // SAFETY: the header is the node's front; one reference of the state belongs to the task.
    (unsafe { Task::from_header(prefix.cast()) }, prefix)
}

impl<F: Future<Output = ()>> FutureNode<F> {
    const VTABLE: &'static VTable = &VTable {
        run: Self::run,
        cleanup: Self::discard,
        discard: Self::discard,
    };

    /// # Safety
    /// `header` is the front of a queued `FutureNode<F>`; the queue's reference passes to the call.
    unsafe fn run(header: NonNull<Header>) {
        let prefix: NonNull<Prefix> = header.cast();
        // SAFETY: the queue's reference keeps the node alive.
        let state = unsafe { &prefix.as_ref().state };
        let before = state.load(Ordering::Acquire);
        if before & ABANDONED != 0 {
            // SAFETY: as above.
            return unsafe { Self::discard(header) };
        }
        // Acquire: what the waker wrote before it woke us is seen by the poll.
        if before & RUNNING == 0 {
            state.fetch_xor(SCHEDULED | RUNNING, Ordering::AcqRel);
        } else if before & SCHEDULED != 0 {
            state.fetch_and(!SCHEDULED, Ordering::AcqRel);
        }
        // SAFETY: this thread runs the task (see the module doc).
        match unsafe { Self::poll(prefix) } {
            // SAFETY: the queue's reference is given up in each case.
            After::Done => unsafe { release(prefix) },
            // SAFETY: the queue's reference passes to the worker, which runs the task again.
            After::Again => worker::run_again(unsafe { Task::from_header(header) }),
            After::Waits => {
                // Release: the next poll, maybe elsewhere, sees what this one wrote.
                let was = state.fetch_and(!RUNNING, Ordering::AcqRel);
                if was & SCHEDULED != 0 {
                    // Woken during the poll.
                    // SAFETY: as above.
                    unsafe { prefix.as_ref() }.readmit();
                } else {
                    // SAFETY: as above.
                    unsafe { release(prefix) };
                }
            }
        }
    }

    /// # Safety
    /// The calling thread runs the task, and the future is there.
    unsafe fn poll(prefix: NonNull<Prefix>) -> After {
        /// A future that panics is dropped like one that has ended.
        struct Bomb<F: Future<Output = ()>>(Option<NonNull<FutureNode<F>>>);
        impl<F: Future<Output = ()>> Drop for Bomb<F> {
            fn drop(&mut self) {
                let Some(node) = self.0 else { return };
                // SAFETY: the poll has ended by a panic; the caller of `poll` still runs the task
                // and, since it unwinds, gives up its reference here.
                unsafe {
                    FutureNode::drop_future(node);
                    release(node.cast());
                }
            }
        }
        let node: NonNull<FutureNode<F>> = prefix.cast();
        // The waker borrows the queue's reference: it is never dropped.
        // SAFETY: VTABLE keeps RawWaker's contract; see its functions.
        let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw_waker(prefix)) });
        let mut cx = Context::from_waker(&waker);
        let mut polled = Poll::Pending;
        let mut bomb = Bomb(Some(node));
        let poll = || {
            // SAFETY: this thread runs the task, so nobody else touches the future; it is pinned
            // by its node, which does not move it before it is dropped.
            polled = unsafe { node.as_ref() }
                .future
                .with_mut(|future| unsafe { Pin::new_unchecked(&mut **future) }.poll(&mut cx));
        };
        let again = worker::while_polling(prefix.as_ptr().cast(), poll);
        bomb.0 = None;
        match polled {
            Poll::Ready(()) => {
                // SAFETY: this thread runs the task.
                unsafe { Self::drop_future(node) };
                After::Done
            }
            Poll::Pending if again => After::Again,
            Poll::Pending => After::Waits,
        }
    }

    /// # Safety
    /// The calling thread owns the queued task, whose future is there.
    unsafe fn drop_future(node: NonNull<Self>) {
        /// Sets `DONE` also when the future's destructor panics.
        struct Done<'a>(&'a AtomicUsize);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.fetch_or(DONE, Ordering::AcqRel);
            }
        }
        // SAFETY: the caller's reference keeps the node alive.
        let node = unsafe { node.as_ref() };
        let _done = Done(&node.prefix.state);
        // SAFETY: the caller owns the future, which is not used again once DONE is set.
        node.future
            .with_mut(|future| unsafe { ManuallyDrop::drop(&mut *future) });
    }

    /// Drops the future of a task that will not run, and the queue's reference.
    ///
    /// # Safety
    /// As `run`.
    unsafe fn discard(header: NonNull<Header>) {
        let prefix: NonNull<Prefix> = header.cast();
        // SAFETY: as `run`; wakers that come now see RUNNING and only leave a mark.
        unsafe {
            prefix.as_ref().state.fetch_or(RUNNING, Ordering::AcqRel);
            Self::drop_future(prefix.cast());
            release(prefix);
        }
    }

    /// # Safety
    /// No reference is left and the future has been dropped.
    unsafe fn free(prefix: NonNull<Prefix>) {
        let node: NonNull<FutureNode<F>> = prefix.cast();
        // SAFETY: the node came from a Box in `allocate`.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
    }
}

/// What a poll has left to do.
enum After {
    Done,
    Again,
    Waits,
}

impl Prefix {
    /// Queues the task again, passing on a reference the caller holds.
    fn readmit(&self) {
        // SAFETY: the caller passes its reference, and the state says that the task is queued.
        let task = unsafe { Task::from_header(NonNull::from(self).cast()) };
        // Our own handle on the queue: the task may end, and free `self`, before `readmit` returns.
        let queue = Arc::clone(&self.queue);
        queue.readmit(task);
    }

    /// Sets `SCHEDULED`; queues the task if nobody else has to.
    fn wake(&self) {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & DONE != 0 {
                return;
            }
            // Waiting: the queue needs a reference. Queued or being polled: leave the mark only.
            // It is left even where it is there already, so that the release below orders what
            // this thread wrote before the poll that takes the mark.
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
unsafe fn release(prefix: NonNull<Prefix>) {
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
    // SAFETY: that was the last reference, and DONE says that the future is gone.
    unsafe { (prefix.as_ref().free)(prefix) };
}

static WAKER: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

fn raw_waker(prefix: NonNull<Prefix>) -> RawWaker {
    RawWaker::new(prefix.as_ptr().cast(), &WAKER)
}

// SAFETY of the four functions: `data` is the prefix of a node that a reference of the waker keeps
// alive; `wake` and `drop_waker` give that reference up.

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
    unsafe { release(NonNull::new_unchecked(data.cast_mut().cast())) }
}

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

    /// Whether the task waits and only this handle can wake it: no waker of it is held anywhere.
    #[must_use]
    pub fn waits_for_handle(&self) -> bool {
        self.prefix().state.load(Ordering::Acquire) == REFERENCE
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
