//! Calls on their way between the server's thread and the node's workers, several at a time.
//!
//! ```text
//!   connections ── call ──► [ waiting ] ── one task ──► a worker begins each
//!        ▲                                                      │
//!        └── woken by the pump ◄── one wake-up ◄── [ back ] ◄───┘  with its answer, or to be awaited
//! ```
//!
//! Changes are carried out on workers of the node. To wake a worker for each request, and the
//! server for each answer, takes longer than most handlers. So the calls of one look at the sockets
//! cross together, and their answers too. The workers may be busy: a call that none has begun
//! within [`SOON`] is begun on the server's thread, which posts it, so that its deadline counts.

use motet_dispatch::{Enqueue, spawn};
use motet_service::{Answering, Fault, Value};
use motet_sync::Mutex;
use std::future::poll_fn;
use std::mem::{replace, take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// So long a call waits for a worker.
const SOON: Duration = Duration::from_millis(1);

/// The calls of one server.
pub(crate) struct Crossing(Arc<Shared>);

struct Shared {
    queue: Arc<dyn Enqueue>,
    calls: Mutex<Calls>,
    /// A call waits, or is back.
    news: Notify,
}

#[derive(Default)]
struct Calls {
    waiting: Vec<Arc<Call>>,
    back: Vec<Arc<Call>>,
    /// A task is there that takes those that wait.
    has_task: bool,
}

/// A call between two threads.
struct Call(Mutex<Stage>);

enum Stage {
    /// Nobody has begun it.
    Waiting(Answering, Option<Waker>),
    /// A worker begins it.
    Begins(Option<Waker>),
    /// It is back, and whoever made it awaits it.
    Back(Answering, Option<Waker>),
    Answered(Result<Value, Fault>, Option<Waker>),
    /// Whoever made it has gone, or has the answer.
    Over,
}

impl Crossing {
    /// To the workers of `queue`.
    pub(crate) fn to(queue: Arc<dyn Enqueue>) -> Self {
        Crossing(Arc::new(Shared {
            queue,
            calls: Mutex::default(),
            news: Notify::new(),
        }))
    }

    /// Has a call begun on a worker, and waits for its answer.
    pub(crate) async fn call(&self, answering: Answering) -> Result<Value, Fault> {
        let gone = OnGone(Arc::new(Call(Mutex::new(Stage::Waiting(answering, None)))));
        self.0.send(&gone.0);
        match poll_fn(|cx| gone.0.poll(cx)).await {
            Ok(answer) => answer,
            Err(answering) => answering.await,
        }
    }

    /// Wakes those whose calls are back, for as long as it is polled: on the server's thread.
    pub(crate) fn pump(&self) -> impl Future<Output = ()> + Send + 'static {
        let shared = Arc::clone(&self.0);
        async move {
            loop {
                let wait = shared.news.notified();
                if !shared.calls.lock().has_task {
                    wait.await;
                } else if timeout(SOON, wait).await.is_err() {
                    shared.begin_here();
                }
                let back = take(&mut shared.calls.lock().back);
                back.iter().for_each(|call| call.wake());
            }
        }
    }
}

impl Shared {
    fn send(self: &Arc<Self>, call: &Arc<Call>) {
        let mut calls = self.calls.lock();
        calls.waiting.push(Arc::clone(call));
        if replace(&mut calls.has_task, true) {
            return;
        }
        drop(calls);
        let shared = Arc::clone(self);
        let begin = async move {
            while shared.begin_all() {
                // Other tasks of the worker have their turn.
                let mut has_been = false;
                poll_fn(|cx| match replace(&mut has_been, true) {
                    true => Poll::Ready(()),
                    false => {
                        cx.waker().wake_by_ref();
                        Poll::Pending
                    }
                })
                .await;
            }
        };
        if spawn(&self.queue, begin).is_err() {
            // The queue is full or stopped: the service says so when the call is posted.
            self.calls.lock().has_task = false;
            self.begin_here();
        }
        self.news.notify_one();
    }

    /// On a worker: begins those that wait. `false`: none does, and the task ends.
    fn begin_all(&self) -> bool {
        let waiting = {
            let mut calls = self.calls.lock();
            calls.has_task = !calls.waiting.is_empty();
            take(&mut calls.waiting)
        };
        if waiting.is_empty() {
            return false;
        }
        waiting.iter().for_each(|call| call.begin());
        self.bring_back(waiting);
        true
    }

    /// Those that wait are begun by whoever made them.
    fn begin_here(&self) {
        let waiting = take(&mut self.calls.lock().waiting);
        waiting.iter().for_each(|call| call.give_back());
        self.bring_back(waiting);
    }

    fn bring_back(&self, calls: Vec<Arc<Call>>) {
        let before = {
            let back = &mut self.calls.lock().back;
            let before = back.len();
            back.extend(calls);
            before
        };
        // The pump takes all of them: one that is to come is told already.
        if before == 0 {
            self.news.notify_one();
        }
    }
}

impl Call {
    /// On a worker. What answers at once has answered then.
    fn begin(&self) {
        let mut stage = self.0.lock();
        let (mut answering, waker) = match replace(&mut *stage, Stage::Over) {
            Stage::Waiting(answering, waker) => (answering, waker),
            other => {
                *stage = other;
                return;
            }
        };
        *stage = Stage::Begins(waker);
        drop(stage);
        // Whoever made it polls it again, and is woken from then on.
        let mut cx = Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(&mut cx)));
        let mut stage = self.0.lock();
        let Stage::Begins(waker) = replace(&mut *stage, Stage::Over) else {
            return;
        };
        *stage = match polled {
            Ok(Poll::Ready(answer)) => Stage::Answered(answer, waker),
            Ok(Poll::Pending) => Stage::Back(answering, waker),
            Err(_) => Stage::Answered(Err(Fault::failed("the call panicked")), waker),
        };
    }

    fn give_back(&self) {
        let mut stage = self.0.lock();
        *stage = match replace(&mut *stage, Stage::Over) {
            Stage::Waiting(answering, waker) => Stage::Back(answering, waker),
            other => other,
        };
    }

    fn wake(&self) {
        let waker = match &mut *self.0.lock() {
            Stage::Answered(_, waker) | Stage::Back(_, waker) => waker.take(),
            _ => None,
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// The answer; or the call, to be awaited here.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<Result<Value, Fault>, Answering>> {
        let mut stage = self.0.lock();
        match replace(&mut *stage, Stage::Over) {
            Stage::Answered(answer, _) => return Poll::Ready(Ok(answer)),
            Stage::Back(answering, _) => return Poll::Ready(Err(answering)),
            Stage::Waiting(answering, _) => {
                *stage = Stage::Waiting(answering, Some(cx.waker().clone()));
            }
            Stage::Begins(_) => *stage = Stage::Begins(Some(cx.waker().clone())),
            Stage::Over => {}
        }
        Poll::Pending
    }
}

/// A call whose maker may go before it is back.
struct OnGone(Arc<Call>);

impl Drop for OnGone {
    fn drop(&mut self) {
        // What it holds is dropped outside of the lock.
        let _stage = replace(&mut *self.0.0.lock(), Stage::Over);
    }
}
