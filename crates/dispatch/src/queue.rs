//! The dispatcher queue: where tasks wait until their dispatcher runs them.

use crate::blocking::RunBlocking;
use crate::clock::Clock;
use crate::counters::QueueCounters;
use crate::home::Home;
use crate::line::RoomLine;
use crate::policy::ExecutionPolicyNotification;
use crate::queue_core::QueueCore;
use crate::waiting::Waiter;
use crate::watch;
use crate::worker;
use crate::{Enqueue, Exception, QueueError, Task};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// A queue of tasks that one [`Dispatcher`](crate::Dispatcher) serves, first in first out.
///
/// The handle is cheap to clone; all clones are the same queue. Tasks that a worker queues wait at
/// that worker, tasks from other threads in a common place. On a dispatcher with one thread the
/// tasks of one poster run in the order they were queued. On one with several they are taken oldest
/// first, but in batches. The first task that a task queues, when nothing else waits at its worker,
/// stays there until that one ends. So a task must not block until one that it queued has run.
///
/// ```
/// use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, QueueConfig, QueueError, Task};
///
/// let dispatcher = Dispatcher::new(1);
/// let queue = dispatcher.queue(QueueConfig::bounded("small", 1));
/// queue.suspend();
/// queue.enqueue(Task::new(|| ())).unwrap();
/// assert_eq!(queue.enqueue(Task::new(|| ())).unwrap_err().reason, QueueError::Full);
/// queue.resume();
/// dispatcher.wait_idle();
/// assert_eq!(queue.counters().executed, 1);
/// ```
#[derive(Clone)]
pub struct DispatcherQueue {
    core: Arc<QueueCore>,
}

impl DispatcherQueue {
    pub(crate) fn new(core: Arc<QueueCore>) -> Self {
        DispatcherQueue { core }
    }

    /// Lets no further task start. Tasks are still queued; running ones go on.
    pub fn suspend(&self) {
        self.core.suspend();
    }

    /// Lets tasks start again, those queued meanwhile included.
    pub fn resume(&self) {
        self.core.resume();
    }

    /// Whether the queue is suspended.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.core.is_suspended()
    }

    /// The counters as they are now.
    #[must_use]
    pub fn counters(&self) -> QueueCounters {
        // Before the tasks queued: what is discarded was counted there before.
        let (discarded, throttled) = {
            let told = &self.core.notifications;
            (told.discarded(), told.throttled())
        };
        QueueCounters {
            discarded,
            throttled,
            ..self.core.counters.snapshot()
        }
    }

    /// The number of workers of the queue's dispatcher.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.core.pool.workers()
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
        Home::new(Arc::clone(&self.core), index)
    }

    /// Runs a call that blocks on a thread of its own, at once; the awaiting handler goes on, on
    /// its queue, when it has ended. There are no more such threads than
    /// [`blocking_threads`](crate::DispatcherConfig::blocking_threads) says; calls beyond wait in
    /// order.
    ///
    /// # Cancellation
    /// Dropping the future gives up a call that has not begun; one that has goes on, and its panic
    /// goes to the dispatcher's exception handler.
    ///
    /// # Errors
    /// [`QueueError::Stopped`] when the dispatcher is stopped before the call has begun, or the
    /// operating system refuses the only thread. [`QueueError::Cancelled`] when a causality that
    /// [skips](crate::Causality::skipping_unstarted) what has not begun was cancelled before.
    ///
    /// # Panics
    /// The future panics as the call does.
    ///
    /// ```
    /// use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, spawn};
    ///
    /// let (tell, told) = std::sync::mpsc::channel();
    /// let dispatcher = Dispatcher::new(1);
    /// let queue = dispatcher.queue(QueueConfig::default());
    /// let calls = queue.clone();
    /// spawn(&queue.handle(), async move {
    ///     let text = calls.run_blocking(|| std::fs::read_to_string("Cargo.toml")).await;
    ///     tell.send(text.unwrap().unwrap().contains("[package]")).unwrap();
    /// }).unwrap();
    /// assert_eq!(told.recv(), Ok(true));
    /// ```
    #[track_caller]
    pub fn run_blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> RunBlocking<T> {
        self.core.pool.blocking.run(call)
    }

    /// Tells `handler` of each panic of a task of this queue, instead of the dispatcher's handler
    /// and standard error. It runs on the worker, at once; its own panic goes to standard error.
    pub fn on_exception(&self, handler: impl Fn(Exception) + Send + Sync + 'static) {
        self.core.on_exception(Arc::new(handler));
    }

    /// Tells `handler` what the queue's [policy](crate::ExecutionPolicy) does: which task it
    /// discards, and that somebody begins to wait. It runs at once, on the thread of whoever posts
    /// or waits; its own panic goes to standard error. Without a handler discarded tasks are
    /// dropped, and counted.
    pub fn on_notification(
        &self,
        handler: impl Fn(ExecutionPolicyNotification) + Send + Sync + 'static,
    ) {
        self.core.notifications.set(Arc::new(handler));
    }
}

impl Enqueue for DispatcherQueue {
    #[inline]
    fn reserve(&self) -> Result<(), QueueError> {
        self.core.reserve()
    }

    #[inline]
    fn is_free(&self) -> bool {
        self.core.is_free()
    }

    fn is_stopped(&self) -> bool {
        self.core.is_stopped()
    }

    fn release(&self) {
        self.core.release();
    }

    #[inline]
    fn admit(&self, task: Task) {
        self.core.admit(task);
    }

    #[inline]
    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        self.core.admit_here(task)
    }

    fn readmit(&self, task: Task) {
        self.core.readmit(task);
    }

    fn admit_kept(&self, task: Task) {
        self.core.admit_kept(task);
    }

    fn room(&self) -> Option<RoomLine> {
        self.core.room()
    }

    fn is_own_worker(&self) -> bool {
        self.core.is_own_worker()
    }

    fn hold(&self) {
        self.core.hold();
    }

    fn leaves(&self) {
        self.core.leaves();
    }

    fn may_start(&self) -> bool {
        self.core.may_start()
    }

    fn watch(&self, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
        self.core.watch(waiter, created);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        // Not the handle of the handle: one indirection less for each post.
        self.core.clone()
    }

    fn name(&self) -> &str {
        self.core.name()
    }

    fn clock(&self) -> Clock {
        self.core.own_clock()
    }

    fn raise(&self, exception: Exception) {
        self.core.raise(exception);
    }
}

impl Enqueue for QueueCore {
    #[inline]
    fn reserve(&self) -> Result<(), QueueError> {
        self.claim_room()
    }

    #[inline]
    fn is_free(&self) -> bool {
        QueueCore::is_free(self)
    }

    fn is_stopped(&self) -> bool {
        QueueCore::is_stopped(self)
    }

    fn release(&self) {
        self.release_room();
    }

    #[inline]
    fn admit(&self, task: Task) {
        if self.diverts() {
            return divert(self, task, false);
        }
        push(self, task);
    }

    #[inline]
    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        if self.diverts() {
            // What is discarded may run user code.
            return Err(task);
        }
        worker::push_local(self, task)
    }

    fn readmit(&self, task: Task) {
        self.returns();
        self.admit_kept(task);
    }

    fn admit_kept(&self, task: Task) {
        if self.diverts() {
            return divert(self, task, true);
        }
        self.admit(task);
    }

    fn room(&self) -> Option<RoomLine> {
        self.line().cloned()
    }

    fn is_own_worker(&self) -> bool {
        worker::is_of(&self.pool)
    }

    fn hold(&self) {
        self.returns();
    }

    fn leaves(&self) {
        if let Some(line) = self.line()
            && line.leave()
        {
            line.serve();
        }
    }

    fn may_start(&self) -> bool {
        self.runs()
    }

    fn watch(&self, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
        watch::watch(&self.pool, waiter, created);
    }

    fn handle(&self) -> Arc<dyn Enqueue> {
        self.strong()
    }

    fn name(&self) -> &str {
        &self.config.name
    }

    fn clock(&self) -> Clock {
        self.own_clock()
    }

    fn raise(&self, exception: Exception) {
        QueueCore::raise(self, exception);
    }
}

/// Admits a task to a queue that discards.
#[cold]
fn divert(queue: &QueueCore, task: Task, kept: bool) {
    if let Some(task) = queue.divert(task, None, kept) {
        push(queue, task);
    }
}

/// Queues a task that has passed the gate.
#[inline]
fn push(queue: &QueueCore, task: Task) {
    match worker::push_local(queue, task) {
        Ok(false) => {}
        Ok(true) => worker::announce(),
        Err(task) => queue.inject(task),
    }
}

impl fmt::Debug for DispatcherQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatcherQueue")
            .field("config", &self.core.config)
            .field("suspended", &self.is_suspended())
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}
