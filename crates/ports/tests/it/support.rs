//! Queues, receivers and futures as the tests need them.

use motet_dispatch::{Dispatcher, DispatcherQueue, Exception, Inline, QueueConfig};
use motet_ports::{Offer, Port, Receiver, Verdict};
use motet_sync::Arc;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use motet_testkit::{Log, patience, within};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

/// A queue that runs everything here and now.
pub(crate) fn here() -> Inline {
    Inline::new("here")
}

/// A port with these items.
pub(crate) fn port_with<T: Send>(items: impl IntoIterator<Item = T>) -> Port<T> {
    let port = Port::new();
    post_all(&port, items);
    port
}

/// Posts one after the other.
pub(crate) fn post_all<T: Send>(port: &Port<T>, items: impl IntoIterator<Item = T>) {
    items
        .into_iter()
        .for_each(|item| port.post(item).expect("nobody refuses"));
}

/// Takes what waits in the port, oldest first.
pub(crate) fn take_all<T: Send>(port: &Port<T>) -> Vec<T> {
    std::iter::from_fn(|| port.test()).collect()
}

/// A dispatcher with so many threads and a queue of it.
pub(crate) fn dispatcher(threads: usize) -> (Dispatcher, DispatcherQueue) {
    let dispatcher = Dispatcher::new(threads);
    let queue = dispatcher.queue(QueueConfig::default());
    (dispatcher, queue)
}

/// Runs `body` on dispatchers with 1, 2 and 4 threads, `rounds` times each; fails if it hangs.
pub(crate) fn on_dispatchers(
    rounds: usize,
    body: impl Fn(&Dispatcher, &DispatcherQueue) + Send + 'static,
) {
    within(patience(), move || {
        for threads in [1, 2, 4] {
            for _ in 0..rounds {
                let (dispatcher, queue) = dispatcher(threads);
                body(&dispatcher, &queue);
            }
        }
    });
}

/// Runs `body` on so many threads at once and waits for them; the argument is the thread's number.
pub(crate) fn in_parallel<R: Send + 'static>(
    threads: usize,
    body: impl Fn(usize) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let body = Arc::new(body);
    let threads: Vec<_> = (0..threads)
        .map(|number| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(number))
        })
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().expect("a poster does not panic"))
        .collect()
}

/// A receiver that answers as told and records which items it was asked about.
pub(crate) struct Probe<T: Send + 'static> {
    asked: Log<T>,
    answer: Box<Answer<T>>,
}

type Answer<T> = dyn Fn(&mut Offer<'_, T>) -> Verdict + Send + Sync;

impl<T: Clone + Send + Sync + 'static> Probe<T> {
    /// Answers what `answer` says.
    pub(crate) fn new(
        answer: impl Fn(&mut Offer<'_, T>) -> Verdict + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Probe {
            asked: Log::new(),
            answer: Box::new(answer),
        })
    }

    /// Takes nothing.
    pub(crate) fn rejecting() -> Arc<Self> {
        Probe::new(|_| Verdict::Reject)
    }

    /// Takes everything, for good if `once`.
    pub(crate) fn accepting(once: bool) -> Arc<Self> {
        Probe::new(move |offer| {
            if once {
                offer.leave_port();
            }
            accept(offer)
        })
    }

    /// Registers behind the receivers of `port`.
    pub(crate) fn register(self: &Arc<Self>, port: &Port<T>) {
        port.register(self.receiver());
    }

    /// As ports know it.
    pub(crate) fn receiver(self: &Arc<Self>) -> Arc<dyn Receiver<T>> {
        Arc::clone(self) as Arc<dyn Receiver<T>>
    }

    /// The items it was asked about, in order.
    pub(crate) fn asked(&self) -> Vec<T> {
        self.asked.entries()
    }
}

impl<T: Clone + Send + Sync + 'static> Receiver<T> for Probe<T> {
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        self.asked.push(offer.item().clone());
        (self.answer)(offer)
    }
}

/// Takes the offered item and drops it.
pub(crate) fn accept<T: Send + 'static>(offer: &mut Offer<'_, T>) -> Verdict {
    let _taken = offer.accept();
    Verdict::Accept
}

/// Leaves its port at the first offer, and panics when it is dropped.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb is dropped");
    }
}

impl Receiver<u32> for Bomb {
    fn offer(&self, offer: &mut Offer<'_, u32>) -> Verdict {
        offer.leave_port();
        Verdict::Reject
    }
}

/// A waker that panics.
pub(crate) fn broken() -> Waker {
    struct Broken;
    impl Wake for Broken {
        fn wake(self: Arc<Self>) {
            panic!("a waker is broken");
        }
    }
    Waker::from(Arc::new(Broken))
}

/// Takes what a queue's exceptions have said.
pub(crate) fn told(exceptions: &Port<Exception>) -> Vec<String> {
    let all = take_all(exceptions);
    all.iter().map(|told| told.message().to_owned()).collect()
}

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    /// Never woken yet, and its waker.
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Wakes::default());
        (Arc::clone(&wakes), Waker::from(wakes))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}
