//! What the tasks of a parallel loop share, and how the last of them ends it.

use super::error::LoopError;
use crate::reply::ReplyPort;
use motet_dispatch::{Enqueue, Exception};
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_sync::{CachePadded, Mutex};
use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What one task has computed.
pub(super) struct GatherShare<R> {
    /// Chunk by chunk, in the order of the chunks.
    results: Vec<R>,
    /// The number of each chunk, and how many results it gave.
    chunks: Vec<(usize, usize)>,
}

/// What the tasks of a loop share. The last to let go of it answers the caller.
pub(super) struct Shared<B, R, W: Send + 'static> {
    queue: Arc<dyn Enqueue>,
    /// Blocks that follow one another. Each is taken by one task.
    chunks: Box<[Mutex<Vec<B>>]>,
    /// The first chunk that no task has taken.
    next: CachePadded<AtomicUsize>,
    done: Mutex<Done<R>>,
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
type Finish<R, W> = Box<dyn FnOnce(Vec<GatherShare<R>>) -> W + Send + Sync>;

struct Done<R> {
    shares: Vec<GatherShare<R>>,
    /// The first reason why not all will be done.
    error: Option<LoopError>,
}

impl<B, R, W: Send + 'static> Shared<B, R, W> {
    /// The work of a loop, before its tasks.
    pub(super) fn new(
        queue: &Arc<dyn Enqueue>,
        chunks: impl Iterator<Item = Vec<B>>,
        given_up: &Arc<AtomicBool>,
        finish: impl FnOnce(Vec<GatherShare<R>>) -> W + Send + Sync + 'static,
        reply: ReplyPort<Outcome<W>>,
    ) -> Arc<Self> {
        Arc::new(Shared {
            queue: Arc::clone(queue),
            chunks: chunks.map(Mutex::new).collect(),
            next: CachePadded::new(AtomicUsize::new(0)),
            done: Mutex::new(Done {
                shares: Vec::new(),
                error: None,
            }),
            given_up: Arc::clone(given_up),
            end: Some(End {
                finish: Box::new(finish),
                reply,
            }),
        })
    }

    /// How many chunks there are.
    pub(super) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// A task: takes chunk after chunk.
    pub(super) fn take_chunks(&self, body: &impl Fn(B) -> R) {
        let mut share = GatherShare {
            results: Vec::new(),
            chunks: Vec::new(),
        };
        let computed = catch_unwind(AssertUnwindSafe(|| {
            while let Some((number, blocks)) = self.next() {
                share.chunks.push((number, blocks.len()));
                share.results.extend(blocks.into_iter().map(body));
            }
        }));
        match computed {
            Ok(()) => self.done.lock().shares.push(share),
            Err(payload) => {
                self.given_up.store(true, Ordering::Relaxed);
                self.note(self.panicked(payload));
            }
        }
    }

    /// A chunk, with its number.
    fn next(&self) -> Option<(usize, Vec<B>)> {
        // Relaxed: a hint to stop early.
        if self.given_up.load(Ordering::Relaxed) {
            return None;
        }
        // Relaxed: it only keeps two tasks from the same chunk, whose lock orders the rest.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let chunk = self.chunks.get(number)?;
        Some((number, mem::take(&mut *chunk.lock())))
    }

    fn panicked(&self, payload: Box<dyn Any + Send>) -> LoopError {
        LoopError::Panicked(Exception::new(payload, self.queue.name()))
    }

    /// The first panic counts.
    pub(super) fn note(&self, error: LoopError) {
        let before = {
            let mut done = self.done.lock();
            match done.error {
                Some(LoopError::Panicked(_)) => Some(error),
                _ => done.error.replace(error),
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
        let (shares, error) = {
            let mut done = self.done.lock();
            (mem::take(&mut done.shares), done.error.take())
        };
        let chunks: usize = shares.iter().map(|share| share.chunks.len()).sum();
        let outcome = if chunks == self.chunks() {
            catch_unwind(AssertUnwindSafe(|| finish(shares)))
                .map_err(|payload| self.panicked(payload))
        } else {
            Err(error.unwrap_or(LoopError::Dropped))
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
pub(super) fn results<R>(shares: Vec<GatherShare<R>>) -> Vec<R> {
    let (mut order, mut parts) = (Vec::new(), Vec::new());
    for (part, GatherShare { results, chunks }) in shares.into_iter().enumerate() {
        let chunks = chunks.into_iter();
        order.extend(chunks.map(|(number, count)| (number, count, part)));
        parts.push(results.into_iter());
    }
    // Each task has taken its chunks in their order.
    order.sort_unstable();
    let mut all = Vec::with_capacity(parts.iter().map(ExactSizeIterator::len).sum());
    for (_, count, part) in order {
        all.extend(parts[part].by_ref().take(count));
    }
    all
}

/// Combines neighbours in pairs, then pairs of pairs.
pub(super) fn tree_reduce<R>(mut values: Vec<R>, combine: &impl Fn(R, R) -> R) -> Option<R> {
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
