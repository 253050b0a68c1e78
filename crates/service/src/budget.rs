//! Who has the cores: services take them for threads of their own, worlds wait in line for the
//! rest.
//!
//! ```text
//!   cores ──┬─ as many as services have threads: taken when these start, at once
//!           └─ the rest, one at least: granted to one world after the other
//! ```

use motet_sync::Mutex;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// The cores of a node: for threads of its services, and granted to one world after the other,
/// first come, first served.
pub(crate) struct Budget {
    cores: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Those that worlds have.
    granted: usize,
    /// Those that threads of services have: there may be more than there are cores.
    taken: usize,
    next: u64,
    line: VecDeque<(u64, Waker)>,
}

/// Cores of a world, which are given back when this is dropped.
pub(crate) struct CoreGrant {
    budget: Arc<Budget>,
    cores: usize,
}

/// Cores of the threads of a service, which are given back when this is dropped.
pub(crate) struct TakenCores {
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
                granted: 0,
                taken: 0,
                next: 0,
                line: VecDeque::new(),
            }),
        })
    }

    /// Waits for so many cores. A world that wants more than services leave gets what they leave,
    /// and one in any case.
    pub(crate) async fn grant(self: &Arc<Self>, wanted: usize) -> CoreGrant {
        let mut waiting = WaitingService {
            budget: self,
            number: None,
        };
        let cores = poll_fn(|cx| waiting.poll(wanted, cx.waker())).await;
        CoreGrant {
            budget: Arc::clone(self),
            cores,
        }
    }

    /// Takes so many cores for the threads of a service, however many there are: worlds that have
    /// some keep them, and those that come wait for the rest.
    pub(crate) fn take(self: &Arc<Self>, cores: usize) -> TakenCores {
        self.inner.lock().taken += cores;
        TakenCores {
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

impl CoreGrant {
    /// How many they are, 1 at least.
    pub(crate) fn cores(&self) -> usize {
        self.cores
    }
}

impl WaitingService<'_> {
    /// How many cores are granted, when this is the first in the line and they are free.
    fn poll(&mut self, wanted: usize, waker: &Waker) -> Poll<usize> {
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
        // It changes while others wait. When no world has any, one is free: nobody waits for ever.
        let for_worlds = self.budget.cores.saturating_sub(inner.taken).max(1);
        let cores = wanted.clamp(1, for_worlds);
        if is_first && inner.granted + cores <= for_worlds {
            inner.granted += cores;
            inner.line.pop_front();
            self.number = None;
            drop(inner);
            self.budget.tell();
            return Poll::Ready(cores);
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
        self.budget.inner.lock().granted -= self.cores;
        self.budget.tell();
    }
}

impl Drop for TakenCores {
    fn drop(&mut self) {
        self.budget.inner.lock().taken -= self.cores;
        self.budget.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    /// Counts how often it is woken.
    #[derive(Default)]
    struct CountedWakes(AtomicUsize);

    impl Wake for CountedWakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The grant of a world that need not wait.
    fn now(budget: &Arc<Budget>, wanted: usize) -> Option<CoreGrant> {
        let granting = pin!(budget.grant(wanted));
        match granting.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(granted) => Some(granted),
            Poll::Pending => None,
        }
    }

    fn count(granted: Option<&CoreGrant>) -> Option<usize> {
        granted.map(CoreGrant::cores)
    }

    #[test]
    fn sem_g620_threads_of_services_take_from_what_worlds_get() {
        let budget = Budget::new(4);
        let service = budget.take(2);
        let two = now(&budget, 4);
        assert_eq!(count(two.as_ref()), Some(2), "it gets what is left");
        assert!(now(&budget, 1).is_none(), "nothing is free");
        drop(two);
        let one = now(&budget, 1);
        let other = now(&budget, 1);
        assert_eq!(
            (count(one.as_ref()), count(other.as_ref())),
            (Some(1), Some(1))
        );
        assert!(now(&budget, 1).is_none(), "nothing is free");
        drop(service);
        let rest = now(&budget, 2);
        assert_eq!(count(rest.as_ref()), Some(2), "the service gave them back");
        drop((one, other, rest));
        assert_eq!(
            count(now(&budget, 9).as_ref()),
            Some(4),
            "there are no more"
        );
        assert_eq!(count(now(&budget, 0).as_ref()), Some(1));
    }

    #[test]
    fn sem_g620_a_world_gets_a_core_however_many_threads_services_have() {
        let budget = Budget::new(2);
        let running = now(&budget, 2);
        assert_eq!(count(running.as_ref()), Some(2));
        // Services do not wait for worlds.
        let services = [budget.take(2), budget.take(5)];
        assert!(now(&budget, 1).is_none(), "the world that runs keeps both");
        drop(running);
        let one = now(&budget, 2);
        assert_eq!(count(one.as_ref()), Some(1));
        assert!(now(&budget, 1).is_none(), "one world at a time");
        drop((one, services));
        assert_eq!(count(now(&budget, 2).as_ref()), Some(2));
    }

    #[test]
    fn sem_g620_who_waits_first_is_woken_when_threads_end_and_is_not_overtaken() {
        let budget = Budget::new(2);
        let service = budget.take(1);
        let running = now(&budget, 1);
        let wakes = Arc::new(CountedWakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut waits = pin!(budget.grant(1));
        assert!(
            waits
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
        drop(service);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert!(now(&budget, 1).is_none(), "another is first");
        let Poll::Ready(granted) = waits.poll(&mut Context::from_waker(&waker)) else {
            panic!("a core is free");
        };
        assert_eq!(granted.cores(), 1);
        drop((granted, running));
        assert_eq!(count(now(&budget, 2).as_ref()), Some(2));
    }
}
