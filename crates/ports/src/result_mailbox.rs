//! The queue of an awaited arbiter: it holds one task until the future that waits runs it.
//!
//! Any arbiter has a waiting form by this: it is put to work with a mailbox as its queue. Its task
//! comes here when it has taken its items. The future, woken, runs the task in its own poll. A
//! future that is dropped instead cleans the task up, which brings the items back to the front of
//! their ports.

use crate::activation::Active;
use crate::recv::adopt;
use motet_dispatch::{
    Awaited, Clock, Enqueue, Exception, Inline, QueueError, Task, Waiter, watch_here,
};
use motet_sync::{Mutex, renew_waker};
use std::panic::{Location, resume_unwind};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// One task, whose handler leaves an `R`.
pub(crate) struct ResultMailbox<R> {
    this: Weak<Self>,
    slot: Mutex<ResultState<R>>,
}

struct ResultState<R> {
    task: Option<Task>,
    result: Option<R>,
    /// Of a predicate.
    exception: Option<Exception>,
    waker: Option<Waker>,
    /// The arbiter whose queue this is, from when it waits.
    arbiter: Option<Weak<dyn Active>>,
    /// The future has been dropped.
    closed: bool,
}

impl<R: Send + 'static> ResultMailbox<R> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new_cyclic(|this| ResultMailbox {
            this: Weak::clone(this),
            slot: Mutex::new(ResultState {
                task: None,
                result: None,
                exception: None,
                waker: None,
                arbiter: None,
                closed: false,
            }),
        })
    }

    /// A handler that leaves what `map` makes of its items.
    pub(crate) fn leaving<T>(
        self: &Arc<Self>,
        map: impl FnOnce(T) -> R + Send + 'static,
    ) -> impl FnOnce(T) + Send + 'static {
        let mailbox = Arc::clone(self);
        move |items| {
            let result = map(items);
            mailbox.slot.lock().result = Some(result);
        }
    }

    /// Runs the task that has come; else leaves the waker.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<R> {
        let mut slot = self.slot.lock();
        if let Some(exception) = slot.exception.take() {
            drop(slot);
            resume_unwind(exception.into_payload());
        }
        let Some(task) = slot.task.take() else {
            let before = match &mut slot.waker {
                Some(waker) => renew_waker(waker, cx.waker()),
                none => none.replace(cx.waker().clone()),
            };
            drop(slot);
            drop(before);
            return Poll::Pending;
        };
        drop(slot);
        let causalities = task.causalities();
        task.run();
        adopt(&causalities, cx);
        let result = self.slot.lock().result.take();
        Poll::Ready(result.expect("the handler of an awaited arbiter leaves its result"))
    }

    /// The wait of `arbiter`, which has just begun, can be listed. The waker has been left.
    pub(crate) fn noted(
        self: &Arc<Self>,
        arbiter: &Arc<dyn Active>,
        created: &'static Location<'static>,
    ) {
        self.slot.lock().arbiter = Some(Arc::downgrade(arbiter));
        watch_here(Arc::downgrade(self) as Weak<dyn Waiter>, created);
    }

    /// The future is gone: a task that has come, or still comes, is cleaned up. So far as nobody
    /// has heard of a predicate's panic, it is told.
    pub(crate) fn close(&self) {
        let (task, exception) = {
            let mut slot = self.slot.lock();
            slot.closed = true;
            (slot.task.take(), slot.exception.take())
        };
        exception.into_iter().for_each(tell);
        if let Some(task) = task {
            task.cleanup();
        }
    }

    /// Changes the slot and wakes the future.
    fn deliver(&self, change: impl FnOnce(&mut ResultState<R>)) {
        let waker = {
            let mut slot = self.slot.lock();
            change(&mut slot);
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<R: Send + 'static> Waiter for ResultMailbox<R> {
    fn awaits(&self) -> Option<Awaited> {
        let arbiter = self.slot.lock().arbiter.clone();
        arbiter?.upgrade()?.awaits()
    }

    fn dispatcher_ended(&self) {
        let waker = self.slot.lock().waker.clone();
        // Outside the lock: the task may be dropped at once, and this wait with it.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<R: Send + 'static> Enqueue for ResultMailbox<R> {
    fn reserve(&self) -> Result<(), QueueError> {
        Ok(())
    }

    fn release(&self) {}

    fn admit(&self, task: Task) {
        let mut task = Some(task);
        self.deliver(|slot| {
            if !slot.closed {
                slot.task = task.take();
            }
        });
        if let Some(late) = task {
            late.cleanup();
        }
    }

    fn readmit(&self, task: Task) {
        self.admit(task);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        self.this.upgrade().expect("it is in use")
    }

    fn name(&self) -> &'static str {
        "await"
    }

    /// That of the queue on which the future is polled: timers are set in its first poll.
    fn clock(&self) -> Clock {
        Clock::current()
    }

    /// The future looks whether anything can still come.
    fn arbiter_ended(&self) {
        self.deliver(|_| ());
    }

    fn raise(&self, exception: Exception) {
        let mut exception = Some(exception);
        self.deliver(|slot| {
            // The future panics once.
            if !slot.closed && slot.exception.is_none() {
                slot.exception = exception.take();
            }
        });
        exception.into_iter().for_each(tell);
    }
}

/// No future panics with it: the causalities are told, else standard error.
#[cold]
fn tell(exception: Exception) {
    Inline::new("await").raise(exception);
}
