//! Loops over blocks in the papers' forms of code (E36): the port loop and the parallel loop. The examples `port_loop` and
//! `parallel_loop` of the facade explain them.

use motet_dispatch::{
    Dispatcher, DispatcherConfig, DispatcherQueue, Enqueue, QueueConfig, QueueError, Task,
};
use motet_ports::{Port, Receive};
use motet_sync::CachePadded;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

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
pub(crate) enum Split {
    /// Whoever writes the loop: a block is a message, and a handler starts for each.
    Static,
    /// The threads: each has one task, which takes one block after the other.
    Dynamic,
}

/// Blocks that are not done yet, and the port that is told when all are.
#[derive(Debug)]
struct Latch {
    left: CachePadded<AtomicUsize>,
    end: Port<()>,
}

impl Split {
    /// Both.
    pub(crate) const BOTH: [Split; 2] = [Split::Static, Split::Dynamic];

    /// The form of code that it stands for.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Split::Static => "motet static",
            Split::Dynamic => "motet dynamic",
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

    /// Runs `body` once for each block and returns when all have ended. Any number of blocks will do on any number
    /// of threads: what is counted are blocks.
    ///
    /// # Errors
    /// The queue has been closed.
    pub(crate) fn run(
        &self,
        split: Split,
        blocks: usize,
        body: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<(), String> {
        if blocks == 0 {
            return Ok(());
        }
        let end = Port::new();
        match split {
            Split::Static => self.ports(blocks, &end, body),
            Split::Dynamic => self.tasks(blocks, &end, body).map_err(|e| e.to_string()),
        }?;
        end.recv_blocking().map_err(|error| error.to_string())
    }

    /// The port loop.
    fn ports(
        &self,
        blocks: usize,
        end: &Port<()>,
        body: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<(), String> {
        let (indices, latch) = (Port::new(), Latch::new(blocks, end));
        Receive::persistent(&indices, move |block: usize| {
            body(block);
            latch.count_down();
        })
        .activate(&self.queue)
        .map_err(|error| error.to_string())?;
        (0..blocks).try_for_each(|block| indices.post(block).map_err(|error| error.to_string()))
    }

    /// The parallel loop.
    fn tasks(
        &self,
        blocks: usize,
        end: &Port<()>,
        body: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<(), QueueError> {
        let degree = self.threads.min(blocks);
        let shared = Arc::new((
            CachePadded::new(AtomicUsize::new(0)),
            Latch::new(degree, end),
            body,
        ));
        for _ in 0..degree {
            let shared = Arc::clone(&shared);
            let task = Task::new(move || {
                let (next, latch, body) = &*shared;
                // Relaxed: only that no two get the same block counts; what they have written is seen through the latch.
                let take = || next.fetch_add(1, Ordering::Relaxed);
                let mine = std::iter::repeat_with(take).take_while(|&block| block < blocks);
                mine.for_each(body);
                latch.count_down();
            });
            self.queue.enqueue(task).map_err(|refused| refused.reason)?;
        }
        Ok(())
    }
}

impl Latch {
    fn new(count: usize, end: &Port<()>) -> Latch {
        Latch {
            left: CachePadded::new(AtomicUsize::new(count)),
            end: end.clone(),
        }
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
    fn every_block_runs_once_whatever_their_number() {
        for split in Split::BOTH {
            for threads in [1, 2, 3] {
                let loops = Loops::new(threads, false).unwrap();
                // As many as threads, fewer, more, none: the papers' latch ended with the first only.
                for blocks in [threads, 1, 2, 7, 100, 0] {
                    let seen: Arc<[AtomicUsize]> =
                        (0..blocks).map(|_| AtomicUsize::new(0)).collect();
                    let here = Arc::clone(&seen);
                    let loops = &loops;
                    let ran = loops.run(split, blocks, move |block| {
                        here[block].fetch_add(1, Ordering::Relaxed);
                    });
                    assert_eq!(ran, Ok(()));
                    let once = seen.iter().all(|count| count.load(Ordering::Relaxed) == 1);
                    assert!(
                        once,
                        "{split:?}, {threads} threads, {blocks} blocks: {seen:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_loop_does_not_hang_when_blocks_are_fewer_or_more_than_threads() {
        within(patience(), || {
            let loops = Loops::new(2, false).unwrap();
            for split in Split::BOTH {
                for blocks in [1, 3] {
                    assert_eq!(loops.run(split, blocks, |_| ()), Ok(()));
                }
            }
        });
    }
}
