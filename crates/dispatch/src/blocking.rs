//! Threads for calls that block: their own, so that no worker waits.
//!
//! A call goes to an idle thread, or to a new one as long as there are fewer than the limit, or
//! waits. A thread that has been idle for a while ends.

use crate::causality::{self, Causalities};
use crate::exception::Exception;
use crate::route::{self, ExceptionRoute};
use crate::task::{Task, TaskBody, TaskBox};
use crate::waiting::{Awaited, WaitPart, Waiter, watch_here};
use crate::{QueueError, TaskList};
use motet_sync::{Condvar, Mutex, thread};
use std::any::{Any, type_name};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The threads for blocking calls of one dispatcher.
pub(crate) struct Blocking {
    name: String,
    limit: usize,
    keep: Duration,
    /// The dispatcher's.
    pub(crate) exceptions: Arc<ExceptionRoute>,
    state: Mutex<State>,
    /// There is a call, or the end has come.
    called: Condvar,
    /// A thread has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    calls: TaskList,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// The future of [`DispatcherQueue::run_blocking`](crate::DispatcherQueue::run_blocking): the
/// result of the call.
pub struct RunBlocking<T> {
    answer: Arc<Mutex<Answer<T>>>,
    exceptions: Arc<ExceptionRoute>,
    created: &'static Location<'static>,
}

struct Answer<T> {
    result: Option<Result<T, Failure>>,
    waker: Option<Waker>,
    /// Nobody waits any more.
    abandoned: bool,
}

enum Failure {
    /// With what was active where the panic began.
    Panicked(Box<dyn Any + Send>, Causalities),
    NotRun(QueueError),
}

/// A call on its way.
struct Call<T: Send + 'static, F: FnOnce() -> T + Send + 'static> {
    work: F,
    answer: Arc<Mutex<Answer<T>>>,
    exceptions: Arc<ExceptionRoute>,
}

motet_sync::thread_local! {
    /// The `Blocking` whose thread this is.
    static OWN: Cell<*const Blocking> = const { Cell::new(ptr::null()) };
}

impl Blocking {
    pub(crate) fn new(name: &str, limit: usize, keep: Duration) -> Arc<Self> {
        Arc::new(Blocking {
            name: format!("{name}-blocking"),
            limit: limit.max(1),
            keep,
            exceptions: Arc::default(),
            state: Mutex::default(),
            called: Condvar::new(),
            ended: Condvar::new(),
        })
    }

    /// Runs `work` on a thread of its own.
    #[track_caller]
    pub(crate) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> RunBlocking<T> {
        let answer = Arc::new(Mutex::new(Answer {
            result: None,
            waker: None,
            abandoned: false,
        }));
        let call = TaskBox::new(Call {
            work,
            answer: Arc::clone(&answer),
            exceptions: Arc::clone(&self.exceptions),
        });
        self.call(call.into_task());
        RunBlocking {
            answer,
            exceptions: Arc::clone(&self.exceptions),
            created: Location::caller(),
        }
    }

    fn call(self: &Arc<Self>, call: Task) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return self.give_up(call);
        }
        state.calls.push_back(call);
        if state.calls.len() > state.idle && state.threads < self.limit {
            state.threads += 1;
            let own = Arc::clone(self);
            if thread::spawn_named(&self.name, move || own.serve()).is_err() {
                state.threads -= 1;
                // Without any thread nobody would ever come for the calls.
                if state.threads == 0 {
                    let mut calls = std::mem::take(&mut state.calls);
                    drop(state);
                    while let Some(call) = calls.pop_front() {
                        self.give_up(call);
                    }
                    return;
                }
            }
        }
        drop(state);
        self.called.notify_one();
    }

    /// Gives a call up that has not begun.
    fn give_up(&self, call: Task) {
        self.guarded(|| call.cleanup());
    }

    /// A call catches its own panic; this is for the destructors of what it holds, and for wakers.
    fn guarded(&self, body: impl FnOnce()) {
        route::guarded(&self.name, &[&self.exceptions], body);
    }

    /// The life of a thread.
    fn serve(&self) {
        OWN.with(|own| own.set(self));
        while let Some(call) = self.next() {
            self.guarded(|| call.start());
        }
        self.ended.notify_all();
    }

    /// Waits for a call; `None` when the thread is to end, and does not count any more.
    fn next(&self) -> Option<Task> {
        let begun = Instant::now();
        let mut state = self.state.lock();
        loop {
            if let Some(call) = state.calls.pop_front() {
                return Some(call);
            }
            let left = self.keep.saturating_sub(begun.elapsed());
            if state.closed || left.is_zero() {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            (state, _) = self.called.wait_timeout(state, left);
            state.idle -= 1;
        }
    }

    /// Whether the calling thread is one of these.
    pub(crate) fn is_own_thread(&self) -> bool {
        ptr::eq(OWN.with(Cell::get), self)
    }

    /// Takes no further call and gives up those that have not begun; `wait` for those that have.
    pub(crate) fn close(&self, wait: bool) {
        let mut state = self.state.lock();
        state.closed = true;
        let mut calls = std::mem::take(&mut state.calls);
        drop(state);
        self.called.notify_all();
        while let Some(call) = calls.pop_front() {
            self.give_up(call);
        }
        if wait && !self.is_own_thread() {
            let mut state = self.state.lock();
            while state.threads > 0 {
                state = self.ended.wait(state);
            }
        }
    }

    /// The number of threads now.
    pub(crate) fn threads(&self) -> usize {
        self.state.lock().threads
    }
}

impl<T> Answer<T> {
    fn settle(answer: &Mutex<Self>, result: Result<T, Failure>) -> Option<Result<T, Failure>> {
        let mut answer = answer.lock();
        if answer.abandoned {
            return Some(result);
        }
        answer.result = Some(result);
        let waker = answer.waker.take();
        drop(answer);
        if let Some(waker) = waker {
            waker.wake();
        }
        None
    }
}

impl Failure {
    /// Nobody awaits the call: its panic is not lost.
    fn tell(self, exceptions: &ExceptionRoute) {
        if let Failure::Panicked(payload, causalities) = self {
            let name = "run_blocking";
            route::route_under(
                Exception::new(payload, name),
                &causalities,
                name,
                &[exceptions],
            );
        }
    }
}

impl<T: Send + 'static, F: FnOnce() -> T + Send + 'static> Call<T, F> {
    /// Whoever waits is told first: a destructor of what the call holds may panic.
    fn give_up(self, reason: QueueError) {
        drop(Answer::settle(&self.answer, Err(Failure::NotRun(reason))));
        drop(self.work);
    }
}

impl<T: Send + 'static, F: FnOnce() -> T + Send + 'static> TaskBody for Call<T, F> {
    fn run(task: TaskBox<Self>) {
        let Call {
            work,
            answer,
            exceptions,
        } = task.into_inner();
        if answer.lock().abandoned {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(work))
            .map_err(|payload| Failure::Panicked(payload, causality::failed()));
        if let Some(Err(failure)) = Answer::settle(&answer, result) {
            failure.tell(&exceptions);
        }
    }

    /// Whoever awaits the call hears of it in its own way; the call itself has not been run.
    fn skip(task: TaskBox<Self>) {
        task.into_inner().give_up(QueueError::Cancelled);
    }

    fn cleanup(task: TaskBox<Self>) {
        task.into_inner().give_up(QueueError::Stopped);
    }
}

impl<T: Send + 'static> Future for RunBlocking<T> {
    type Output = Result<T, QueueError>;

    /// # Panics
    /// When the call did.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut answer = self.answer.lock();
        match answer.result.take() {
            Some(result) => {
                drop(answer);
                Poll::Ready(match result {
                    Ok(value) => Ok(value),
                    Err(Failure::NotRun(error)) => Err(error),
                    Err(Failure::Panicked(payload, _)) => resume_unwind(payload),
                })
            }
            None => {
                let before = answer.waker.replace(cx.waker().clone());
                drop(answer);
                if before.is_none() {
                    let waiter = Arc::downgrade(&self.answer) as Weak<dyn Waiter>;
                    watch_here(waiter, self.created);
                }
                Poll::Pending
            }
        }
    }
}

impl<T: Send + 'static> Waiter for Mutex<Answer<T>> {
    fn awaits(&self) -> Option<Awaited> {
        let answer = self.lock();
        let waits = answer.result.is_none() && answer.waker.is_some();
        waits.then(|| Awaited {
            who: "run_blocking",
            queue: None,
            parts: vec![WaitPart {
                port: format!("the end of a call, of {}", type_name::<T>()),
                there: 0,
                needed: 1,
            }],
        })
    }

    fn dispatcher_ended(&self) {
        let waker = self.lock().waker.clone();
        // Outside the lock: the task may be dropped at once, and this wait with it.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for RunBlocking<T> {
    fn drop(&mut self) {
        let mut answer = self.answer.lock();
        answer.abandoned = true;
        let (result, waker) = (answer.result.take(), answer.waker.take());
        drop(answer);
        if let Some(Err(failure)) = result {
            failure.tell(&self.exceptions);
        }
        drop(waker);
    }
}

impl<T> fmt::Debug for RunBlocking<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBlocking")
            .field("ended", &self.answer.lock().result.is_some())
            .finish_non_exhaustive()
    }
}
