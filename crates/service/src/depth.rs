//! How many operations wait at a port, and those who wait for room.

use motet_sync::Mutex;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// The operations that were posted and have not started, at most so many.
pub(crate) struct Depth {
    limit: usize,
    /// As many as wait, to be read without the lock under which it is written.
    seen: AtomicUsize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    waiting: usize,
    refused: u64,
    /// Those who wait to post.
    posters: VecDeque<Waker>,
}

/// The room of an operation that waits, given back when it starts or is dropped.
pub(crate) struct DepthRoom(Option<Arc<Depth>>);

impl DepthRoom {
    /// Of an operation that takes none.
    pub(crate) fn none() -> Self {
        DepthRoom(None)
    }

    /// The operation starts.
    pub(crate) fn leave(&mut self) {
        if let Some(depth) = self.0.take() {
            depth.leave();
        }
    }
}

impl Drop for DepthRoom {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Depth {
    pub(crate) fn new(limit: usize) -> Self {
        Depth {
            limit,
            seen: AtomicUsize::new(0),
            inner: Mutex::default(),
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes room for one, if there is some.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<DepthRoom> {
        let mut inner = self.inner.lock();
        if inner.waiting >= self.limit {
            inner.refused += 1;
            return None;
        }
        self.set(&mut inner, 1);
        Some(DepthRoom(Some(Arc::clone(self))))
    }

    /// Takes room for one, as soon as there is some.
    pub(crate) async fn enter_wait(self: &Arc<Self>) -> DepthRoom {
        poll_fn(|cx| {
            let mut inner = self.inner.lock();
            if inner.waiting < self.limit {
                self.set(&mut inner, 1);
                return Poll::Ready(DepthRoom(Some(Arc::clone(self))));
            }
            if !inner
                .posters
                .iter()
                .any(|poster| poster.will_wake(cx.waker()))
            {
                inner.posters.push_back(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// One has started, or is gone.
    fn leave(&self) {
        let mut inner = self.inner.lock();
        self.set(&mut inner, -1);
        // All of them: one that has been dropped meanwhile would keep the room from the next.
        let posters = match inner.posters.is_empty() {
            true => None,
            false => Some(std::mem::take(&mut inner.posters)),
        };
        drop(inner);
        for poster in posters.into_iter().flatten() {
            poster.wake();
        }
    }

    /// Whether none waits, as far as the calling thread knows: it knows of those that it has
    /// posted.
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: what others post meanwhile may come before or after.
        self.seen.load(Ordering::Relaxed) == 0
    }

    fn set(&self, inner: &mut Inner, change: isize) {
        inner.waiting = inner.waiting.saturating_add_signed(change);
        self.seen.store(inner.waiting, Ordering::Relaxed);
    }

    /// How many wait now, and how many have been refused so far.
    pub(crate) fn look(&self) -> (usize, u64) {
        let inner = self.inner.lock();
        (inner.waiting, inner.refused)
    }
}
