//! What a queue is, without the threads that use it: its places for tasks, its state, its counters.

use crate::clock::{Clock, Timescale};
use crate::counters::DispatcherCounters;
use crate::exception::Exception;
use crate::inbox::Inbox;
use crate::injector::TaskInjector;
use crate::line::RoomLine;
use crate::policy::{ExecutionPolicy, Notifications};
use crate::pool::Pool;
use crate::queue_gate::{Passage, QueueGate};
use crate::route::{ExceptionHandler, Routes};
use crate::store::TaskStore;
use crate::{QueueError, Task};
use crossbeam_deque as deque;
use motet_sync::atomic::{AtomicBool, AtomicU8, Ordering, fence};
use motet_sync::{CachePadded, Mutex};
use std::any::Any;
use std::sync::{Arc, Weak};

/// How a [`DispatcherQueue`](crate::DispatcherQueue), or a [`ReplayQueue`](crate::ReplayQueue), is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueConfig {
    /// Shown in messages.
    pub name: String,
    /// The limit of the queue, and what happens beyond it.
    pub policy: ExecutionPolicy,
    /// What the spans of the queue's timers are multiplied by.
    pub timescale: Timescale,
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

    /// A queue with this name that hands tasks back when `depth` of them wait.
    #[must_use]
    pub fn bounded(name: &str, depth: usize) -> Self {
        QueueConfig {
            policy: ExecutionPolicy::RejectTasks { depth },
            ..QueueConfig::named(name)
        }
    }
}

impl Default for QueueConfig {
    fn default() -> Self {
        QueueConfig {
            name: "queue".to_owned(),
            policy: ExecutionPolicy::default(),
            timescale: Timescale::default(),
        }
    }
}

/// What the handles of a queue and its workers share.
pub(crate) struct QueueCore {
    this: Weak<QueueCore>,
    pub(crate) config: QueueConfig,
    /// The queue's place among the queues of its dispatcher.
    pub(crate) slot: usize,
    pub(crate) pool: Arc<Pool>,
    /// One of [`OPEN`], [`SUSPENDED`], [`STOPPED`], [`CLOSED`].
    state: AtomicU8,
    gate: QueueGate,
    pub(crate) injector: CachePadded<TaskInjector>,
    /// By worker: tasks that only this worker may run.
    pub(crate) inboxes: Box<[CachePadded<Inbox>]>,
    /// By worker: the far end of its deque.
    pub(crate) stealers: Box<[deque::Stealer<Task>]>,
    /// By worker: its deque, until the worker fetches it.
    deques: Mutex<Vec<Option<deque::Worker<Task>>>>,
    /// The next-task slots of workers that have ended.
    heads: Mutex<Vec<Task>>,
    /// By worker: whether it has ended, and what comes to be at home there is nobody's.
    ended: Box<[AtomicBool]>,
    pub(crate) counters: DispatcherCounters,
    pub(crate) notifications: Arc<Notifications>,
    routes: Arc<Routes>,
}

const OPEN: u8 = 0;
const SUSPENDED: u8 = 1;
/// Nothing starts, nothing is accepted; what is queued waits for [`QueueCore::close`].
const STOPPED: u8 = 2;
/// As above, and nobody will come for what is queued still.
const CLOSED: u8 = 3;

impl QueueCore {
    pub(crate) fn new(config: QueueConfig, slot: usize, pool: Arc<Pool>) -> Arc<Self> {
        let workers = pool.workers();
        let deques: Vec<_> = (0..workers).map(|_| deque::Worker::new_fifo()).collect();
        let notifications = Arc::default();
        let routes = Routes::new(&config.name, &pool.exceptions);
        let (policy, clock) = (config.policy, Clock::real());
        Arc::new_cyclic(|this| QueueCore {
            this: Weak::clone(this),
            gate: QueueGate::new(policy, workers, clock, &notifications, &routes),
            config,
            slot,
            pool,
            state: AtomicU8::new(OPEN),
            injector: CachePadded::new(TaskInjector::new()),
            inboxes: (0..workers)
                .map(|_| CachePadded::new(Inbox::new()))
                .collect(),
            stealers: deques.iter().map(deque::Worker::stealer).collect(),
            deques: Mutex::new(deques.into_iter().map(Some).collect()),
            heads: Mutex::default(),
            ended: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            counters: DispatcherCounters::new(workers),
            notifications,
            routes,
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

    /// Whether there is room for any task.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.gate.is_open() && self.state.load(Ordering::Relaxed) < STOPPED
    }

    /// Whether nothing starts any more and nothing is accepted.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Acquire) >= STOPPED
    }

    /// Claims room for one task.
    #[inline]
    pub(crate) fn claim_room(&self) -> Result<(), QueueError> {
        if self.is_free() {
            return Ok(());
        }
        self.claim_limited()
    }

    #[inline(never)]
    fn claim_limited(&self) -> Result<(), QueueError> {
        let claimed = if self.state.load(Ordering::Relaxed) >= STOPPED {
            Err(QueueError::Stopped)
        } else {
            self.gate.claim()
        };
        if claimed.is_err() {
            self.counters.refused();
        }
        claimed
    }

    /// Gives back room that was claimed.
    pub(crate) fn release_room(&self) {
        if let Some(line) = self.gate.line() {
            line.give_up();
        }
    }

    /// Where to wait for room.
    pub(crate) fn line(&self) -> Option<&RoomLine> {
        self.gate.line()
    }

    /// A task comes back without asking for room.
    #[inline]
    pub(crate) fn returns(&self) {
        if let Some(line) = self.gate.line() {
            line.exceed();
        }
    }

    /// A worker has taken a task. `true` when someone waits for its room: the caller then
    /// [serves](RoomLine::serve) the line, once nothing of the worker is in use.
    #[inline]
    #[must_use]
    pub(crate) fn taken(&self, by: usize) -> bool {
        self.counters.executed_by(by);
        self.gate.line().is_some_and(RoomLine::leave)
    }

    /// Whether admitted tasks go by [`QueueCore::divert`].
    #[inline]
    pub(crate) fn diverts(&self) -> bool {
        self.gate.discards()
    }

    /// Admits a task to a queue that discards. Gives it back when it goes the way of other queues'
    /// tasks.
    #[cold]
    pub(crate) fn divert(&self, task: Task, home: Option<usize>, kept: bool) -> Option<Task> {
        let discarded = match self.gate.pass(task, home, kept) {
            Passage::Free(task) => return Some(task),
            Passage::Stored { discarded } => {
                self.counters.scheduled_outside();
                match home {
                    Some(index) => drop(self.pool.sleep.notify_worker(index)),
                    None => self.pool.sleep.notify_any(),
                }
                self.after_push();
                discarded
            }
            Passage::Discarded(task) => {
                self.counters.scheduled_outside();
                Some(task)
            }
        };
        if let Some(task) = discarded {
            self.notifications.discard(task);
        }
        None
    }

    /// Where tasks wait that do not wait at the workers.
    #[inline]
    pub(crate) fn store(&self) -> Option<&TaskStore> {
        self.gate.store()
    }

    /// Whether a task waits in a common place that `worker` may take.
    #[inline]
    pub(crate) fn has_common_work(&self, worker: usize) -> bool {
        !self.injector.is_empty() || self.store().is_some_and(|store| store.has_any_for(worker))
    }

    /// Queues a task from a thread that is not one of the workers.
    pub(crate) fn inject(&self, task: Task) {
        self.counters.scheduled_outside();
        self.injector.push(task);
        self.pool.sleep.notify_any();
        self.after_push();
    }

    /// Queues a task for worker `index` alone, from another thread. `true` when the worker slept and
    /// was woken.
    pub(crate) fn leave_for(&self, index: usize, task: Task) -> bool {
        self.counters.scheduled_outside();
        self.inboxes[index].push(task);
        let woken = self.pool.sleep.notify_worker(index);
        self.after_push();
        woken
    }

    /// Called after a push from outside and the notification of a worker, or by a worker that ends. A queue that
    /// has been closed meanwhile gives back what it still holds, because nobody will come for it.
    pub(crate) fn after_push(&self) {
        // Relaxed: the notification's fence orders the push before this look; the one in `close` is its partner.
        if self.state.load(Ordering::Relaxed) == CLOSED {
            self.take_leftovers().into_iter().for_each(Task::cleanup);
        }
    }

    /// No task starts any more and none is accepted.
    pub(crate) fn stop(&self) {
        self.state.store(STOPPED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if let Some(line) = self.gate.line() {
            line.close();
        }
    }

    /// Runs code that is not motet's; its panic goes the way of a handler's.
    pub(crate) fn guarded(&self, body: impl FnOnce()) {
        self.routes.guarded(body);
    }

    /// Routes a panic that happened for the sake of this queue.
    pub(crate) fn raise_panic(&self, payload: Box<dyn Any + Send>) {
        self.raise(Exception::new(payload, &self.config.name));
    }

    /// Takes what has not started. Whoever queues from now on takes care of that himself.
    pub(crate) fn close(&self) -> Vec<Task> {
        // First the tasks that waited, out of the reach of those who come when it is closed.
        let mut tasks = self.take_leftovers();
        self.state.store(CLOSED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        tasks.append(&mut self.take_leftovers());
        tasks
    }

    /// Keeps the next task of a worker that ends for [`QueueCore::take_leftovers`].
    pub(crate) fn leave_head(&self, task: Task) {
        self.heads.lock().push(task);
    }

    /// Worker `index` has cleaned up what was at home there and will not come back.
    pub(crate) fn worker_ended(&self, index: usize) {
        self.ended[index].store(true, Ordering::SeqCst);
        // As that of a notification.
        fence(Ordering::SeqCst);
        self.after_push();
    }

    /// Whether some worker could take a task of this queue now.
    pub(crate) fn has_work(&self) -> bool {
        self.runs()
            && (!self.injector.is_empty()
                || self.stealers.iter().any(|s| !s.is_empty())
                || self.store().is_some_and(TaskStore::has_any))
    }

    /// All tasks that other threads may take, oldest first. What is at home on a worker that goes on is left to it.
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
        let has_ended = |index: usize| self.ended[index].load(Ordering::SeqCst);
        for (index, inbox) in self.inboxes.iter().enumerate() {
            if has_ended(index) {
                injected.append(inbox.take_all());
            }
        }
        tasks.extend(std::iter::from_fn(|| injected.pop_front()));
        if let Some(store) = self.store() {
            tasks.append(&mut store.take_all(has_ended));
        }
        self.counters.returned(tasks.len());
        tasks
    }

    /// Lets no further task start.
    pub(crate) fn suspend(&self) {
        self.change_state(OPEN, SUSPENDED);
    }

    /// Lets tasks start again.
    pub(crate) fn resume(&self) {
        if self.change_state(SUSPENDED, OPEN) {
            self.pool.sleep.notify_all();
        }
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.state.load(Ordering::Acquire) == SUSPENDED
    }

    /// The clock of this queue's timers.
    pub(crate) fn own_clock(&self) -> Clock {
        Clock::real().scaled(self.config.timescale)
    }

    /// A strong handle on this queue.
    pub(crate) fn strong(&self) -> Arc<Self> {
        self.this.upgrade().expect("a queue that is used is alive")
    }

    pub(crate) fn on_exception(&self, handler: Arc<ExceptionHandler>) {
        self.routes.set(handler);
    }

    /// Routes a panic of a task of this queue.
    pub(crate) fn raise(&self, exception: Exception) {
        self.routes.raise(exception);
    }

    fn change_state(&self, from: u8, to: u8) -> bool {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

impl Drop for QueueCore {
    fn drop(&mut self) {
        if let Some(line) = self.gate.line() {
            line.close();
        }
        // No worker keeps the queue any more.
        for ended in &self.ended {
            ended.store(true, Ordering::Relaxed);
        }
        self.take_leftovers().into_iter().for_each(Task::cleanup);
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::local::LocalQueue;
    use crate::task::{TaskBody, TaskBox};
    use motet_sync::thread;

    /// Counts how it ends.
    struct Counted(Arc<Mutex<usize>>);

    impl TaskBody for Counted {
        fn run(_: TaskBox<Self>) {}
        fn cleanup(task: TaskBox<Self>) {
            *task.0.lock() += 1;
        }
    }

    fn queue_of(workers: usize) -> Arc<QueueCore> {
        QueueCore::new(QueueConfig::default(), 0, Arc::new(Pool::new(workers)))
    }

    fn task(cleaned: &Arc<Mutex<usize>>) -> Task {
        TaskBox::new(Counted(Arc::clone(cleaned))).into_task()
    }

    /// A post from outside against the end: the task is refused, returned, or cleaned up by its
    /// poster; it does not stay behind.
    fn post_against_close(post: fn(&QueueCore, Task)) {
        loom::model(move || {
            let (queue, cleaned) = (queue_of(1), Arc::new(Mutex::new(0)));
            let poster = thread::spawn({
                let (queue, cleaned) = (Arc::clone(&queue), Arc::clone(&cleaned));
                move || {
                    let accepted = queue.claim_room().is_ok();
                    if accepted {
                        post(&queue, task(&cleaned));
                    }
                    accepted
                }
            });
            queue.stop();
            queue.worker_ended(0);
            let returned = queue.close().into_iter().map(Task::cleanup).count();
            let accepted = poster.join().unwrap();
            assert_eq!(*cleaned.lock(), usize::from(accepted));
            assert!(returned <= 1);
            assert_eq!(queue.counters.snapshot().pending(), 0);
        });
    }

    #[test]
    fn loom_post_against_close() {
        post_against_close(QueueCore::inject);
    }

    #[test]
    fn loom_home_post_against_close() {
        post_against_close(|queue, task| {
            queue.leave_for(0, task);
        });
    }

    /// A dispatcher in the background: a task for a worker's home comes while that worker ends and the queue is
    /// closed. One of the three gives it up.
    #[test]
    fn loom_home_post_against_close_and_the_end_of_its_worker() {
        loom::model(|| {
            let (queue, cleaned) = (queue_of(1), Arc::new(Mutex::new(0)));
            let poster = thread::spawn({
                let (queue, cleaned) = (Arc::clone(&queue), Arc::clone(&cleaned));
                move || queue.leave_for(0, task(&cleaned))
            });
            let worker = thread::spawn({
                let queue = Arc::clone(&queue);
                move || LocalQueue::new(queue, 0).abandon()
            });
            queue.stop();
            queue.close().into_iter().for_each(Task::cleanup);
            let _woken = poster.join().unwrap();
            worker.join().unwrap();
            assert_eq!(*cleaned.lock(), 1);
        });
    }

    /// A dispatcher that its own worker drops: another worker ends, with a task in hand, while the
    /// queue is closed.
    #[test]
    fn loom_a_worker_that_ends_against_close() {
        loom::model(|| {
            let (queue, cleaned) = (queue_of(1), Arc::new(Mutex::new(0)));
            let worker = thread::spawn({
                let (queue, next) = (Arc::clone(&queue), task(&cleaned));
                move || {
                    let local = LocalQueue::new(queue, 0);
                    local.queue.counters.scheduled_by(0);
                    local.push(next);
                    local.abandon();
                }
            });
            queue.stop();
            queue.close().into_iter().for_each(Task::cleanup);
            worker.join().unwrap();
            assert_eq!(*cleaned.lock(), 1);
        });
    }

    /// What waited when the end began is returned, whoever posts meanwhile.
    #[test]
    fn loom_close_returns_what_waited() {
        loom::model(|| {
            let (queue, cleaned) = (queue_of(1), Arc::new(Mutex::new(0)));
            queue.inject(task(&cleaned));
            queue.stop();
            let waker = thread::spawn({
                let (queue, late) = (Arc::clone(&queue), Task::new(|| ()));
                move || queue.inject(late)
            });
            let returned = queue.close();
            waker.join().unwrap();
            assert_eq!(*cleaned.lock(), 0, "it was returned, not cleaned up");
            assert!(!returned.is_empty());
        });
    }
}
