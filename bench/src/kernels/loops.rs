//! Loops over blocks in the papers' forms of code (E36): the port loop and the parallel loop. The
//! examples `port_loop` and `parallel_loop` of the facade explain them.
//!
//! Who calls a loop is a task of the dispatcher whose threads run the blocks, and awaits the end. A
//! thread of its own would have to be woken for every loop, and would want a core beside theirs.

use crate::said::Said;
use motet_dispatch::{
    Dispatcher, DispatcherConfig, DispatcherQueue, Enqueue, QueueConfig, Task, spawn,
};
use motet_ports::{Port, Receive};
use motet_sync::CachePadded;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Threads that run loops, and the queue of their tasks.
#[derive(Debug)]
pub(crate) struct Loops {
    threads: usize,
    queue: DispatcherQueue,
    /// Its end is the end of the threads.
    _dispatcher: Dispatcher,
}

/// Who decides which thread gets which block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopSplit {
    /// Whoever writes the loop: a block is a message, and a handler starts for each.
    Static,
    /// The threads: each has one task, which takes one block after the other.
    Dynamic,
}

/// What the tasks of a parallel loop share.
struct Shared<F> {
    next: CachePadded<AtomicUsize>,
    latch: Latch,
    body: F,
}

/// What is not done yet of a round, and the port that is told when all is.
#[derive(Debug)]
struct Latch {
    left: CachePadded<AtomicUsize>,
    end: Port<()>,
}

impl LoopSplit {
    /// Both.
    pub(crate) const BOTH: [LoopSplit; 2] = [LoopSplit::Static, LoopSplit::Dynamic];

    /// The form of code that it stands for.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LoopSplit::Static => "motet static",
            LoopSplit::Dynamic => "motet dynamic",
        }
    }
}

impl Loops {
    /// Starts so many threads, bound to their cores or not.
    pub(crate) fn new(threads: usize, pin: bool) -> Result<Loops, String> {
        let config = DispatcherConfig {
            threads,
            pin,
            ..DispatcherConfig::default()
        };
        let dispatcher = Dispatcher::with(config)
            .map_err(|error| format!("the threads do not start: {error}"))?;
        Ok(Loops {
            threads,
            queue: dispatcher.queue(QueueConfig::named("loop")),
            _dispatcher: dispatcher,
        })
    }

    /// Runs `body` once for each block, by the parallel loop. Whoever awaits the end may be a task
    /// of other threads, such as a rank.
    ///
    /// # Errors
    /// The queue has been closed.
    pub(crate) async fn once(
        &self,
        blocks: usize,
        body: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<(), String> {
        match self.threads.min(blocks) {
            0 => Ok(()),
            degree => parallel_loop(&self.queue, degree, (blocks, 1), body).await,
        }
    }

    /// Runs `body` once for each block, so many times, each after the end of the one before, and
    /// returns how long that took. Any number of blocks will do on any number of threads: what is
    /// counted are blocks.
    ///
    /// # Errors
    /// The queue has been closed.
    pub(crate) fn run(
        &self,
        split: LoopSplit,
        (blocks, rounds): (usize, u32),
        body: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<Duration, String> {
        if blocks == 0 {
            return Ok(Duration::ZERO);
        }
        let (queue, degree) = (self.queue.clone(), self.threads.min(blocks));
        let told = Port::new();
        let tell = told.clone();
        let caller = async move {
            let started = Instant::now();
            let ended = match split {
                LoopSplit::Static => port_loop(&queue, (blocks, rounds), body).await,
                LoopSplit::Dynamic => parallel_loop(&queue, degree, (blocks, rounds), body).await,
            };
            tell.post(ended.map(|()| started.elapsed()))
                .expect("a port without receivers refuses nobody");
        };
        spawn(&self.queue.handle(), caller).map_err(|refused| refused.reason.to_string())?;
        told.recv_blocking().said()?
    }
}

/// The port loop: port, handler and latch are made once; a round is a post for each block and the
/// wait for the end.
async fn port_loop(
    queue: &DispatcherQueue,
    (blocks, rounds): (usize, u32),
    body: impl Fn(usize) + Send + Sync + 'static,
) -> Result<(), String> {
    let (indices, latch) = (Port::new(), Arc::new(Latch::new()));
    let counted = Arc::clone(&latch);
    Receive::persistent(&indices, move |block: usize| {
        body(block);
        counted.count_down();
    })
    .activate(queue)
    .said()?;
    for _ in 0..rounds {
        latch.set(blocks);
        (0..blocks)
            .try_for_each(|block| indices.post(block))
            .said()?;
        latch.end.recv().await;
    }
    Ok(())
}

/// The parallel loop: what its tasks share is made once; a round is `degree` tasks and the wait for
/// the end.
async fn parallel_loop(
    queue: &DispatcherQueue,
    degree: usize,
    (blocks, rounds): (usize, u32),
    body: impl Fn(usize) + Send + Sync + 'static,
) -> Result<(), String> {
    let shared = Arc::new(Shared {
        next: CachePadded::new(AtomicUsize::new(0)),
        latch: Latch::new(),
        body,
    });
    for _ in 0..rounds {
        // Relaxed: all tasks of the round before have counted down, and the new ones are queued
        // after it.
        shared.next.store(0, Ordering::Relaxed);
        shared.latch.set(degree);
        for _ in 0..degree {
            let shared = Arc::clone(&shared);
            let task = Task::new(move || shared.take_blocks(blocks));
            queue
                .enqueue(task)
                .map_err(|refused| refused.reason.to_string())?;
        }
        shared.latch.end.recv().await;
    }
    Ok(())
}

impl<F: Fn(usize)> Shared<F> {
    fn take_blocks(&self, blocks: usize) {
        // Relaxed: only that no two get the same block counts; what they have written is seen
        // through the latch.
        let take = || self.next.fetch_add(1, Ordering::Relaxed);
        let mine = std::iter::repeat_with(take).take_while(|&block| block < blocks);
        mine.for_each(&self.body);
        self.latch.count_down();
    }
}

impl Latch {
    fn new() -> Latch {
        Latch {
            left: CachePadded::new(AtomicUsize::new(0)),
            end: Port::new(),
        }
    }

    /// A round begins: nothing of it is queued yet.
    fn set(&self, count: usize) {
        // Relaxed: who counts down has been queued after it.
        self.left.store(count, Ordering::Relaxed);
    }

    fn count_down(&self) {
        // The last one has seen what all others wrote before they counted.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end
                .post(())
                .expect("a port without receivers refuses nobody");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_testkit::{patience, within};

    #[test]
    fn every_block_runs_once_a_round_whatever_their_number() {
        const ROUNDS: u32 = 3;
        for split in LoopSplit::BOTH {
            for threads in [1, 2, 3] {
                let loops = Loops::new(threads, false).unwrap();
                // As many as threads, fewer, more, none: the papers' latch ended with the first
                // only.
                for blocks in [threads, 1, 2, 7, 100, 0] {
                    let seen: Arc<[AtomicUsize]> =
                        (0..blocks).map(|_| AtomicUsize::new(0)).collect();
                    let here = Arc::clone(&seen);
                    // A block has run before as often as there were rounds before its own, all of
                    // whose blocks have ended.
                    let early = Arc::new(AtomicUsize::new(0));
                    let (ended, found) = (AtomicUsize::new(0), Arc::clone(&early));
                    let ran = loops.run(split, (blocks, ROUNDS), move |block| {
                        let before = here[block].fetch_add(1, Ordering::Relaxed) * blocks;
                        let is_early = ended.load(Ordering::Relaxed) < before;
                        found.fetch_add(usize::from(is_early), Ordering::Relaxed);
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                    assert!(ran.is_ok(), "{ran:?}");
                    let once =
                        |count: &AtomicUsize| count.load(Ordering::Relaxed) == ROUNDS as usize;
                    assert!(
                        seen.iter().all(once) && early.load(Ordering::Relaxed) == 0,
                        "{split:?}, {threads} threads, {blocks} blocks: {seen:?}, {early:?} too early"
                    );
                }
            }
        }
    }

    #[test]
    fn a_loop_does_not_hang_when_blocks_are_fewer_or_more_than_threads() {
        within(patience(), || {
            let loops = Loops::new(2, false).unwrap();
            for split in LoopSplit::BOTH {
                for blocks in [1, 3] {
                    assert!(loops.run(split, (blocks, 100), |_| ()).is_ok());
                }
            }
        });
    }
}
