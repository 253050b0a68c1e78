//! The dispatcher: a fixed set of threads that serve queues.

use crate::Task;
use crate::exception::Exception;
use crate::pool::Pool;
use crate::queue::DispatcherQueue;
use crate::queue_core::{QueueConfig, QueueCore};
use crate::registry::Registry;
use crate::worker::{self, Worker};
use motet_sync::thread;
use std::fmt;
use std::sync::Arc;

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
}

/// How a [`Dispatcher`] is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatcherConfig {
    /// The number of threads; 0 means one per available core.
    pub threads: usize,
    /// Thread `i` is named `name-i`.
    pub name: String,
    /// Binds thread `i` to core `i` (modulo the number of cores).
    pub pin: bool,
}

impl Default for DispatcherConfig {
    fn default() -> Self {
        DispatcherConfig {
            threads: 0,
            name: "motet".to_owned(),
            pin: false,
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
    /// The operating system's reason when it refuses a thread; no thread is left running then.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "a configuration is given away"
    )]
    pub fn with(config: DispatcherConfig) -> std::io::Result<Self> {
        let workers = if config.threads == 0 {
            thread::cores()
        } else {
            config.threads
        };
        let mut dispatcher = Dispatcher {
            registry: Arc::new(Registry::new(workers)),
            threads: Vec::new(),
        };
        let cores = if config.pin {
            core_affinity::get_core_ids()
        } else {
            None
        };
        for index in 0..workers {
            let registry = Arc::clone(&dispatcher.registry);
            let core = cores
                .as_ref()
                .filter(|ids| !ids.is_empty())
                .map(|ids| ids[index % ids.len()]);
            let body = move || {
                if let Some(core) = core {
                    core_affinity::set_for_current(core);
                }
                Worker::new(index, registry).run();
            };
            let thread = thread::spawn_named(&format!("{}-{index}", config.name), body)?;
            dispatcher.threads.push(thread);
        }
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
    /// aside) and nothing runs. It is called on the last worker and may queue tasks. Its panic is told
    /// to the handler of [`Dispatcher::on_exception`], as one of a queue named `on_idle`.
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
        self.pool()
            .wait_idle(|| self.pool().sleep.all_asleep() && !self.registry.has_work());
    }

    /// Lets running tasks end, joins the threads, and returns the tasks that never started: by
    /// queue, oldest first. Call [`Task::cleanup`] on them to bring their items back to their
    /// ports, or run them. The queues refuse further tasks. Tasks at home on a worker are not
    /// returned: they may hold what must not leave their thread, and are cleaned up there.
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

    /// A handle that looks whether the dispatcher stays idle.
    #[must_use]
    pub fn idle_watch(&self) -> IdleWatch {
        IdleWatch {
            pool: Arc::clone(&self.registry.pool),
        }
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
        // The queues stay registered until the workers have ended: one that has not heard of a queue
        // yet still cleans up what is at home there.
        let queues = self.registry.queues_from(0);
        queues.iter().for_each(|queue| queue.stop());
        self.pool().stop();
        if !self.is_own_worker() {
            for thread in self.threads.drain(..) {
                // A worker catches every panic of its tasks; its own would be a bug of this crate.
                thread.join().expect("a worker never panics");
            }
        }
        queues.iter().flat_map(|queue| queue.close()).collect()
    }
}

impl Drop for Dispatcher {
    /// Stops; what is queued goes back to where it came from. On a worker of its own it does not
    /// wait for the threads.
    fn drop(&mut self) {
        self.shut_down().into_iter().for_each(Task::cleanup);
    }
}

/// Tells whether a dispatcher has stayed idle between two looks.
#[derive(Clone)]
pub struct IdleWatch {
    pool: Arc<Pool>,
}

impl IdleWatch {
    /// A number that changes whenever a worker is woken; `None` when some worker is awake. Two
    /// equal looks mean that no task ran in between.
    #[must_use]
    pub fn look(&self) -> Option<usize> {
        let wakes = self.pool.sleep.wakes();
        self.pool.sleep.all_asleep().then_some(wakes)
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
