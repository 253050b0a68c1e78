//! The dispatcher: a fixed set of threads that serve queues.

use crate::Task;
use crate::blocking::Blocking;
use crate::cores;
use crate::counters::WorkerCounters;
use crate::exception::Exception;
use crate::pool::Pool;
use crate::priority::ThreadPriority;
use crate::queue::DispatcherQueue;
use crate::queue_core::{QueueConfig, QueueCore};
use crate::registry::Registry;
use crate::spin_wait::SpinWait;
use crate::stall::{Stall, StallWatch};
use crate::started::ThreadsStarted;
use crate::waiting::Waiting;
use crate::worker::{self, Worker};
use core_affinity::CoreId;
use motet_sync::thread;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Operating-system threads that run the tasks of any number of [`DispatcherQueue`]s.
///
/// The queues are served fairly: each worker takes one task of each queue in turn. Within a queue
/// workers balance their load by stealing from each other. A worker with nothing to do sleeps.
///
/// ```
/// use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, Task};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::sync::Arc;
///
/// let dispatcher = Dispatcher::new(2);
/// let queue = dispatcher.queue(QueueConfig::default());
/// let ran = Arc::new(AtomicU32::new(0));
/// for _ in 0..100 {
///     let ran = Arc::clone(&ran);
///     queue.enqueue(Task::new(move || { ran.fetch_add(1, Ordering::Relaxed); })).unwrap();
/// }
/// assert!(dispatcher.drain().is_empty(), "everything ran");
/// assert_eq!(ran.load(Ordering::Relaxed), 100);
/// ```
pub struct Dispatcher {
    registry: Arc<Registry>,
    threads: Vec<thread::JoinHandle<()>>,
    background: bool,
}

/// How a [`Dispatcher`] is to be.
///
/// ```
/// use motet_dispatch::{Dispatcher, DispatcherConfig, ThreadPriority};
///
/// let background = Dispatcher::with(DispatcherConfig {
///     threads: 2,
///     priority: ThreadPriority::Lowest,
///     ..DispatcherConfig::default()
/// })
/// .unwrap();
/// assert_eq!(background.workers(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatcherConfig {
    /// The number of threads; 0 means one per available core.
    pub threads: usize,
    /// Thread `i` is named `name-i`.
    pub name: String,
    /// Binds thread `i` to core `i` (modulo the number of cores).
    pub pin: bool,
    /// Binds thread `i` to the i-th of these cores (modulo their number), by the system's numbers
    /// of them. There is one thread for each core where `threads` is 0. Empty: as `pin` says.
    pub cores: Vec<usize>,
    /// How the operating system is to prefer the threads to others.
    pub priority: ThreadPriority,
    /// The size of each thread's stack in bytes; `None`: the system's.
    pub stack_size: Option<usize>,
    /// Whether the end of the dispatcher does not wait for tasks and blocking calls that run (CCR's
    /// background threads).
    pub background: bool,
    /// The most threads for [blocking calls](DispatcherQueue::run_blocking), 1 at least.
    pub blocking_threads: usize,
    /// How long such a thread stays without a call.
    pub blocking_idle: Duration,
    /// A handler that holds its worker for so long is [told](Dispatcher::on_stall), once. `None`:
    /// nobody looks, and nothing is paid for it.
    pub stall_limit: Option<Duration>,
    /// About what waking a task costs that sleeps, four seconds at most. A task that [looks for
    /// what it waits for](crate::SpinWait) looks for so long before it sleeps.
    pub wake_cost: Duration,
}

impl Default for DispatcherConfig {
    fn default() -> Self {
        DispatcherConfig {
            threads: 0,
            name: "motet".to_owned(),
            pin: false,
            cores: Vec::new(),
            priority: ThreadPriority::default(),
            stack_size: None,
            background: false,
            blocking_threads: 64,
            blocking_idle: Duration::from_secs(10),
            stall_limit: None,
            wake_cost: SpinWait::WAKE_COST,
        }
    }
}

impl Dispatcher {
    /// A dispatcher with this many threads; 0 means one per available core.
    ///
    /// # Panics
    /// When the operating system refuses a thread; see [`Dispatcher::with`].
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self::with(DispatcherConfig {
            threads,
            ..DispatcherConfig::default()
        })
        .expect("the operating system starts the dispatcher's threads")
    }

    /// A dispatcher as `config` says.
    ///
    /// # Errors
    /// The operating system's reason when it refuses a thread or its priority.
    /// [`InvalidInput`](std::io::ErrorKind::InvalidInput) when `cores` has one that the process may
    /// not use, or the name has a zero byte. No thread is left running then.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "a configuration is given away"
    )]
    pub fn with(config: DispatcherConfig) -> std::io::Result<Self> {
        let bound = cores::bound(&config.cores, config.pin)?;
        let workers = match (config.threads, config.cores.len()) {
            (0, 0) => thread::cores(),
            (0, cores) => cores,
            (threads, _) => threads,
        };
        let watch = config
            .stall_limit
            .map(|limit| StallWatch::new(limit, workers));
        let watch = watch.map(Arc::new);
        let blocking = Blocking::new(&config.name, config.blocking_threads, config.blocking_idle);
        let pool = Pool::with(workers, blocking, watch, config.wake_cost);
        let registry = Arc::new(Registry::new(pool));
        let mut dispatcher = Dispatcher {
            registry,
            threads: Vec::new(),
            background: config.background,
        };
        let started = Arc::new(ThreadsStarted::default());
        for index in 0..workers {
            let core = bound.get(index % bound.len().max(1)).copied();
            let thread = dispatcher.start(index, core, &config, &started)?;
            dispatcher.threads.push(thread);
        }
        if config.priority != ThreadPriority::Normal {
            started.wait_for(workers)?;
        }
        dispatcher.start_watcher(&config.name)?;
        Ok(dispatcher)
    }

    /// The number of threads.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.pool().workers()
    }

    /// A new queue that this dispatcher serves until it is stopped.
    #[must_use]
    pub fn queue(&self, config: QueueConfig) -> DispatcherQueue {
        let pool = &self.registry.pool;
        let make = |slot| QueueCore::new(config, slot, Arc::clone(pool));
        DispatcherQueue::new(self.registry.add(make))
    }

    /// Tells `handler` of each panic of a task whose queue has no handler of its own.
    pub fn on_exception(&self, handler: impl Fn(Exception) + Send + Sync + 'static) {
        self.pool().exceptions.set(Arc::new(handler));
    }

    /// Calls `hook` each time every worker has gone to sleep: nothing is queued (suspended queues
    /// aside) and nothing runs. It is called on the last worker and may queue tasks. Its panic is
    /// told to the handler of [`Dispatcher::on_exception`], as one of a queue named `on_idle`.
    pub fn on_idle(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.pool().set_idle_hook(Arc::new(hook));
    }

    /// Waits until nothing is queued (suspended queues aside) and nothing runs. Async tasks that
    /// wait for something count as neither.
    ///
    /// # Panics
    /// On a worker of this dispatcher, which would wait for itself.
    pub fn wait_idle(&self) {
        self.assert_outside("wait_idle");
        self.registry.wait_idle();
    }

    /// Lets running tasks end, joins the threads, and returns the tasks that never started: by
    /// queue, oldest first. Call [`Task::cleanup`] on them to bring their items back to their
    /// ports, or run them. The queues refuse further tasks. Tasks at home on a worker are not
    /// returned: they may hold what must not leave their thread, and are cleaned up there. (What
    /// somebody leaves for a worker that has ended is nobody's, and is returned with the rest.)
    ///
    /// In the [background](DispatcherConfig::background) it waits for no thread: tasks that run go
    /// on, and the threads end after them.
    ///
    /// # Panics
    /// On a worker of this dispatcher, which would wait for itself.
    #[must_use = "the tasks that never started"]
    pub fn stop(mut self) -> Vec<Task> {
        self.assert_outside("stop");
        self.shut_down()
    }

    /// Runs everything that is queued, and what that queues in turn, then stops. Returns what could
    /// not run: the tasks of suspended queues, and tasks that came from outside in between.
    ///
    /// # Panics
    /// On a worker of this dispatcher, which would wait for itself.
    #[must_use = "the tasks that never started"]
    pub fn drain(self) -> Vec<Task> {
        self.wait_idle();
        self.stop()
    }

    /// Who waits on which port or join for the sake of this dispatcher: its queues' arbiters and
    /// the receives that its async handlers await. Each entry says what is there, what is missing,
    /// since when, and where that was written. Waits of other threads and of other dispatchers are
    /// not listed.
    ///
    /// # Panics
    /// In a predicate: it looks at ports.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        self.pool().registry.read()
    }

    /// A handle that looks whether the dispatcher stays idle.
    #[must_use]
    pub fn idle_watch(&self) -> IdleWatch {
        IdleWatch {
            pool: Arc::clone(&self.registry.pool),
        }
    }

    /// The counters of each worker as they are now.
    #[must_use]
    pub fn worker_counters(&self) -> Vec<WorkerCounters> {
        let queues = self.registry.queues_from(0);
        let of = |index| {
            let (parked, woken) = self.pool().sleep.parked_and_woken(index);
            WorkerCounters {
                executed: queues.iter().map(|q| q.counters.executed_of(index)).sum(),
                stolen: self.pool().stolen_by(index),
                parked,
                woken,
            }
        };
        (0..self.workers()).map(of).collect()
    }

    /// The number of threads for [blocking calls](DispatcherQueue::run_blocking) that there are
    /// now.
    #[must_use]
    pub fn blocking_threads(&self) -> usize {
        self.pool().blocking.threads()
    }

    /// Tells `handler` of each handler that holds its worker for longer than
    /// [`stall_limit`](DispatcherConfig::stall_limit), while it still does, instead of standard
    /// error. It runs on the watching thread. Without a limit it is never called.
    pub fn on_stall(&self, handler: impl Fn(Stall) + Send + Sync + 'static) {
        if let Some(watch) = &self.pool().watch {
            watch.set_handler(Arc::new(handler));
        }
    }

    fn start(
        &self,
        index: usize,
        core: Option<CoreId>,
        config: &DispatcherConfig,
        started: &Arc<ThreadsStarted>,
    ) -> std::io::Result<thread::JoinHandle<()>> {
        let (priority, started) = (config.priority, Arc::clone(started));
        let registry = Arc::clone(&self.registry);
        let body = move || {
            if let Some(core) = core {
                core_affinity::set_for_current(core);
            }
            started.tell(priority.apply());
            Worker::new(index, registry).run();
        };
        thread::spawn_with(&format!("{}-{index}", config.name), config.stack_size, body)
    }

    /// Starts the thread that looks for handlers that hold their worker, if that is asked for.
    fn start_watcher(&self, name: &str) -> std::io::Result<()> {
        let Some(watch) = &self.pool().watch else {
            return Ok(());
        };
        // Queues are not kept alive by their watcher: it ends with the dispatcher.
        let (watch, registry) = (Arc::clone(watch), Arc::clone(&self.registry));
        let queue_name = move |slot: usize| {
            let queues = registry.queues_from(slot);
            queues
                .first()
                .map_or_else(String::new, |queue| queue.config.name.clone())
        };
        thread::spawn_named(&format!("{name}-watch"), move || watch.watch(queue_name)).map(drop)
    }

    fn assert_outside(&self, verb: &str) {
        assert!(
            !self.is_own_worker(),
            "Dispatcher::{verb} on a worker of the same dispatcher would wait for itself"
        );
    }

    fn pool(&self) -> &Pool {
        &self.registry.pool
    }

    fn is_own_worker(&self) -> bool {
        worker::is_of(self.pool())
    }

    fn shut_down(&mut self) -> Vec<Task> {
        // The queues stay registered until the workers have ended. A worker that has not heard of a
        // queue yet still cleans up what is at home there.
        let queues = self.registry.queues_from(0);
        queues.iter().for_each(|queue| queue.stop());
        self.pool().stop();
        if let Some(watch) = &self.pool().watch {
            watch.stop();
        }
        let waits = !self.background && !self.is_own_worker();
        // A call that drops its own dispatcher must not wait for a handler that waits for the call.
        let waits = waits && !self.pool().blocking.is_own_thread();
        self.pool().blocking.close(waits);
        if waits {
            for thread in self.threads.drain(..) {
                // A worker catches every panic of its tasks; its own would be a bug of this crate.
                thread.join().expect("a worker never panics");
            }
        }
        let left = queues.iter().flat_map(|queue| queue.close()).collect();
        // Now the queues drop whom they get: tasks that wait, for what may never come, go with the
        // dispatcher.
        self.pool().registry.end();
        left
    }
}

impl Drop for Dispatcher {
    /// Stops; what is queued goes back to where it came from. On a thread of its own, and in the
    /// background, it does not wait for the threads.
    fn drop(&mut self) {
        for task in self.shut_down() {
            crate::route::guarded("dispatcher", &[&self.pool().exceptions], || task.cleanup());
        }
    }
}

/// Tells whether a dispatcher has stayed idle between two looks.
#[derive(Clone)]
pub struct IdleWatch {
    pool: Arc<Pool>,
}

impl IdleWatch {
    /// A number that changes whenever a worker is woken; `None` when some worker is awake or still
    /// falls asleep. Two equal looks mean that no task ran in between.
    #[must_use]
    pub fn look(&self) -> Option<usize> {
        self.pool.sleep.all_asleep()
    }
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for IdleWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleWatch")
            .field("look", &self.look())
            .finish_non_exhaustive()
    }
}
