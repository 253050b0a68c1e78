//! Who has the cores: worlds wait in line for them.

use motet_sync::Mutex;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// The cores of a node, granted to one world after the other, first come, first served.
pub(crate) struct Budget {
    cores: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    free: usize,
    next: u64,
    line: VecDeque<(u64, Waker)>,
}

/// Cores that are given back when this is dropped.
pub(crate) struct CoreGrant {
    budget: Arc<Budget>,
    cores: usize,
}

/// A place in the line.
struct WaitingService<'a> {
    budget: &'a Budget,
    number: Option<u64>,
}

impl Budget {
    pub(crate) fn new(cores: usize) -> Arc<Self> {
        Arc::new(Budget {
            cores,
            inner: Mutex::new(Inner {
                free: cores,
                next: 0,
                line: VecDeque::new(),
            }),
        })
    }

    /// Waits for so many cores; a world that wants more than there are gets all.
    pub(crate) async fn grant(self: &Arc<Self>, wanted: usize) -> CoreGrant {
        let cores = wanted.clamp(1, self.cores);
        let mut waiting = WaitingService {
            budget: self,
            number: None,
        };
        poll_fn(|cx| waiting.poll(cores, cx.waker())).await;
        CoreGrant {
            budget: Arc::clone(self),
            cores,
        }
    }

    /// Wakes who is first.
    fn tell(&self) {
        let first = self
            .inner
            .lock()
            .line
            .front()
            .map(|(_, waker)| waker.clone());
        if let Some(first) = first {
            first.wake();
        }
    }
}

impl WaitingService<'_> {
    fn poll(&mut self, cores: usize, waker: &Waker) -> Poll<()> {
        let mut inner = self.budget.inner.lock();
        let number = *self.number.get_or_insert_with(|| {
            inner.next += 1;
            let number = inner.next;
            inner.line.push_back((number, waker.clone()));
            number
        });
        let is_first = inner
            .line
            .front()
            .is_some_and(|(first, _)| *first == number);
        if is_first && inner.free >= cores {
            inner.free -= cores;
            inner.line.pop_front();
            self.number = None;
            drop(inner);
            self.budget.tell();
            return Poll::Ready(());
        }
        if let Some((_, known)) = inner.line.iter_mut().find(|(other, _)| *other == number) {
            known.clone_from(waker);
        }
        Poll::Pending
    }
}

impl Drop for WaitingService<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.budget
                .inner
                .lock()
                .line
                .retain(|(other, _)| *other != number);
            self.budget.tell();
        }
    }
}

impl Drop for CoreGrant {
    fn drop(&mut self) {
        self.budget.inner.lock().free += self.cores;
        self.budget.tell();
    }
}
