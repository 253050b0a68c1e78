//! The loop that every thread of a dispatcher runs, and how code inside a task finds its worker.

mod own_tasks;
mod references;
mod task_clock;
mod waits;

pub use references::{keep_handle, take_handle};
pub(crate) use task_clock::clock_of_task;

use crate::Task;
use crate::handle_cache::HandleCache;
use crate::local::LocalQueue;
use crate::memory::MemoryKeeper;
use crate::pool::Pool;
use crate::queue_core::QueueCore;
use crate::registry::Registry;
use crate::span;
use crate::stall::StallWatch;
use crate::waiting::Here;
use motet_sync::{Backoff, Parker};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One thread of a dispatcher. Lives on that thread's stack; nobody else sees it.
pub(crate) struct Worker {
    index: usize,
    registry: Arc<Registry>,
    /// The pool's: what this worker begins is told there.
    watch: Option<Arc<StallWatch>>,
    /// By the queue's slot.
    locals: RefCell<Vec<LocalQueue>>,
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
    /// Until then waits keep the core: someone is being woken, and will answer.
    patient_until: Cell<Option<Instant>>,
    /// Tasks run, to know when to look at the load of the others.
    turns: Cell<u32>,
    /// References for the next messages.
    handles: HandleCache,
}

/// How long a worker looks for work before it sleeps: about what waking it costs. So the wait is
/// never more than about twice as dear as the better of looking and sleeping.
const SEARCH: Duration = Duration::from_micros(60);

/// How long waits keep the core after another worker was woken: a few times what that takes.
const WAKING: Duration = Duration::from_micros(150);

/// Every so many tasks a worker with work of its own looks whether another one has more.
const BALANCE_TURN: u32 = 64;

/// Every so many tasks a worker lets the references go that it keeps: it will keep those that it
/// still uses.
const CACHE_TRIM_INTERVAL: u32 = 16 * BALANCE_TURN;

motet_sync::thread_local! {
    /// The worker of this thread, null elsewhere. Set by [`Worker::run`] for as long as it runs.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with the worker of this thread, if it is one.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(&Worker) -> R) -> Option<R> {
    let worker = CURRENT.with(Cell::get);
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

/// Queues `task` at the worker of this thread; `Ok(true)` when other workers can see it and have
/// not been told. Gives it back when this thread is not a worker of the queue's dispatcher.
#[inline]
pub(crate) fn push_local(queue: &QueueCore, task: Task) -> Result<bool, Task> {
    push(queue, task, LocalQueue::push)
}

/// Queues `task` at home if this thread is worker `home` of the queue's dispatcher; else gives it
/// back.
#[inline]
pub(crate) fn push_home(queue: &QueueCore, home: usize, task: Task) -> Result<bool, Task> {
    if with_current(|worker| worker.index) != Some(home) {
        return Err(task);
    }
    push(queue, task, |local, task| {
        local.push_home(task);
        false
    })
}

/// Wakes a worker, if one sleeps and none is looking for work, for tasks that this thread has
/// queued with [`Enqueue::admit_here`](crate::Enqueue::admit_here).
#[inline]
pub fn announce() {
    with_current(|worker| worker.registry.pool.sleep.notify_any());
}

/// This thread has woken a sleeping worker, whose answer its tasks may wait for. If they gave the
/// core away now they might lose it for a time slice of milliseconds, and the other would find them
/// gone.
#[cold]
pub(crate) fn expect_sleeper() {
    with_current(|worker| worker.patient_until.set(Some(Instant::now() + WAKING)));
}

/// Whether this thread is a worker of the dispatcher with that pool.
pub(crate) fn is_of(pool: &Pool) -> bool {
    with_current(|worker| worker.belongs_to(pool)).unwrap_or(false)
}

#[inline]
fn push(
    queue: &QueueCore,
    task: Task,
    push: impl FnOnce(&LocalQueue, Task) -> bool,
) -> Result<bool, Task> {
    // SAFETY: as in `with_current`.
    match unsafe { CURRENT.with(Cell::get).as_ref() } {
        Some(worker) => worker.push(queue, task, push),
        None => Err(task),
    }
}

impl Worker {
    pub(crate) fn new(index: usize, registry: Arc<Registry>) -> Self {
        Worker {
            index,
            watch: registry.pool.watch.clone(),
            registry,
            locals: RefCell::default(),
            version: Cell::new(0),
            cursor: Cell::new(0),
            victim: Cell::new(index),
            polling: Cell::new(ptr::null()),
            again: Cell::new(false),
            fruitless: Cell::new(0),
            patient_until: Cell::new(None),
            turns: Cell::new(0),
            handles: HandleCache::new(),
        }
    }

    /// Serves the dispatcher's queues until it is stopped.
    pub(crate) fn run(&self) {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(ptr::null()));
                drop(Here::replace(None));
            }
        }
        let _keeper = MemoryKeeper::new();
        CURRENT.with(|current| current.set(self));
        drop(Here::replace(Some(Here {
            registry: Arc::clone(&self.pool().registry),
            index: Some(self.index),
        })));
        let _reset = Reset;
        let parker = self.pool().sleep.register(self.index);
        while self.is_current() || self.refresh() {
            match self.pop().or_else(|| self.search(&parker)) {
                Some((slot, task)) => self.execute(slot, task),
                None => continue,
            }
        }
        self.let_go();
        self.locals.borrow().iter().for_each(LocalQueue::abandon);
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.registry.pool
    }

    pub(crate) fn belongs_to(&self, pool: &Pool) -> bool {
        ptr::eq(&*self.registry.pool, pool)
    }

    #[inline]
    fn push(
        &self,
        queue: &QueueCore,
        task: Task,
        push: impl FnOnce(&LocalQueue, Task) -> bool,
    ) -> Result<bool, Task> {
        if !self.belongs_to(&queue.pool) {
            return Err(task);
        }
        let mut locals = self.locals.borrow();
        if locals.len() <= queue.slot {
            // Made a moment ago. Were its first tasks left in the injector, the next ones, which
            // find it known, would overtake them.
            drop(locals);
            self.learn();
            locals = self.locals.borrow();
        }
        let Some(local) = locals.get(queue.slot) else {
            return Err(task);
        };
        queue.counters.scheduled_by(self.index);
        Ok(push(local, task))
    }

    /// Whether nothing about the dispatcher has changed since [`Worker::refresh`].
    #[inline]
    fn is_current(&self) -> bool {
        self.pool().version() == self.version.get()
    }

    /// Learns what has changed. `false` when the dispatcher has been stopped.
    #[cold]
    fn refresh(&self) -> bool {
        self.version.set(self.pool().version());
        self.let_go();
        self.learn();
        !self.pool().is_stopped()
    }

    /// Makes a place here for each queue that has none yet, unless the places are being given up.
    #[cold]
    fn learn(&self) {
        let Ok(mut locals) = self.locals.try_borrow_mut() else {
            return;
        };
        for queue in self.registry.queues_from(locals.len()) {
            locals.push(LocalQueue::new(queue, self.index));
        }
    }

    /// Runs one task; a panic goes its way and the worker goes on.
    #[inline]
    fn execute(&self, slot: usize, task: Task) {
        self.turns.set(self.turns.get().wrapping_add(1));
        if self.turns.get().is_multiple_of(BALANCE_TURN) {
            self.balance(slot);
            if self.turns.get().is_multiple_of(CACHE_TRIM_INTERVAL) {
                self.let_go();
            }
        }
        if let Some(watch) = &self.watch {
            watch.begin(self.index, slot, task.name());
        }
        let name = || self.locals.borrow()[slot].queue.config.name.clone();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| span::start(task, name))) {
            let queue = Arc::clone(&self.locals.borrow()[slot].queue);
            queue.raise_panic(payload);
        }
    }

    /// Takes a share of another worker's tasks if it has more than this one. Chains of tasks that
    /// each queue the next keep every worker busy and would never be stolen, however unevenly they
    /// lie.
    #[cold]
    fn balance(&self, slot: usize) {
        let workers = self.pool().workers();
        let victim = (self.index + self.turns.get() as usize / BALANCE_TURN as usize) % workers;
        if victim != self.index && self.locals.borrow()[slot].balance_with(victim) {
            self.pool().sleep.notify_any();
        }
    }

    fn steal(&self) -> Option<(usize, Task)> {
        let locals = self.locals.borrow();
        let workers = self.pool().workers();
        // The one robbed last comes first: it may well have more.
        for step in 0..workers {
            let victim = (self.victim.get() + step) % workers;
            if victim == self.index {
                continue;
            }
            for (slot, local) in locals.iter().enumerate() {
                if local.queue.runs()
                    && let Some(task) = local.steal_from(victim)
                {
                    self.victim.set(victim);
                    self.pool().stole(self.index);
                    return Some(self.took(locals, slot, task));
                }
            }
        }
        None
    }

    /// Looks for work and sleeps when there is none. `None`: look at the dispatcher again.
    #[cold]
    fn search(&self, parker: &Parker) -> Option<(usize, Task)> {
        let sleep = &self.pool().sleep;
        if let Some(watch) = &self.watch {
            watch.rest(self.index);
        }
        sleep.start_search();
        // Not at the first look, which comes at once. A worker may queue small tasks as fast as it
        // can. A thief who waits a moment then gets many of them at a time, not one.
        let mut robs = false;
        loop {
            let mut backoff = Backoff::new(SEARCH);
            loop {
                let found = self
                    .pop()
                    .or_else(|| if robs { self.steal() } else { None });
                robs = true;
                if found.is_some() || !self.is_current() {
                    if sleep.end_search() && self.registry.has_work() {
                        sleep.notify_any();
                    }
                    return found;
                }
                if !sleep.may_spin() || !backoff.snooze() {
                    break;
                }
            }
            self.let_go();
            let stir = || !self.is_current() || self.registry.has_work() || self.has_own_work();
            sleep.sleep(self.index, parker, stir, || self.pool().went_idle());
        }
    }

    fn has_own_work(&self) -> bool {
        self.locals
            .borrow()
            .iter()
            .any(|local| local.queue.runs() && local.has_work())
    }
}
