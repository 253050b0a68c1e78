//! The dispatcher queue: where tasks wait until their dispatcher runs them.

use crate::counters::{Counters, QueueCounters};
use crate::dispatcher::Shared;
use crate::exception::{self, ExceptionRoute};
use crate::home::Home;
use crate::inbox::Inbox;
use crate::injector::Injector;
use crate::worker;
use crate::{Enqueue, Exception, QueueError, Task};
use crossbeam_deque as deque;
use motet_sync::atomic::{AtomicU8, AtomicUsize, Ordering, fence};
use motet_sync::{CachePadded, Mutex};
use std::fmt;
use std::sync::{Arc, Weak};

/// A queue of tasks that one [`Dispatcher`](crate::Dispatcher) serves, first in first out.
///
/// The handle is cheap to clone; all clones are the same queue. Tasks that a worker queues wait at
/// that worker, tasks from other threads in a common place; the tasks of one poster start in the
/// order they were queued, and on a dispatcher with one thread they also run in that order.
///
/// ```
/// use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, QueueConfig, QueueError, Task};
///
/// let dispatcher = Dispatcher::new(1);
/// let queue = dispatcher.queue(QueueConfig { depth: Some(1), ..QueueConfig::named("small") });
/// queue.suspend();
/// queue.enqueue(Task::new(|| ())).unwrap();
/// assert_eq!(queue.enqueue(Task::new(|| ())).unwrap_err().reason, QueueError::Full);
/// queue.resume();
/// dispatcher.wait_idle();
/// assert_eq!(queue.counters().executed, 1);
/// ```
#[derive(Clone)]
pub struct DispatcherQueue {
    shared: Arc<QueueShared>,
}

/// How a [`DispatcherQueue`] is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueConfig {
    /// Shown in messages.
    pub name: String,
    /// The number of tasks that may wait; more are refused. `None`: no limit.
    pub depth: Option<usize>,
}

impl QueueConfig {
    /// An unbounded queue with this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        QueueConfig {
            name: name.to_owned(),
            ..QueueConfig::default()
        }
    }
}

impl Default for QueueConfig {
    fn default() -> Self {
        QueueConfig {
            name: "queue".to_owned(),
            depth: None,
        }
    }
}

/// What the handles of a queue and the workers share.
pub(crate) struct QueueShared {
    this: Weak<QueueShared>,
    pub(crate) config: QueueConfig,
    /// The queue's place among the queues of its dispatcher.
    pub(crate) slot: usize,
    pub(crate) dispatcher: Arc<Shared>,
    /// One of [`OPEN`], [`SUSPENDED`], [`STOPPED`].
    state: AtomicU8,
    /// Tasks waiting; kept only when the depth is limited.
    waiting: CachePadded<AtomicUsize>,
    pub(crate) injector: CachePadded<Injector>,
    /// By worker: tasks that only this worker may run.
    pub(crate) inboxes: Box<[CachePadded<Inbox>]>,
    /// By worker: the far end of its deque.
    pub(crate) stealers: Box<[deque::Stealer<Task>]>,
    /// By worker: its deque, until the worker fetches it.
    deques: Mutex<Vec<Option<deque::Worker<Task>>>>,
    /// The next-task slots of workers that have ended.
    heads: Mutex<Vec<Task>>,
    pub(crate) counters: Counters,
    exceptions: ExceptionRoute,
}

const OPEN: u8 = 0;
const SUSPENDED: u8 = 1;
const STOPPED: u8 = 2;

impl DispatcherQueue {
    pub(crate) fn from_shared(shared: Arc<QueueShared>) -> Self {
        DispatcherQueue { shared }
    }

    /// Lets no further task start. Tasks are still queued; running ones go on.
    pub fn suspend(&self) {
        self.shared.change_state(OPEN, SUSPENDED);
    }

    /// Lets tasks start again, those queued meanwhile included.
    pub fn resume(&self) {
        if self.shared.change_state(SUSPENDED, OPEN) {
            self.shared.dispatcher.sleep.notify_all();
        }
    }

    /// Whether the queue is suspended.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) == SUSPENDED
    }

    /// The counters as they are now.
    #[must_use]
    pub fn counters(&self) -> QueueCounters {
        self.shared.counters.snapshot()
    }

    /// The number of workers of the queue's dispatcher.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.shared.inboxes.len()
    }

    /// The part of this queue whose tasks only worker `index` runs.
    ///
    /// # Panics
    /// When the dispatcher has no such worker.
    #[must_use]
    pub fn home(&self, index: usize) -> Home {
        assert!(
            index < self.workers(),
            "worker {index} of {}",
            self.workers()
        );
        Home::new(Arc::clone(&self.shared), index)
    }

    /// Tells `handler` of each panic of a task of this queue, instead of the dispatcher's handler
    /// and standard error. It runs on the worker, at once; its own panic goes to standard error.
    pub fn on_exception(&self, handler: impl Fn(Exception) + Send + Sync + 'static) {
        self.shared.exceptions.set(Arc::new(handler));
    }
}

impl Enqueue for DispatcherQueue {
    #[inline]
    fn reserve(&self) -> Result<(), QueueError> {
        self.shared.reserve()
    }

    #[inline]
    fn admit(&self, task: Task) {
        self.shared.admit(task);
    }

    #[inline]
    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        worker::push_local(&self.shared, task)
    }

    fn readmit(&self, task: Task) {
        self.shared.readmit(task);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        // Not the handle of the handle: one indirection less for each post.
        self.shared.clone()
    }

    fn name(&self) -> &str {
        self.shared.name()
    }

    fn raise(&self, exception: Exception) {
        self.shared.raise(exception);
    }
}

impl Enqueue for QueueShared {
    #[inline]
    fn reserve(&self) -> Result<(), QueueError> {
        let refused = if self.state.load(Ordering::Relaxed) == STOPPED {
            QueueError::Stopped
        } else {
            let Some(depth) = self.config.depth else {
                return Ok(());
            };
            if self.waiting.fetch_add(1, Ordering::Relaxed) < depth {
                return Ok(());
            }
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            QueueError::Full
        };
        self.counters.refused();
        Err(refused)
    }

    #[inline]
    fn admit(&self, task: Task) {
        let task = match self.admit_here(task) {
            Ok(visible) => {
                if visible {
                    worker::announce();
                }
                return;
            }
            Err(task) => task,
        };
        self.counters.scheduled_outside();
        self.injector.push(task);
        self.dispatcher.sleep.notify_any();
        self.after_push();
    }

    #[inline]
    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        worker::push_local(self, task)
    }

    fn readmit(&self, task: Task) {
        self.returns();
        self.admit(task);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        self.this.upgrade().expect("a queue that is used is alive")
    }

    fn name(&self) -> &str {
        &self.config.name
    }

    fn raise(&self, exception: Exception) {
        exception::route(
            exception,
            self.name(),
            &[&self.exceptions, &self.dispatcher.exceptions],
        );
    }
}

impl QueueShared {
    pub(crate) fn new(
        config: QueueConfig,
        slot: usize,
        workers: usize,
        dispatcher: Arc<Shared>,
    ) -> Arc<Self> {
        let deques: Vec<_> = (0..workers).map(|_| deque::Worker::new_fifo()).collect();
        Arc::new_cyclic(|this| QueueShared {
            this: Weak::clone(this),
            config,
            slot,
            dispatcher,
            state: AtomicU8::new(OPEN),
            waiting: CachePadded::default(),
            injector: CachePadded::new(Injector::new()),
            inboxes: (0..workers)
                .map(|_| CachePadded::new(Inbox::new()))
                .collect(),
            stealers: deques.iter().map(deque::Worker::stealer).collect(),
            deques: Mutex::new(deques.into_iter().map(Some).collect()),
            heads: Mutex::default(),
            counters: Counters::new(workers),
            exceptions: ExceptionRoute::default(),
        })
    }

    /// The deque of worker `index`, which asks once.
    pub(crate) fn fetch_deque(&self, index: usize) -> deque::Worker<Task> {
        self.deques.lock()[index]
            .take()
            .expect("each worker fetches its deque once")
    }

    /// Whether tasks of this queue may start.
    #[inline]
    pub(crate) fn runs(&self) -> bool {
        self.state.load(Ordering::Relaxed) == OPEN
    }

    /// A task comes back without asking for room.
    #[inline]
    pub(crate) fn returns(&self) {
        if self.config.depth.is_some() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A worker has taken a task.
    #[inline]
    pub(crate) fn taken(&self, by: usize) {
        if self.config.depth.is_some() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        self.counters.executed_by(by);
    }

    /// Called after a push from outside: a queue that has been stopped meanwhile gives back what it
    /// still holds, because no worker will come for it.
    pub(crate) fn after_push(&self) {
        fence(Ordering::SeqCst);
        if self.state.load(Ordering::Relaxed) == STOPPED {
            self.take_leftovers().into_iter().for_each(Task::cleanup);
        }
    }

    /// No task starts any more and none is accepted.
    pub(crate) fn stop(&self) {
        self.state.store(STOPPED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Keeps the next task of a worker that ends for [`QueueShared::take_leftovers`].
    pub(crate) fn leave_head(&self, task: Task) {
        self.heads.lock().push(task);
    }

    /// Whether some worker could take a task of this queue now.
    pub(crate) fn has_work(&self) -> bool {
        self.runs() && (!self.injector.is_empty() || self.stealers.iter().any(|s| !s.is_empty()))
    }

    /// All tasks that wait where another thread may take them, oldest first.
    pub(crate) fn take_leftovers(&self) -> Vec<Task> {
        let mut tasks = std::mem::take(&mut *self.heads.lock());
        for stealer in &self.stealers {
            loop {
                match stealer.steal() {
                    deque::Steal::Success(task) => tasks.push(task),
                    deque::Steal::Retry => {}
                    deque::Steal::Empty => break,
                }
            }
        }
        let mut injected = self.injector.take_all();
        self.inboxes
            .iter()
            .for_each(|inbox| injected.append(inbox.take_all()));
        tasks.extend(std::iter::from_fn(|| injected.pop_front()));
        self.counters.returned(tasks.len());
        tasks
    }

    fn change_state(&self, from: u8, to: u8) -> bool {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

impl Drop for QueueShared {
    fn drop(&mut self) {
        self.take_leftovers().into_iter().for_each(Task::cleanup);
    }
}

impl fmt::Debug for DispatcherQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatcherQueue")
            .field("config", &self.shared.config)
            .field("suspended", &self.is_suspended())
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}
