//! A handle to a spawned future: its result can be awaited, and it can be aborted.
//!
//! [`spawn`] stays as it is: who needs no result pays nothing. [`spawn_with_handle`] wraps the
//! future and shares one small allocation with the handle.
//!
//! ```text
//!   handle: await, abort ──► Shared ◄── settle: value, panic, aborted, dropped :the task
//! ```
//!
//! The lock of `Shared` decides every race: an abort against the end, the end against the drop of
//! the handle. No waker is woken and no user code runs under it.

mod error;

pub use error::JoinError;

use crate::waiting::{Awaited, WaitPart, Waiter, watch_here};
use crate::{Causalities, Enqueue, Exception, Refused, causality, inside_task, spawn};
use motet_sync::Mutex;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// The result of a future that [`spawn_with_handle`] has started. As a future it gives that result.
///
/// Dropping the handle detaches the future: it goes on, its value is dropped, and its panic goes
/// the way of the queue's exceptions. So does a panic that has come before the drop and that nobody
/// took.
pub struct JoinHandle<T: Send + 'static> {
    shared: Arc<Shared<T>>,
    created: &'static Location<'static>,
}

/// What the handle and the task share.
struct Shared<T> {
    queue: Arc<dyn Enqueue>,
    state: Mutex<State<T>>,
}

struct State<T> {
    stage: Stage<T>,
    /// Of whoever awaits the handle.
    joiner: Option<Waker>,
    /// Of the task, for an abort. Only while there is a handle: it keeps the task alive.
    task: Option<Waker>,
    aborted: bool,
    /// The handle is gone.
    detached: bool,
}

enum Stage<T> {
    Runs,
    Ended(Outcome<T>),
    /// The result has been taken.
    Taken,
}

/// How a future has ended. A panic comes with the causalities under which it happened.
enum Outcome<T> {
    Value(T),
    Panicked(Exception, Causalities),
    Aborted,
    Dropped,
}

/// Like [`spawn`], for a future that gives a value. Returns a handle to await it, to block a thread
/// until it has ended, or to abort it. It costs one allocation more than [`spawn`].
///
/// # Errors
/// [`Refused`] when the queue is full or stopped; dropping the task in it drops the future.
///
/// ```
/// use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn_with_handle};
///
/// let dispatcher = Dispatcher::new(2);
/// let queue = dispatcher.queue(QueueConfig::named("work")).handle();
/// let mut answer = spawn_with_handle(&queue, async { 6 * 7 }).unwrap();
/// assert_eq!(answer.join_blocking().unwrap(), 42);
///
/// let mut endless = spawn_with_handle(&queue, std::future::pending::<()>()).unwrap();
/// endless.abort();
/// assert!(endless.join_blocking().unwrap_err().is_aborted());
/// ```
#[track_caller]
pub fn spawn_with_handle<T: Send + 'static>(
    queue: &Arc<dyn Enqueue>,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<JoinHandle<T>, Refused> {
    let shared = Arc::new(Shared {
        queue: Arc::clone(queue),
        state: Mutex::new(State {
            stage: Stage::Runs,
            joiner: None,
            task: None,
            aborted: false,
            detached: false,
        }),
    });
    let end = End(Arc::clone(&shared));
    spawn(queue, async move {
        let end = end;
        let outcome = run(&end.0, future).await;
        end.0.settle(outcome);
    })?;
    Ok(JoinHandle {
        shared,
        created: Location::caller(),
    })
}

/// Runs `future` until it ends, panics or is aborted. It has been dropped when this returns.
async fn run<T>(shared: &Shared<T>, future: impl Future<Output = T>) -> Outcome<T> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if !shared.may_poll(cx.waker()) {
            return Poll::Ready(Outcome::Aborted);
        }
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Outcome::Value),
            Err(payload) => {
                let exception = Exception::new(payload, shared.queue.name());
                Poll::Ready(Outcome::Panicked(exception, causality::failed()))
            }
        }
    })
    .await
}

/// Belongs to the task. Settles what nothing else has: the task was dropped, or a destructor
/// panicked.
struct End<T>(Arc<Shared<T>>);

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        self.0.settle(Outcome::Dropped);
    }
}

impl<T> Shared<T> {
    /// Whether the future is to be polled: it has not been aborted. Leaves the task's waker for an
    /// abort.
    fn may_poll(&self, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        if state.aborted {
            return false;
        }
        if state.detached {
            return true;
        }
        let known = |known: &Waker| known.will_wake(waker);
        if !state.task.as_ref().is_some_and(known) {
            let before = state.task.replace(waker.clone());
            drop(state);
            drop(before);
        }
        true
    }

    /// The end has come; the first one counts.
    ///
    /// # Panics
    /// With the future's own panic when there is no handle any more.
    fn settle(&self, outcome: Outcome<T>) {
        let mut state = self.state.lock();
        if !matches!(state.stage, Stage::Runs) {
            return;
        }
        let wakers = (state.task.take(), state.joiner.take());
        let unwanted = if state.detached {
            state.stage = Stage::Taken;
            Some(outcome)
        } else {
            state.stage = Stage::Ended(outcome);
            None
        };
        drop(state);
        let (task, joiner) = wakers;
        drop(task);
        if let Some(joiner) = joiner {
            joiner.wake();
        }
        if let Some(Outcome::Panicked(exception, causalities)) = unwanted {
            // In the task: the panic takes the way of every other.
            causalities.run(|| resume_unwind(exception.into_payload()));
        }
    }
}

impl<T: Send + 'static> JoinHandle<T> {
    /// Aborts the future: it is dropped, on its queue, in place of its next poll. A poll that runs
    /// now ends first. The handle then gives [`JoinError::Aborted`], or the result if the future
    /// ended before.
    pub fn abort(&self) {
        let task = {
            let mut state = self.shared.state.lock();
            state.aborted = true;
            state.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Whether the future has ended, and the handle gives its result without waiting.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !matches!(self.shared.state.lock().stage, Stage::Runs)
    }

    /// Blocks the thread until the future has ended, and gives its result. For threads that run no
    /// tasks.
    ///
    /// # Errors
    /// [`JoinError::InsideTask`] on a thread that runs a task; the handle can still be awaited.
    /// Else as the handle itself gives.
    ///
    /// # Panics
    /// When the result has been taken before.
    pub fn join_blocking(&mut self) -> Result<T, JoinError> {
        if inside_task() {
            return Err(JoinError::InsideTask);
        }
        motet_sync::block_on(self)
    }
}

impl<T> Outcome<T> {
    fn into_result(self) -> Result<T, JoinError> {
        match self {
            Outcome::Value(value) => Ok(value),
            Outcome::Panicked(exception, _) => Err(JoinError::Panicked(exception)),
            Outcome::Aborted => Err(JoinError::Aborted),
            Outcome::Dropped => Err(JoinError::Dropped),
        }
    }
}

impl<T: Send + 'static> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// When the result has been taken before.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.state.lock();
        match std::mem::replace(&mut state.stage, Stage::Taken) {
            Stage::Runs => {
                state.stage = Stage::Runs;
                let before = state.joiner.replace(cx.waker().clone());
                drop(state);
                if before.is_none() {
                    let waiter = Arc::downgrade(&self.shared) as Weak<dyn Waiter>;
                    watch_here(waiter, self.created);
                }
                Poll::Pending
            }
            Stage::Ended(outcome) => {
                drop(state);
                Poll::Ready(outcome.into_result())
            }
            Stage::Taken => {
                drop(state);
                panic!("the result of a JoinHandle was taken before: await it once")
            }
        }
    }
}

impl<T: Send + 'static> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.detached = true;
        let wakers = (state.task.take(), state.joiner.take());
        let ended = match state.stage {
            Stage::Runs => None,
            _ => Some(std::mem::replace(&mut state.stage, Stage::Taken)),
        };
        drop(state);
        drop(wakers);
        if let Some(Stage::Ended(Outcome::Panicked(exception, causalities))) = ended {
            causalities.run(|| self.shared.queue.raise(exception));
        }
    }
}

impl<T: Send + 'static> Waiter for Shared<T> {
    fn awaits(&self) -> Option<Awaited> {
        let state = self.state.lock();
        let waits = matches!(state.stage, Stage::Runs) && state.joiner.is_some();
        waits.then(|| Awaited {
            who: "JoinHandle",
            queue: None,
            parts: vec![WaitPart {
                port: format!("the end of a future on queue '{}'", self.queue.name()),
                there: 0,
                needed: 1,
            }],
        })
    }

    fn dispatcher_ended(&self) {
        let waker = self.state.lock().joiner.clone();
        // Outside the lock: the task may be dropped at once, and this wait with it.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Send + 'static> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("queue", &self.shared.queue.name())
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::loom_future_task::Hand;
    use motet_sync::atomic::{AtomicBool, Ordering};
    use motet_sync::thread;
    use std::task::Wake;

    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    fn poll<T: Send>(handle: &mut JoinHandle<T>) -> Poll<Result<T, JoinError>> {
        Pin::new(handle).poll(&mut Context::from_waker(Waker::noop()))
    }

    /// An abort while the future ends: the handle gets one result, and the future is gone.
    #[test]
    fn loom_an_abort_against_the_end() {
        loom::model(|| {
            let queue = Hand::new();
            let item = Arc::new(());
            let kept = Arc::clone(&item);
            let handle = spawn_with_handle(&queue.handle(), async move {
                let _kept = kept;
                let mut first = true;
                poll_fn(|cx| {
                    cx.waker().wake_by_ref();
                    match std::mem::take(&mut first) {
                        true => Poll::Pending,
                        false => Poll::Ready(7),
                    }
                })
                .await
            });
            let mut handle = handle.unwrap();
            let worker = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || (0..2).for_each(|_| queue.run_all()))
            };
            handle.abort();
            worker.join().unwrap();
            (0..2).for_each(|_| queue.run_all());
            let result = poll(&mut handle);
            assert!(matches!(
                result,
                Poll::Ready(Ok(7) | Err(JoinError::Aborted))
            ));
            drop(handle);
            assert_eq!(Arc::strong_count(&item), 1);
        });
    }

    /// The handle goes while the future ends: its value is dropped once.
    #[test]
    fn loom_the_drop_of_the_handle_against_the_end() {
        loom::model(|| {
            let queue = Hand::new();
            let item = Arc::new(());
            let value = Arc::clone(&item);
            let handle = spawn_with_handle(&queue.handle(), async move { value });
            let worker = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || queue.run_all())
            };
            drop(handle);
            worker.join().unwrap();
            assert_eq!(Arc::strong_count(&item), 1);
        });
    }

    /// A joiner begins to wait while the future ends: it has the value, or is woken.
    #[test]
    fn loom_a_joiner_against_the_end() {
        loom::model(|| {
            let queue = Hand::new();
            let mut handle = spawn_with_handle(&queue.handle(), async { 7 }).unwrap();
            let worker = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || queue.run_all())
            };
            let woken = Arc::new(Woken(AtomicBool::new(false)));
            let waker = Waker::from(Arc::clone(&woken));
            let early = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
            worker.join().unwrap();
            assert_eq!(woken.0.load(Ordering::SeqCst), early.is_pending());
            let result = match early {
                Poll::Pending => poll(&mut handle),
                ready => ready,
            };
            assert!(matches!(result, Poll::Ready(Ok(7))));
        });
    }
}
