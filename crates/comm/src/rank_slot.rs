//! The place where a rank waits and where others wake it.
//!
//! A waiting rank looks for what it waits for by itself, as [`SpinWait`] tells it; only when that
//! has taken too long does it say that it sleeps. Whoever brings something looks at `sleeping` after
//! making it visible:
//!
//! ```text
//!  who brings                             who waits
//!  1  make it visible                     a  sleeping = true
//!  2  fence                               b  fence
//!  3  if sleeping: wake                   c  look once more; if it is there, go on
//! ```
//!
//! Of two SeqCst fences one comes first: either 3 sees a, or c sees 1. Ranks with the same home
//! worker take turns on one thread and need no fence.

use crate::report::Wait;
use motet_dispatch::{Advice, FutureHandle, SpinWait};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

/// One rank's waiting place.
pub(crate) struct RankSlot {
    /// The rank may sleep: whoever brings something must wake it. Only wakers clear it.
    sleeping: AtomicBool,
    finished: AtomicBool,
    /// The rank's task, where ranks are tasks of a dispatcher.
    task: OnceLock<FutureHandle>,
    /// Wakers of parts of the rank that are polled with a waker of their own.
    wakers: Mutex<Vec<Waker>>,
    /// The calls in which the rank sleeps.
    waits: Mutex<Vec<(u64, Wait)>>,
    next_wait: AtomicU64,
}

/// One wait of a rank; held by the waiting future.
pub(crate) struct RankWait<'a> {
    slot: &'a RankSlot,
    spin: SpinWait,
    wait: Wait,
    /// The number under which the wait stands in the slot.
    listed: Option<u64>,
}

impl RankSlot {
    pub(crate) fn new() -> Self {
        RankSlot {
            sleeping: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            task: OnceLock::new(),
            wakers: Mutex::default(),
            waits: Mutex::default(),
            next_wait: AtomicU64::new(0),
        }
    }

    /// Tells the slot which task its rank is.
    pub(crate) fn set_task(&self, task: FutureHandle) {
        if self.task.set(task).is_err() {
            unreachable!("a rank is started once")
        }
    }

    /// Begins a wait of this rank.
    #[inline]
    pub(crate) fn wait(&self, wait: Wait) -> RankWait<'_> {
        RankWait {
            slot: self,
            spin: SpinWait::new(),
            wait,
            listed: None,
        }
    }

    /// Wakes the rank if it sleeps; called after a fence that follows what was brought.
    #[inline]
    pub(crate) fn wake_if_sleeping(&self) {
        if self.sleeping.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Wakes the rank.
    #[cold]
    pub(crate) fn wake(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
        let wakers = std::mem::take(&mut *self.wakers.lock());
        wakers.into_iter().for_each(Waker::wake);
        if let Some(task) = self.task.get() {
            task.wake();
        }
    }

    pub(crate) fn set_finished(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// The calls in which the rank sleeps, if only a message of another rank can wake it.
    pub(crate) fn hopeless_waits(&self) -> Option<Vec<Wait>> {
        if !self.task.get()?.waits_for_handle() {
            return None;
        }
        Some(self.waits()).filter(|waits| !waits.is_empty())
    }

    /// The calls in which the rank sleeps.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        self.waits.lock().iter().map(|(_, wait)| *wait).collect()
    }

    /// The number of wakers left here.
    pub(crate) fn waker_count(&self) -> usize {
        self.wakers.lock().len()
    }

    fn leave_waker(&self, cx: &Context<'_>) {
        if self.task.get().is_some_and(|task| task.is_context(cx)) {
            return;
        }
        let mut wakers = self.wakers.lock();
        if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
    }
}

impl RankWait<'_> {
    /// Ready when `ready` says so. `sleeps` is called before the rank sleeps, ahead of the last
    /// look.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        cx: &Context<'_>,
        mut ready: impl FnMut() -> bool,
        sleeps: impl FnOnce(),
    ) -> Poll<()> {
        match self.spin.wait(cx, &mut ready) {
            Advice::Ready => Poll::Ready(()),
            Advice::Again => Poll::Pending,
            Advice::Sleep => {
                self.list();
                sleeps();
                self.slot.leave_waker(cx);
                self.slot.sleeping.store(true, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                if ready() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }
        }
    }

    #[cold]
    fn list(&mut self) {
        if self.listed.is_none() {
            let number = self.slot.next_wait.fetch_add(1, Ordering::Relaxed);
            self.slot.waits.lock().push((number, self.wait));
            self.listed = Some(number);
        }
    }
}

impl Drop for RankWait<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.listed {
            self.slot.waits.lock().retain(|(other, _)| *other != number);
        }
    }
}
