//! Async tasks: a future that is polled as a task each time it is woken.
//!
//! One allocation holds the task's header, its state, the queue it runs on and the future. While it
//! waits it costs that memory and nothing else; it is kept alive by its wakers.
//!
//! # State
//!
//! A word of six bits and a reference count:
//!
//! | bit | meaning | set by | cleared by |
//! |---|---|---|---|
//! | `SCHEDULED` | wants to be polled | a waker | `run`, before it polls |
//! | `RUNNING` | being polled, or about to be polled again without having waited | `run` | `run`, after the poll |
//! | `DONE` | the future is gone | whoever dropped it | never |
//! | `ABANDONED` | nobody can wake it: drop the future | the last reference | never |
//! | `STARTED` | has been polled | `run`, before it polls | never |
//! | `WATCHED` | there is, or was, a [`FutureHandle`] | who made it | never |
//!
//! - The task is in a queue exactly when (`SCHEDULED` and not `RUNNING`) or it has asked for
//!   another turn (`RUNNING`, between polls). Being queued holds one reference; so does each waker
//!   and each [`FutureHandle`].
//! - The causalities of the node are active during a poll and go back into the node before it can
//!   be queued again. What a poll adds is there at the next one.
//! - The future is touched only by the thread that runs, cleans up or discards the queued task: the
//!   queue hands a task to one thread. If the last reference goes while the future is still there,
//!   it queues the task once more, `ABANDONED`. So the future is dropped where it ran.
//! - The last reference to a task that is `DONE` frees the node, as a task that is dropped. So the
//!   node needs no pointer of its own to what frees it.

mod handle;
mod prefix;

pub use handle::FutureHandle;
pub use prefix::is_task_context;

use crate::drops::drop_flat;
use crate::memory::NodeMemory;
use crate::task::{Task, TaskHeader, VTable};
use crate::worker;
use crate::{Causalities, Enqueue, Refused, causality};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::cell::UnsafeCell;
use prefix::{
    ABANDONED, DONE, Prefix, REFERENCE, RUNNING, SCHEDULED, STARTED, WATCHED, raw_waker, release,
};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

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

/// Like [`spawn`], but polls the future for the first time here and now, as part of the task that
/// is running. It has been admitted with that task, so it asks for no room.
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
/// - Everything `future` borrows outlives it. The caller waits until the future has been dropped
///   (it completes, panics, or its queue is drained) before the borrow ends.
/// - If `future` is not `Send`: `queue` runs all its tasks on one thread, and this is that thread.
///   The future has been dropped before that thread ends. Whoever wakes it later than that would
///   leave it to other threads: to who stops the dispatcher, or to the waker's own.
pub unsafe fn spawn_unchecked<F: Future<Output = ()>>(
    queue: &Arc<dyn Enqueue>,
    future: F,
) -> FutureHandle {
    let (task, prefix) = allocate(
        Arc::clone(queue),
        future,
        SCHEDULED | WATCHED | (2 * REFERENCE),
    );
    queue.readmit(task);
    FutureHandle(prefix)
}

fn allocate<F: Future<Output = ()>>(
    queue: Arc<dyn Enqueue>,
    future: F,
    state: usize,
) -> (Task, NonNull<Prefix>) {
    let node = NodeMemory::new().hold(|| FutureNode {
        prefix: Prefix {
            header: TaskHeader::new(FutureNode::<F>::VTABLE, Causalities::active()),
            state: AtomicUsize::new(state),
            queue,
        },
        future: UnsafeCell::new(ManuallyDrop::new(future)),
    });
    let prefix: NonNull<Prefix> = node.cast();
    // SAFETY: the header is the node's front; one reference of the state belongs to the task.
    (unsafe { Task::from_header(prefix.cast()) }, prefix)
}

/// What is different for each type of future. All else is compiled once, for all of them.
struct FutureKind {
    /// Polls the future. The calling thread runs the task, and the future is there.
    poll: unsafe fn(NonNull<Prefix>, &mut Context<'_>) -> Poll<()>,
    /// Drops the future, which is there. The calling thread owns the queued task.
    drop: unsafe fn(NonNull<Prefix>),
    /// Frees the node. No reference is left, and the future has been dropped.
    free: unsafe fn(NonNull<Prefix>),
}

impl<F: Future<Output = ()>> FutureNode<F> {
    const VTABLE: &'static VTable = &VTable {
        // SAFETY: the front is that of a `FutureNode<F>`.
        run: |header| unsafe { run(header, Self::KIND) },
        // SAFETY: as above.
        cleanup: |header| unsafe { discard(header, Self::KIND) },
        // SAFETY: as above.
        discard: |header| unsafe { discard(header, Self::KIND) },
        name: |_| std::any::type_name::<F>(),
        // SAFETY: as above.
        skip: |header| unsafe { skip(header, Self::KIND) },
    };

    const KIND: &'static FutureKind = &FutureKind {
        poll: |prefix, cx| {
            // SAFETY: this thread runs the task, so nobody else touches the future. It is pinned by
            // its node, which does not move it before it is dropped.
            unsafe { Self::future(prefix) }
                .with_mut(|future| unsafe { Pin::new_unchecked(&mut **future) }.poll(cx))
        },
        drop: |prefix| {
            // SAFETY: the caller owns the future, which is not used again.
            unsafe { Self::future(prefix) }
                .with_mut(|future| unsafe { ManuallyDrop::drop(&mut *future) });
        },
        // SAFETY: the node was made in `allocate`.
        free: |prefix| unsafe { NodeMemory::destroy(prefix.cast::<Self>()) },
    };

    /// # Safety
    /// `prefix` is the front of a `FutureNode<F>`, which a reference keeps as long as the result.
    unsafe fn future<'a>(prefix: NonNull<Prefix>) -> &'a UnsafeCell<ManuallyDrop<F>>
    where
        F: 'a,
    {
        // SAFETY: as the caller says.
        &unsafe { prefix.cast::<Self>().as_ref() }.future
    }
}

/// # Safety
/// `header` is the front of a queued node of this kind; the queue's reference passes to the call.
unsafe fn run(header: NonNull<TaskHeader>, kind: &'static FutureKind) {
    let prefix: NonNull<Prefix> = header.cast();
    // SAFETY: the queue's reference keeps the node alive.
    let state = unsafe { &prefix.as_ref().state };
    let before = state.load(Ordering::Acquire);
    if before & ABANDONED != 0 {
        // SAFETY: as above.
        return unsafe { discard(header, kind) };
    }
    // Acquire: what the waker wrote before it woke us is seen by the poll.
    if before & RUNNING == 0 {
        // It is SCHEDULED and nobody else changes these three.
        let started = before & STARTED ^ STARTED;
        state.fetch_xor(SCHEDULED | RUNNING | started, Ordering::AcqRel);
    } else if before & SCHEDULED != 0 {
        state.fetch_and(!SCHEDULED, Ordering::AcqRel);
    }
    // SAFETY: this thread runs the task (see the module doc).
    let after = unsafe { poll(prefix, kind) };
    if !matches!(after, After::Done) {
        // SAFETY: this thread runs the task, which nobody can queue before what follows.
        let _before = unsafe {
            prefix
                .as_ref()
                .header
                .replace_causalities(causality::leave())
        };
    }
    match after {
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
unsafe fn poll(prefix: NonNull<Prefix>, kind: &'static FutureKind) -> After {
    // The waker borrows the queue's reference: it is never dropped.
    // SAFETY: VTABLE keeps RawWaker's contract; see its functions.
    let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw_waker(prefix)) });
    let mut cx = Context::from_waker(&waker);
    let mut polled = Poll::Pending;
    // A future that panics is dropped like one that has ended. The caller still runs the task and,
    // since it unwinds, gives up its reference so.
    let bomb = GivenUp { prefix, kind };
    let poll = || {
        // SAFETY: this thread runs the task.
        polled = unsafe { (kind.poll)(prefix, &mut cx) };
    };
    let again = worker::while_polling(prefix.as_ptr().cast(), poll);
    let _defused = ManuallyDrop::new(bomb);
    match polled {
        Poll::Ready(()) => {
            // As above, if the destructor panics.
            let reference = Reference(prefix);
            // SAFETY: this thread runs the task.
            unsafe { drop_future(prefix, kind) };
            let _kept = ManuallyDrop::new(reference);
            After::Done
        }
        Poll::Pending if again => After::Again,
        Poll::Pending => After::Waits,
    }
}

/// # Safety
/// The calling thread owns the queued task, whose future is there.
unsafe fn drop_future(prefix: NonNull<Prefix>, kind: &'static FutureKind) {
    /// Sets `DONE` also when the future's destructor panics.
    struct Done<'a>(&'a AtomicUsize);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.fetch_or(DONE, Ordering::AcqRel);
        }
    }
    // SAFETY: the caller's reference keeps the node alive.
    let front = unsafe { prefix.as_ref() };
    let _done = Done(&front.state);
    // SAFETY: the caller owns the future, which is not used again once DONE is set.
    unsafe { (kind.drop)(prefix) };
    // Wakers may keep the node for long.
    // SAFETY: as above.
    drop(unsafe { front.header.replace_causalities(Causalities::none()) });
}

/// Drops the future of a task that will not run, and the queue's reference; or frees the node
/// when the future is gone.
///
/// # Safety
/// As [`run`]; or no reference is left and the future has been dropped.
unsafe fn discard(header: NonNull<TaskHeader>, kind: &'static FutureKind) {
    let prefix: NonNull<Prefix> = header.cast();
    // SAFETY: the queue's reference keeps the node alive, or nobody else knows of it. A task
    // that is DONE is in no queue.
    if unsafe { prefix.as_ref() }.state.load(Ordering::Relaxed) & DONE != 0 {
        // SAFETY: as the caller says.
        unsafe { (kind.free)(prefix) };
        return;
    }
    // Wakers that come now see RUNNING and only leave a mark.
    // SAFETY: as `run`.
    let state = unsafe { &prefix.as_ref().state };
    state.fetch_or(RUNNING, Ordering::AcqRel);
    // The future may hold what ends the wait of the next task, and that of the one after it.
    drop_flat(GivenUp { prefix, kind });
}

/// Drops the future if it has not been polled yet; else polls it, so that it may end as it likes.
///
/// # Safety
/// As [`run`].
unsafe fn skip(header: NonNull<TaskHeader>, kind: &'static FutureKind) {
    let prefix: NonNull<Prefix> = header.cast();
    // SAFETY: as `run`.
    unsafe {
        if prefix.as_ref().state.load(Ordering::Relaxed) & STARTED != 0 {
            run(header, kind);
        } else {
            discard(header, kind);
        }
    }
}

/// A task that will not run any more: its future, which is there, is dropped with this, and the
/// queue's reference.
struct GivenUp {
    prefix: NonNull<Prefix>,
    kind: &'static FutureKind,
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        let _reference = Reference(self.prefix);
        // SAFETY: whoever made this owned the queued task, and has passed its reference on.
        unsafe { drop_future(self.prefix, self.kind) };
    }
}

/// A reference to a task, given up also when the destructor of its future panics.
struct Reference(NonNull<Prefix>);

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: this is one of the references that the state counts.
        unsafe { release(self.0) };
    }
}

/// What a poll has left to do.
enum After {
    Done,
    Again,
    Waits,
}
