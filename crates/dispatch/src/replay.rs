//! The replay: any program, on one thread, in an order that a seed decides, in virtual time.
//!
//! ```text
//!   ReplayQueue "a"  [3][2][1] ─┐   seed or script                     trace: a#1 b#1 a#3 …
//!   ReplayQueue "b"  [1]       ─┼── choose one ──> run it here ──> …   decisions: 1/2, 0/4, …
//!   timers           1 h, 2 h  ─┘   nothing ready: jump to the next timer
//! ```

mod core;
mod queue;
mod schedule;
mod trace;

pub use queue::ReplayQueue;
pub use schedule::Decision;
pub use trace::{ReplayStep, Trace};

use self::core::ReplayCore;

use crate::clock::Clock;
use crate::exception::Exception;
use crate::queue_core::QueueConfig;
use crate::waiting::Waiting;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Runs tasks on the calling thread, in an order that a seed decides and that repeats, in virtual
/// time.
///
/// It stands where a [`Dispatcher`](crate::Dispatcher) would: it makes queues, and programs that
/// post, spawn, wait and set timers on them run unchanged. When a task is to start, one of those
/// that could start is chosen by the seed. Tasks take no time. When nothing is left to run the
/// [clock](Replay::clock) jumps to the next timer. The same program with the same seed takes the
/// same steps at the same times ([`Replay::trace`]), so what fails once fails again.
///
/// What a program gets from elsewhere is not repeated:
///
/// - tasks that other threads queue;
/// - the clock of the machine;
/// - hash maps with random keys;
/// - random numbers without a seed.
///
/// Dropping it brings the items of tasks that never started back to their ports.
///
/// Source: papers do not have it; it answers what users of CCR asked for, tests of concurrent
/// programs that repeat.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, Replay, Task, timer};
/// use std::time::Duration;
///
/// let run = |seed| {
///     let replay = Replay::new(seed);
///     let queue = replay.queue(QueueConfig::named("work"));
///     (0..10).for_each(|_| queue.enqueue(Task::new(|| ())).unwrap());
///     timer::after(&queue, Duration::from_secs(3600), Task::new(|| ()));
///     assert_eq!(replay.run(), 11);
///     assert_eq!(replay.elapsed(), Duration::from_secs(3600));
///     replay.trace()
/// };
/// assert_eq!(run(1), run(1));
/// assert_ne!(run(1), run(2));
/// ```
pub struct Replay {
    core: Arc<ReplayCore>,
}

/// How a [`Replay`] is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayConfig {
    /// What the decisions follow from.
    pub seed: u64,
    /// As which dispatcher it behaves. With 1 thread the tasks of a queue start in the order in
    /// which they were queued. Queues are served in turn, in an order that changes with each round.
    /// With `n` threads the next task is any of the `n` oldest of a queue that is not suspended.
    pub threads: usize,
    /// Virtual time that a task takes, at most: after each task the clock moves on by some eighths
    /// of it. So timers come in the midst of work, as they do on a machine. More than a hundred
    /// years counts as a hundred years.
    pub task_time: Duration,
    /// Decisions to make instead of the seed's: the first of them first; when they are used up,
    /// always the default (the oldest task, no time).
    pub script: Option<Vec<u32>>,
}

impl Default for ReplayConfig {
    fn default() -> Self {
        ReplayConfig {
            seed: 0,
            threads: 8,
            task_time: Duration::ZERO,
            script: None,
        }
    }
}

impl Replay {
    /// A replay with this seed: as a dispatcher with eight threads whose tasks take no time.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with(ReplayConfig {
            seed,
            ..ReplayConfig::default()
        })
    }

    /// A replay as `config` says.
    ///
    /// # Panics
    /// When it has no thread.
    #[must_use]
    pub fn with(config: ReplayConfig) -> Self {
        assert!(config.threads > 0, "a replay with 0 threads runs nothing");
        Replay {
            core: Arc::new(ReplayCore::new(config)),
        }
    }

    /// A new queue.
    #[must_use]
    pub fn queue(&self, config: QueueConfig) -> ReplayQueue {
        ReplayQueue::new(&self.core, config)
    }

    /// The virtual clock. It begins at zero when the replay is made.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.core.clock()
    }

    /// How much virtual time has passed.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.core.time.elapsed()
    }

    /// The number of timers that wait for their time.
    #[must_use]
    pub fn timers(&self) -> usize {
        self.core.time.timers()
    }

    /// Runs tasks and timers until nothing is left to run: every queue is empty or suspended and no
    /// timer waits. Returns the number of tasks. (A periodic timer never leaves off: see
    /// [`Replay::run_for`].)
    ///
    /// # Panics
    /// Inside a task of this replay, or while another thread runs it.
    #[allow(clippy::must_use_candidate, reason = "what it does is run")]
    pub fn run(&self) -> usize {
        let _running = self.core.enter();
        std::iter::repeat_with(|| self.core.step(None))
            .take_while(|&ran| ran)
            .count()
    }

    /// Runs what is to run during the next `span` of virtual time, its end included; `span` later
    /// it is afterwards. Returns the number of tasks.
    ///
    /// # Panics
    /// As [`Replay::run`].
    #[allow(clippy::must_use_candidate, reason = "what it does is run")]
    pub fn run_for(&self, span: Duration) -> usize {
        let _running = self.core.enter();
        let end = self.core.clock().in_future(span);
        let steps = std::iter::repeat_with(|| self.core.step(Some(end)));
        let count = steps.take_while(|&ran| ran).count();
        self.core.time.advance_to(end);
        count
    }

    /// Runs until `is_over` says so, and returns the number of tasks. It is asked before each task,
    /// with `false`. It is also asked, with `true`, when nothing is left to run. What it brings
    /// then is run, and when it brings nothing that is the end.
    ///
    /// ```
    /// use motet_dispatch::{Enqueue, QueueConfig, Replay, Task};
    ///
    /// let replay = Replay::new(1);
    /// let queue = replay.queue(QueueConfig::named("work"));
    /// let mut more = 3;
    /// let count = replay.run_until(|nothing_left| {
    ///     if nothing_left && more > 0 {
    ///         more -= 1;
    ///         queue.enqueue(Task::new(|| ())).unwrap();
    ///     }
    ///     false
    /// });
    /// assert_eq!(count, 3);
    /// ```
    ///
    /// # Panics
    /// As [`Replay::run`], before it asks.
    #[allow(clippy::must_use_candidate, reason = "what it does is run")]
    pub fn run_until(&self, mut is_over: impl FnMut(bool) -> bool) -> usize {
        let _running = self.core.enter();
        let mut count = 0;
        while !is_over(false) {
            let ran = self.core.step(None) || (!is_over(true) && self.core.step(None));
            if !ran {
                break;
            }
            count += 1;
        }
        count
    }

    /// Runs one task; lets time pass to the next timers until there is one. `false` when nothing is
    /// left to run.
    ///
    /// # Panics
    /// As [`Replay::run`].
    #[allow(clippy::must_use_candidate, reason = "what it does is run")]
    pub fn step(&self) -> bool {
        let _running = self.core.enter();
        self.core.step(None)
    }

    /// Who waits on which port or join for the sake of this replay, as
    /// [`Dispatcher::waiting`](crate::Dispatcher::waiting) tells it: after [`Replay::run`], what
    /// never came.
    ///
    /// # Panics
    /// In a predicate: it looks at ports.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        self.core.registry.read()
    }

    /// Which task of which queue has run at which time, so far.
    #[must_use]
    pub fn trace(&self) -> Trace {
        self.core.trace()
    }

    /// The decisions made so far. As the [script](ReplayConfig::script) of another replay they lead
    /// the same program the same way.
    #[must_use]
    pub fn decisions(&self) -> Vec<Decision> {
        self.core.decisions()
    }

    /// Tells `handler` of each panic of a task whose queue has no handler of its own.
    pub fn on_exception(&self, handler: impl Fn(Exception) + Send + Sync + 'static) {
        self.core.exceptions.set(Arc::new(handler));
    }
}

impl Drop for Replay {
    /// Its queues refuse tasks from now on; the items of what never started go back to where they
    /// came from, and timers are given up.
    fn drop(&mut self) {
        self.core.close();
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("config", &self.core.config)
            .field("elapsed", &self.elapsed())
            .finish_non_exhaustive()
    }
}
