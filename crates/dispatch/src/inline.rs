//! The queue without a dispatcher: tasks run on the thread that queues them.

use crate::clock::Clock;
use crate::route::{self, ExceptionRoute};
use crate::{Enqueue, Exception, QueueError, Task};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Runs each task on the thread that enqueues it, in order, before `enqueue` returns.
///
/// A task that is enqueued from within another inline task of the same thread runs after that one,
/// not inside it. The stack does not grow and handlers never overlap on one thread. Tests and
/// examples are deterministic with it.
///
/// ```
/// use motet_dispatch::{Enqueue, Inline, Task};
/// use std::sync::{Arc, Mutex};
///
/// let order = Arc::new(Mutex::new(Vec::new()));
/// let inline = Inline::new("here");
/// let (outer, queue) = (Arc::clone(&order), inline.clone());
/// inline.enqueue(Task::new(move || {
///     let inner = Arc::clone(&outer);
///     queue.enqueue(Task::new(move || inner.lock().unwrap().push("second"))).unwrap();
///     outer.lock().unwrap().push("first");
/// })).unwrap();
/// assert_eq!(*order.lock().unwrap(), ["first", "second"]);
/// ```
#[derive(Clone)]
pub struct Inline {
    shared: Arc<InlineShared>,
}

struct InlineShared {
    name: String,
    exceptions: ExceptionRoute,
}

motet_sync::thread_local! {
    /// Tasks queued while another one runs on this thread.
    static WAITING: RefCell<VecDeque<(Inline, Task)>> = RefCell::default();
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs an inline task.
pub(crate) fn is_running() -> bool {
    RUNNING.with(Cell::get)
}

/// Does work on this thread as a task of an [`Inline`]: waits that would block the thread are
/// refused ([`inside_task`](crate::inside_task)), and inline tasks that it queues run after it.
///
/// ```
/// use motet_dispatch::{as_task, inside_task};
///
/// assert!(as_task(inside_task));
/// assert!(!inside_task());
/// ```
///
/// # Panics
/// When the work does. What it has queued has run then.
pub fn as_task<R>(work: impl FnOnce() -> R) -> R {
    match RUNNING.with(|running| running.replace(true)) {
        true => work(),
        false => {
            let _rest = RestOfTask;
            work()
        }
    }
}

/// The end of an inline task inside of which no other ran: what it has queued.
struct RestOfTask;

impl Drop for RestOfTask {
    fn drop(&mut self) {
        let pop = |waiting: &RefCell<VecDeque<(Inline, Task)>>| waiting.borrow_mut().pop_front();
        let next = || WAITING.try_with(pop).ok().flatten();
        while let Some((queue, next)) = next() {
            queue.start(next);
        }
        RUNNING.with(|running| running.set(false));
    }
}

impl Inline {
    /// A queue with this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let exceptions = ExceptionRoute::default();
        Inline {
            shared: Arc::new(InlineShared {
                name: name.to_owned(),
                exceptions,
            }),
        }
    }

    /// Tells `handler` of each panic of a task of this queue, instead of standard error.
    pub fn on_exception(&self, handler: impl Fn(Exception) + Send + Sync + 'static) {
        self.shared.exceptions.set(Arc::new(handler));
    }
}

impl Enqueue for Inline {
    fn reserve(&self) -> Result<(), QueueError> {
        Ok(())
    }

    fn is_free(&self) -> bool {
        true
    }

    fn release(&self) {}

    fn admit(&self, task: Task) {
        if is_running() {
            let mut later = Some((self.clone(), task));
            // While the thread ends there may be no list any more.
            let _listed = WAITING.try_with(|waiting| waiting.borrow_mut().extend(later.take()));
            return later
                .into_iter()
                .for_each(|(queue, task)| queue.start(task));
        }
        as_task(|| self.start(task));
    }

    fn readmit(&self, task: Task) {
        self.admit(task);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(self.clone())
    }

    fn name(&self) -> &str {
        &self.shared.name
    }

    /// The clock of the calling thread, which runs the tasks: virtual inside a
    /// [`Replay`](crate::Replay). What timers queue runs on their clock's thread.
    fn clock(&self) -> Clock {
        Clock::of_thread().unwrap_or_else(Clock::real)
    }

    fn raise(&self, exception: Exception) {
        route::route(exception, self.name(), &[&self.shared.exceptions]);
    }
}

impl fmt::Debug for Inline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inline")
            .field("name", &self.shared.name)
            .finish_non_exhaustive()
    }
}
