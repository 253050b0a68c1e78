//! Several that are carried out at once. Only those are polled that were woken: the work grows with
//! what happens, not with how many wait.

use super::failure::Failure;
use motet_sync::Mutex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// What is being carried out, and why it does not end well.
type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// All that are being carried out.
#[derive(Default)]
pub(super) struct Together<'a> {
    /// By their numbers, each with what wakes it.
    running: BTreeMap<u64, (Running<'a>, Waker)>,
    next: u64,
    woken: Arc<Mutex<Woken>>,
}

/// Those that are to be polled.
#[derive(Default)]
struct Woken {
    /// The one that was woken first before the others, each once.
    line: VecDeque<u64>,
    /// The same.
    all: BTreeSet<u64>,
    /// The task that has all of them, until it is woken.
    task: Option<Waker>,
}

/// Wakes one of them.
struct OneWaker {
    number: u64,
    woken: Arc<Mutex<Woken>>,
}

impl<'a> Together<'a> {
    pub(super) fn push(&mut self, one: Running<'a>) {
        let number = self.next;
        self.next += 1;
        let woken = Arc::clone(&self.woken);
        let waker = Waker::from(Arc::new(OneWaker { number, woken }));
        self.running.insert(number, (one, waker));
        self.woken.lock().enter(number);
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Waits until one of them has ended, and takes it out.
    pub(super) async fn first(&mut self) -> Result<(), Failure> {
        poll_fn(|cx| self.poll_first(cx)).await
    }

    fn poll_first(&mut self, cx: &Context<'_>) -> Poll<Result<(), Failure>> {
        let task = cx.waker().clone();
        // Who is woken from here on has the task woken again, and waits for that.
        let (before, count) = {
            let mut woken = self.woken.lock();
            (woken.task.replace(task), woken.line.len())
        };
        drop(before);
        for _ in 0..count {
            let next = self.woken.lock().next();
            let Some(number) = next else { break };
            let Some((one, waker)) = self.running.get_mut(&number) else {
                // It has ended before.
                continue;
            };
            let polled = one.as_mut().poll(&mut Context::from_waker(waker));
            if polled.is_ready() {
                drop(self.running.remove(&number));
                return polled;
            }
        }
        Poll::Pending
    }
}

impl Woken {
    fn enter(&mut self, number: u64) {
        if self.all.insert(number) {
            self.line.push_back(number);
        }
    }

    fn next(&mut self) -> Option<u64> {
        let number = self.line.pop_front()?;
        self.all.remove(&number);
        Some(number)
    }
}

impl Wake for OneWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let task = {
            let mut woken = self.woken.lock();
            woken.enter(self.number);
            woken.task.take()
        };
        // Outside of the lock: it may poll them.
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_ports::Port;
    use motet_sync::atomic::{AtomicUsize, Ordering};

    fn look(together: &mut Together<'_>) -> Poll<Result<(), Failure>> {
        together.poll_first(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn of_many_only_those_are_polled_that_go_on() {
        const MANY: usize = 2_000;
        let ports: Vec<Port<u32>> = (0..MANY).map(|_| Port::new()).collect();
        let polls = AtomicUsize::new(0);
        let mut together = Together::default();
        for port in &ports {
            let mut waits = Box::pin(async move {
                port.recv().await;
                Ok::<(), Failure>(())
            });
            let polls = &polls;
            together.push(Box::pin(poll_fn(move |cx| {
                polls.fetch_add(1, Ordering::Relaxed);
                waits.as_mut().poll(cx)
            })));
        }
        assert!(look(&mut together).is_pending());
        for (at, port) in ports.iter().enumerate().rev() {
            port.post(7).unwrap();
            assert!(matches!(look(&mut together), Poll::Ready(Ok(()))));
            assert_eq!(together.len(), at);
        }
        assert!(together.is_empty());
        assert_eq!(polls.load(Ordering::Relaxed), 2 * MANY);
    }

    #[test]
    fn one_that_wakes_itself_is_polled_once_each_time() {
        let polls = AtomicUsize::new(0);
        let mut together = Together::default();
        together.push(Box::pin(poll_fn(|cx| {
            polls.fetch_add(1, Ordering::Relaxed);
            cx.waker().wake_by_ref();
            Poll::<Result<(), Failure>>::Pending
        })));
        for count in 1..4 {
            assert!(look(&mut together).is_pending());
            assert_eq!(polls.load(Ordering::Relaxed), count);
        }
    }
}
