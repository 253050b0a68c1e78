//! The loop that every thread of a dispatcher runs, and how code inside a task finds its worker.

use crate::dispatcher::Shared;
use crate::exception::Exception;
use crate::inline;
use crate::local::Local;
use crate::queue::QueueShared;
use crate::{Enqueue, Task};
use motet_sync::atomic::Ordering;
use motet_sync::{Backoff, Parker, thread};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::task::Context;

/// One thread of a dispatcher. Lives on that thread's stack; nobody else sees it.
pub(crate) struct Worker {
    index: usize,
    shared: Arc<Shared>,
    /// By the queue's slot.
    locals: RefCell<Vec<Local>>,
    /// The dispatcher's version that `locals` reflects.
    version: Cell<usize>,
    /// The slot served last: that of the task that runs.
    cursor: Cell<usize>,
    /// The worker robbed last.
    victim: Cell<usize>,
    /// The waker data of the async task being polled, null between polls.
    polling: Cell<*const ()>,
    /// The async task being polled asked for another turn.
    again: Cell<bool>,
    /// Polls in a row that only waited.
    fruitless: Cell<u32>,
}

thread_local! {
    /// The worker of this thread, null elsewhere. Set by [`Worker::run`] for as long as it runs.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with the worker of this thread, if it is one.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(&Worker) -> R) -> Option<R> {
    let worker = CURRENT.get();
    // SAFETY: not null only while `Worker::run` is on this thread's stack, below this call.
    unsafe { worker.as_ref() }.map(f)
}

/// Marks the async task with waker data `data` as the one this thread polls and runs `poll`. `true`
/// when it asked for another turn at once.
#[inline]
pub(crate) fn while_polling(data: *const (), poll: impl FnOnce()) -> bool {
    let mut poll = Some(poll);
    let mut run = || {
        if let Some(poll) = poll.take() {
            poll();
        }
    };
    with_current(|worker| worker.polling(data, &mut run)).unwrap_or_else(|| {
        run();
        false
    })
}

/// Queues the task that has just run, and has asked for another turn, behind the others of this
/// worker.
#[inline]
pub(crate) fn run_again(task: Task) {
    let mut task = Some(task);
    with_current(|worker| {
        let locals = worker.locals.borrow();
        let local = &locals[worker.cursor.get()];
        if let Some(task) = task.take() {
            local.queue.counters.scheduled_by(worker.index);
            local.queue.returns();
            local.push_home(task);
        }
    });
    debug_assert!(task.is_none(), "only a worker grants another turn");
}

/// Queues `task` at the worker of this thread. Gives it back when this thread is not a worker of
/// the queue's dispatcher.
#[inline]
pub(crate) fn push_local(queue: &QueueShared, task: Task) -> Option<Task> {
    push(queue, task, |worker, local, task| {
        if local.push(task) {
            worker.shared.sleep.notify_any();
        }
    })
}

/// Queues `task` at home if this thread is worker `home` of the queue's dispatcher; else gives it
/// back.
#[inline]
pub(crate) fn push_home(queue: &QueueShared, home: usize, task: Task) -> Option<Task> {
    if with_current(|worker| worker.index) != Some(home) {
        return Some(task);
    }
    push(queue, task, |_, local, task| local.push_home(task))
}

#[inline]
fn push(queue: &QueueShared, task: Task, push: impl FnOnce(&Worker, &Local, Task)) -> Option<Task> {
    let mut task = Some(task);
    with_current(|worker| {
        if !ptr::eq(&*worker.shared, &*queue.dispatcher) {
            return;
        }
        // A queue made a moment ago may not be known to this worker yet.
        if let Some(local) = worker.locals.borrow().get(queue.slot) {
            queue.counters.scheduled_by(worker.index);
            if let Some(task) = task.take() {
                push(worker, local, task);
            }
        }
    });
    task
}

impl Worker {
    pub(crate) fn new(index: usize, shared: Arc<Shared>) -> Self {
        Worker {
            index,
            shared,
            locals: RefCell::default(),
            version: Cell::new(0),
            cursor: Cell::new(0),
            victim: Cell::new(index),
            polling: Cell::new(ptr::null()),
            again: Cell::new(false),
            fruitless: Cell::new(0),
        }
    }

    /// Serves the dispatcher's queues until it is stopped.
    pub(crate) fn run(&self) {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(ptr::null());
            }
        }
        CURRENT.set(self);
        let _reset = Reset;
        let parker = self.shared.sleep.register(self.index);
        while self.is_current() || self.refresh() {
            match self.pop().or_else(|| self.search(&parker)) {
                Some((slot, task)) => self.execute(slot, task),
                None => continue,
            }
        }
        self.locals.borrow().iter().for_each(Local::abandon);
    }

    pub(crate) fn belongs_to(&self, dispatcher: &Shared) -> bool {
        ptr::eq(&*self.shared, dispatcher)
    }

    /// Whether nothing about the dispatcher has changed since [`Worker::refresh`].
    #[inline]
    fn is_current(&self) -> bool {
        self.shared.version.load(Ordering::Acquire) == self.version.get()
    }

    /// Learns of new queues. `false` when the dispatcher has been stopped.
    #[cold]
    fn refresh(&self) -> bool {
        self.version
            .set(self.shared.version.load(Ordering::Acquire));
        let mut locals = self.locals.borrow_mut();
        let queues = self.shared.queues.lock();
        for queue in &queues[locals.len().min(queues.len())..] {
            locals.push(Local::new(Arc::clone(queue), self.index));
        }
        !self.shared.is_stopped()
    }

    /// Runs one task; a panic goes its way and the worker goes on.
    #[inline]
    fn execute(&self, slot: usize, task: Task) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task.run())) {
            self.polling.set(ptr::null());
            self.again.set(false);
            let queue = Arc::clone(&self.locals.borrow()[slot].queue);
            queue.raise(Exception::new(payload, &queue.config.name));
        }
    }

    /// The next task of this worker's own: one of each queue in turn.
    #[inline]
    fn pop(&self) -> Option<(usize, Task)> {
        let locals = self.locals.borrow();
        let mut slot = self.cursor.get();
        for _ in 0..locals.len() {
            slot = if slot + 1 < locals.len() { slot + 1 } else { 0 };
            let local = &locals[slot];
            if !local.queue.runs() {
                continue;
            }
            if let Some(task) = local.pop() {
                self.cursor.set(slot);
                local.queue.taken(self.index);
                return Some((slot, task));
            }
        }
        None
    }

    fn steal(&self) -> Option<(usize, Task)> {
        let locals = self.locals.borrow();
        let workers = self.shared.workers();
        for step in 1..workers {
            let victim = (self.victim.get() + step) % workers;
            if victim == self.index {
                continue;
            }
            for (slot, local) in locals.iter().enumerate() {
                if local.queue.runs()
                    && let Some(task) = local.steal_from(victim)
                {
                    self.victim.set(victim);
                    self.cursor.set(slot);
                    local.queue.taken(self.index);
                    return Some((slot, task));
                }
            }
        }
        None
    }

    /// Looks for work and sleeps when there is none. `None`: look at the dispatcher again.
    #[cold]
    fn search(&self, parker: &Parker) -> Option<(usize, Task)> {
        let sleep = &self.shared.sleep;
        sleep.start_search();
        loop {
            let mut backoff = Backoff::new();
            loop {
                let found = self.pop().or_else(|| self.steal());
                if found.is_some() || !self.is_current() {
                    if sleep.end_search() && self.shared.has_work() {
                        sleep.notify_any();
                    }
                    return found;
                }
                if !sleep.may_spin() || !backoff.snooze() {
                    break;
                }
            }
            let stir = || !self.is_current() || self.shared.has_work() || self.has_own_work();
            sleep.sleep(self.index, parker, stir, || self.shared.went_idle());
        }
    }

    fn has_own_work(&self) -> bool {
        self.locals
            .borrow()
            .iter()
            .any(|local| local.queue.runs() && local.has_work())
    }
}

/// What a waiting async task asks of its worker; see [`SpinWait`](crate::SpinWait).
impl Worker {
    /// Whether this worker could run something else now.
    #[inline]
    pub(crate) fn has_other_work(&self) -> bool {
        !self.is_current() || self.has_own_work()
    }

    /// The task being polled gets another turn after its poll, if `cx` is its own context.
    #[inline]
    pub(crate) fn poll_again(&self, cx: &Context<'_>) -> bool {
        // An inline task runs inside another task; it has no turns of its own.
        let own = self.polling.get() == cx.waker().data() && !inline::is_running();
        if own {
            self.again.set(true);
        }
        own
    }

    /// A poll found nothing to do. When nothing but such polls happens, the core is offered to
    /// others.
    #[inline]
    pub(crate) fn fruitless(&self) {
        /// About a microsecond of polls.
        const PATIENCE: u32 = 64;
        self.fruitless.set(self.fruitless.get() + 1);
        if self.fruitless.get() > PATIENCE {
            thread::yield_now();
        }
    }

    /// A poll got what it waited for.
    #[inline]
    pub(crate) fn fruitful(&self) {
        self.fruitless.set(0);
    }

    #[inline]
    fn polling(&self, data: *const (), poll: &mut impl FnMut()) -> bool {
        let outer = self.polling.replace(data);
        poll();
        self.polling.set(outer);
        self.again.take()
    }
}
