//! What the tasks of a parallel loop share, and how the last of them ends it.

use super::error::LoopError;
use crate::reply::ReplyPort;
use motet_dispatch::{Enqueue, Exception};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering};
use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::vec::IntoIter;

/// Blocks that follow one another, and the number of the first.
pub(super) struct Chunk<T> {
    pub(super) first: usize,
    pub(super) blocks: Vec<T>,
}

/// What the tasks of a loop share. The last to let go of it answers the caller.
pub(super) struct Shared<B, R, W: Send + 'static> {
    queue: Arc<dyn Enqueue>,
    work: Mutex<Work<B, R>>,
    /// A body has panicked, or nobody wants the result.
    given_up: Arc<AtomicBool>,
    /// Makes the result of all chunks, and answers. There until the end.
    end: Option<End<R, W>>,
}

struct End<R, W: Send + 'static> {
    finish: Finish<R, W>,
    reply: ReplyPort<Outcome<W>>,
}

pub(super) type Outcome<W> = Result<W, LoopError>;
type Finish<R, W> = Box<dyn FnOnce(Vec<Chunk<R>>) -> W + Send + Sync>;

struct Work<B, R> {
    /// Those that no task has taken.
    chunks: IntoIter<Chunk<B>>,
    done: Vec<Chunk<R>>,
    all: usize,
    /// The first reason why not all will be done.
    error: Option<LoopError>,
}

impl<B, R, W: Send + 'static> Shared<B, R, W> {
    /// The work of a loop, before its tasks.
    pub(super) fn new(
        queue: &Arc<dyn Enqueue>,
        chunks: Vec<Chunk<B>>,
        given_up: &Arc<AtomicBool>,
        finish: impl FnOnce(Vec<Chunk<R>>) -> W + Send + Sync + 'static,
        reply: ReplyPort<Outcome<W>>,
    ) -> Arc<Self> {
        let all = chunks.len();
        Arc::new(Shared {
            queue: Arc::clone(queue),
            work: Mutex::new(Work {
                chunks: chunks.into_iter(),
                done: Vec::with_capacity(all),
                all,
                error: None,
            }),
            given_up: Arc::clone(given_up),
            end: Some(End {
                finish: Box::new(finish),
                reply,
            }),
        })
    }

    /// A task: takes chunk after chunk.
    pub(super) fn take_chunks(&self, body: &impl Fn(B) -> R) {
        // Relaxed: a hint to stop early.
        while !self.given_up.load(Ordering::Relaxed) {
            let Some(Chunk { first, blocks }) = self.next() else {
                return;
            };
            let run = || blocks.into_iter().map(body).collect();
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(blocks) => self.work.lock().done.push(Chunk { first, blocks }),
                Err(payload) => {
                    self.given_up.store(true, Ordering::Relaxed);
                    self.note(self.panicked(payload));
                }
            }
        }
    }

    fn next(&self) -> Option<Chunk<B>> {
        self.work.lock().chunks.next()
    }

    fn panicked(&self, payload: Box<dyn Any + Send>) -> LoopError {
        LoopError::Panicked(Exception::new(payload, self.queue.name()))
    }

    /// The first panic counts.
    pub(super) fn note(&self, error: LoopError) {
        let before = {
            let mut work = self.work.lock();
            match work.error {
                Some(LoopError::Panicked(_)) => Some(error),
                _ => work.error.replace(error),
            }
        };
        // Outside the lock: a payload may hold user code.
        drop(before);
    }
}

/// The last task has ended, or was dropped.
impl<B, R, W: Send + 'static> Drop for Shared<B, R, W> {
    fn drop(&mut self) {
        let Some(End { finish, reply }) = self.end.take() else {
            return;
        };
        let (done, error) = {
            let mut work = self.work.lock();
            let done = mem::take(&mut work.done);
            let complete = done.len() == work.all;
            (complete.then_some(done), work.error.take())
        };
        let outcome = match done {
            Some(done) => catch_unwind(AssertUnwindSafe(|| finish(done)))
                .map_err(|payload| self.panicked(payload)),
            None => Err(error.unwrap_or(LoopError::Dropped)),
        };
        if let Err(unwanted) = reply.post(outcome)
            && let Err(LoopError::Panicked(exception)) = unwanted.into_item()
        {
            // Nobody awaits the loop: the panic goes the way of a task's.
            self.queue.raise(exception);
        }
    }
}

/// The results in the order of the blocks.
pub(super) fn results<R>(mut chunks: Vec<Chunk<R>>) -> Vec<R> {
    chunks.sort_unstable_by_key(|chunk| chunk.first);
    chunks.into_iter().flat_map(|chunk| chunk.blocks).collect()
}

/// Combines neighbours in pairs, then pairs of pairs.
pub(super) fn in_pairs<R>(mut values: Vec<R>, combine: &impl Fn(R, R) -> R) -> Option<R> {
    while values.len() > 1 {
        let (mut left, mut above) = (values.into_iter(), Vec::new());
        while let Some(first) = left.next() {
            above.push(match left.next() {
                Some(second) => combine(first, second),
                None => first,
            });
        }
        values = above;
    }
    values.pop()
}
