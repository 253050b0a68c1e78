//! What the tests of this crate share.

use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, QueueConfig, Task, TaskBody, TaskBox};
use motet_sync::{Mutex, thread};
use motet_testkit::{Gate, Log, patience, within};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Runs a test that uses a dispatcher with `workers` threads and one queue, and must end.
pub(crate) fn with_queue(
    workers: usize,
    body: impl FnOnce(Dispatcher, DispatcherQueue) + Send + 'static,
) {
    within(patience(), move || {
        let dispatcher = Dispatcher::new(workers);
        let queue = dispatcher.queue(QueueConfig::named("test"));
        body(dispatcher, queue);
    });
}

/// Queues a closure; the queue must take it.
pub(crate) fn go(queue: &impl Enqueue, work: impl FnOnce() + Send + 'static) {
    queue.enqueue(Task::new(work)).expect("the queue takes it");
}

/// Queues a task that writes `entry` into `log`.
pub(crate) fn note<T: Send + 'static>(queue: &impl Enqueue, log: &Log<T>, entry: T) {
    let log = log.clone();
    go(queue, move || log.push(entry));
}

/// Occupies one worker until the gate is opened; returns when the worker is in it.
pub(crate) fn hold(queue: &impl Enqueue) -> Gate {
    let gate = Gate::new();
    let held = gate.clone();
    go(queue, move || held.pass());
    gate.wait_for(1);
    gate
}

/// The name of the calling thread.
pub(crate) fn here() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Returns when `condition` holds; the limit is that of the test.
pub(crate) fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// Writes an entry when it is run, another when it is cleaned up.
pub(crate) struct Traced<T: Send + 'static> {
    pub(crate) name: T,
    pub(crate) ran: Log<T>,
    pub(crate) cleaned: Log<T>,
}

impl<T: Send + 'static> TaskBody for Traced<T> {
    fn run(task: TaskBox<Self>) {
        let Traced { name, ran, .. } = task.into_inner();
        ran.push(name);
    }

    fn cleanup(task: TaskBox<Self>) {
        let Traced { name, cleaned, .. } = task.into_inner();
        cleaned.push(name);
    }
}

/// What became of traced tasks.
pub(crate) struct Traces<T: Send + 'static> {
    pub(crate) ran: Log<T>,
    pub(crate) cleaned: Log<T>,
}

impl<T: Send + 'static> Traces<T> {
    pub(crate) fn new() -> Self {
        Traces {
            ran: Log::new(),
            cleaned: Log::new(),
        }
    }

    pub(crate) fn task(&self, name: T) -> Task {
        TaskBox::new(Traced {
            name,
            ran: self.ran.clone(),
            cleaned: self.cleaned.clone(),
        })
        .into_task()
    }

    /// Queues a traced task; the queue must take it.
    pub(crate) fn queue(&self, queue: &impl Enqueue, name: T) {
        queue.enqueue(self.task(name)).expect("the queue takes it");
    }
}

/// A place where async tasks wait until somebody calls.
#[derive(Clone, Default)]
pub(crate) struct Bell {
    state: Arc<Mutex<(bool, Vec<Waker>)>>,
}

/// Waits for a [`Bell`].
pub(crate) struct Rung(Bell);

impl Bell {
    pub(crate) fn rung(&self) -> Rung {
        Rung(self.clone())
    }

    /// How many wakers have been left.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().1.len()
    }

    /// Everyone may go on.
    pub(crate) fn ring(&self) {
        let wakers = {
            let mut state = self.state.lock();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Wakes everyone without a reason, and keeps the wakers.
    pub(crate) fn wake_in_vain(&self) {
        let wakers = self.state.lock().1.clone();
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// Forgets everyone: nobody will be woken.
    pub(crate) fn abandon(&self) {
        let wakers = std::mem::take(&mut self.state.lock().1);
        drop(wakers);
    }
}

impl Future for Rung {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state.lock();
        if state.0 {
            return Poll::Ready(());
        }
        if !state.1.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.1.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Ends its first poll without an end, and wakes itself.
pub(crate) async fn pause() {
    let mut paused = false;
    poll_fn(|cx| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
