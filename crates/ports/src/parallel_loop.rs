//! The parallel loop: a body for each of many blocks, on the threads of a queue.
//!
//! The blocks are cut into chunks, as the [`Schedule`] says. At most `degree` tasks take chunk
//! after chunk until none is left. Results are kept by the number of their block, so that they do
//! not depend on who computed what. The task that ends last puts them together and answers the
//! caller.
//!
//! ```text
//!                      ┌─► task: next chunk, next chunk, … ─┐
//!  blocks ─► chunks ───┤                                    ├─► last to end: reply ─► await
//!                      └─► task: next chunk, next chunk, … ─┘
//! ```

mod error;
mod tasks;

pub use error::LoopError;

use crate::reply::{Reply, reply};
use motet_dispatch::{Causalities, Enqueue, Task};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tasks::{GatherShare, Outcome, Shared, results, tree_reduce};

/// Runs a body for each of many blocks in parallel (papers R110 and R111: `Parallel.For` over the
/// blocks that a rank holds). A block is anything that can be sent: an index, or the data itself,
/// which moves to the body and back with its result.
///
/// The calls return futures at once: a handler or a rank awaits them and holds no thread; a thread
/// outside of all tasks uses [`wait_blocking`](crate::wait_blocking). The loop runs on the threads
/// of the queue, at most [`degree`](ParallelLoop::degree) at a time.
///
/// | schedule | use it when |
/// |---|---|
/// | [`Schedule::Static`] | blocks cost the same |
/// | [`Schedule::Dynamic`] | they do not, or the threads have other work |
///
/// ```
/// use motet_dispatch::{Dispatcher, QueueConfig};
/// use motet_ports::{ParallelLoop, Schedule, wait_blocking};
///
/// let dispatcher = Dispatcher::new(2);
/// let queue = dispatcher.queue(QueueConfig::named("loop"));
/// let parallel = ParallelLoop::new(&queue).schedule(Schedule::Dynamic { chunk: 4 });
/// let squares = wait_blocking(parallel.map(0..100_u64, |n| n * n)).unwrap().unwrap();
/// assert_eq!(squares[99], 99 * 99);
/// let sum = parallel.reduce(0..100_u64, |n| n * n, |a, b| a + b);
/// assert_eq!(wait_blocking(sum).unwrap().unwrap(), Some(328_350));
/// ```
///
/// Blocks of data, changed in place:
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{ParallelLoop, wait_blocking};
///
/// let blocks = vec![vec![1.0, 2.0], vec![3.0]];
/// let doubled = ParallelLoop::new(&Inline::new("here")).map(blocks, |mut block| {
///     block.iter_mut().for_each(|x| *x *= 2.0);
///     block
/// });
/// assert_eq!(wait_blocking(doubled).unwrap().unwrap(), [vec![2.0, 4.0], vec![6.0]]);
/// ```
#[derive(Clone)]
pub struct ParallelLoop {
    queue: Arc<dyn Enqueue>,
    degree: usize,
    schedule: Schedule,
}

/// How a loop cuts its blocks into chunks. The results are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// As many chunks as tasks, of the same number of blocks up to one.
    #[default]
    Static,
    /// Chunks of so many blocks (0 counts as 1): a task that is done early takes more.
    Dynamic {
        /// Blocks that a task takes at a time.
        chunk: usize,
    },
}

/// The future of a loop: its result.
///
/// # Cancellation
/// Dropping it drops the blocks that no task has taken; bodies that run end. A panic goes the way
/// of a task's, also if it has come before.
#[must_use = "a loop whose result is not awaited is given up"]
pub struct LoopRun<R: Send + 'static> {
    reply: Reply<Outcome<R>>,
    given_up: Arc<AtomicBool>,
    queue: Arc<dyn Enqueue>,
    /// Those under which the bodies run.
    causalities: Causalities,
}

impl ParallelLoop {
    /// A loop on the threads of `queue`, with as many tasks at a time as the machine has cores.
    #[must_use]
    pub fn new(queue: &impl Enqueue) -> Self {
        ParallelLoop {
            queue: queue.handle(),
            degree: thread::cores(),
            schedule: Schedule::default(),
        }
    }

    /// The largest number of tasks at a time (0 counts as 1).
    #[must_use]
    pub fn degree(self, degree: usize) -> Self {
        ParallelLoop {
            degree: degree.max(1),
            ..self
        }
    }

    /// How the blocks are cut into chunks.
    #[must_use]
    pub fn schedule(self, schedule: Schedule) -> Self {
        ParallelLoop { schedule, ..self }
    }

    /// Runs `body` for each block. Awaiting it gives the results in the order of the blocks.
    ///
    /// # Errors
    /// Awaiting it gives [`LoopError`] when a body panicked, or the queue did not run the tasks.
    pub fn map<B, R>(
        &self,
        blocks: impl IntoIterator<Item = B>,
        body: impl Fn(B) -> R + Send + Sync + 'static,
    ) -> LoopRun<Vec<R>>
    where
        B: Send + 'static,
        R: Send + 'static,
    {
        self.run(blocks, body, results)
    }

    /// Runs `body` for each block, for what it does.
    ///
    /// # Errors
    /// As [`ParallelLoop::map`].
    pub fn for_each<B: Send + 'static>(
        &self,
        blocks: impl IntoIterator<Item = B>,
        body: impl Fn(B) + Send + Sync + 'static,
    ) -> LoopRun<()> {
        self.run(blocks, body, |_| ())
    }

    /// Runs `body` for each block and combines the results: neighbours in pairs, then pairs of
    /// pairs, in the order of the blocks. So any associative operator will do, and sums of
    /// floating-point numbers have the same bits for any schedule, degree and dispatcher. `None`
    /// without blocks.
    ///
    /// # Errors
    /// As [`ParallelLoop::map`]; a panic of `combine` is one, too.
    ///
    /// ```
    /// use motet_dispatch::{Dispatcher, QueueConfig};
    /// use motet_ports::{ParallelLoop, Schedule, wait_blocking};
    ///
    /// let dispatcher = Dispatcher::new(2);
    /// let queue = dispatcher.queue(QueueConfig::default());
    /// let bits = [1, 2, 7].map(|degree| {
    ///     let parallel = ParallelLoop::new(&queue).degree(degree);
    ///     let sum = parallel.reduce(1..=1000, |n| 1.0 / f64::from(n), |a, b| a + b);
    ///     wait_blocking(sum).unwrap().unwrap().unwrap().to_bits()
    /// });
    /// assert!(bits.iter().all(|sum| *sum == bits[0]));
    /// ```
    pub fn reduce<B, R>(
        &self,
        blocks: impl IntoIterator<Item = B>,
        body: impl Fn(B) -> R + Send + Sync + 'static,
        combine: impl Fn(R, R) -> R + Send + Sync + 'static,
    ) -> LoopRun<Option<R>>
    where
        B: Send + 'static,
        R: Send + 'static,
    {
        self.run(blocks, body, move |shares| {
            tree_reduce(results(shares), &combine)
        })
    }

    fn run<B, R, W>(
        &self,
        blocks: impl IntoIterator<Item = B>,
        body: impl Fn(B) -> R + Send + Sync + 'static,
        finish: impl FnOnce(Vec<GatherShare<R>>) -> W + Send + Sync + 'static,
    ) -> LoopRun<W>
    where
        B: Send + 'static,
        R: Send + 'static,
        W: Send + 'static,
    {
        let (to, reply) = reply();
        let given_up = Arc::new(AtomicBool::new(false));
        let chunks = self.cut(blocks.into_iter().collect());
        let shared = Shared::new(&self.queue, chunks, &given_up, finish, to);
        let body = Arc::new(body);
        for _ in 0..self.degree.min(shared.chunks()) {
            let (tasks, body) = (Arc::clone(&shared), Arc::clone(&body));
            let queued = self
                .queue
                .enqueue(Task::new(move || tasks.take_chunks(&*body)));
            if let Err(refused) = queued {
                // The tasks that were taken do all of it; without any this is the reason.
                shared.note(LoopError::Queue(refused.reason));
                break;
            }
        }
        LoopRun {
            reply,
            given_up,
            queue: Arc::clone(&self.queue),
            causalities: Causalities::active(),
        }
    }

    /// Cuts the blocks into chunks of the schedule.
    fn cut<B>(&self, blocks: Vec<B>) -> impl Iterator<Item = Vec<B>> + use<B> {
        let len = blocks.len();
        let sizes: Box<dyn Iterator<Item = usize>> = match self.schedule {
            Schedule::Static => {
                let parts = self.degree.min(len);
                Box::new((0..parts).map(move |part| (part + 1) * len / parts - part * len / parts))
            }
            Schedule::Dynamic { chunk } => {
                let chunk = chunk.max(1);
                Box::new((0..len).step_by(chunk).map(move |at| chunk.min(len - at)))
            }
        };
        let mut blocks = blocks.into_iter();
        sizes.map(move |size| blocks.by_ref().take(size).collect())
    }
}

impl<R: Send + 'static> Future for LoopRun<R> {
    type Output = Result<R, LoopError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = Pin::new(&mut self.reply).poll(cx);
        answer.map(|answer| answer.unwrap_or(Err(LoopError::Dropped)))
    }
}

impl<R: Send + 'static> Drop for LoopRun<R> {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        if let Some(Err(LoopError::Panicked(exception))) = self.reply.give_up() {
            // It has come before, and nobody has looked: the panic goes the way of a task's.
            let causalities = std::mem::take(&mut self.causalities);
            causalities.run(|| self.queue.raise(exception));
        }
    }
}

impl fmt::Debug for ParallelLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParallelLoop")
            .field("queue", &self.queue.name())
            .field("degree", &self.degree)
            .field("schedule", &self.schedule)
            .finish()
    }
}

impl<R: Send + 'static> fmt::Debug for LoopRun<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopRun").finish_non_exhaustive()
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::loom_ports::{Keeper, Wakes};

    /// Two tasks end at once: one of them answers, with all results.
    #[test]
    fn loom_the_last_task_answers() {
        loom::model(|| {
            let queue = Keeper::default();
            let mut run = ParallelLoop::new(&queue).degree(2).map(0..2, |n| n);
            let mut tasks = queue.take();
            let other = tasks.pop();
            let other = motet_sync::thread::spawn(move || other.into_iter().for_each(Task::run));
            tasks.into_iter().for_each(Task::run);
            let (wakes, waker) = Wakes::new();
            let mut cx = Context::from_waker(&waker);
            let early = Pin::new(&mut run).poll(&mut cx);
            let waited = early.is_pending();
            other.join().unwrap();
            assert_eq!(wakes.count(), usize::from(waited));
            let result = if waited {
                Pin::new(&mut run).poll(&mut cx)
            } else {
                early
            };
            assert!(matches!(result, Poll::Ready(Ok(all)) if all == [0, 1]));
        });
    }
}
