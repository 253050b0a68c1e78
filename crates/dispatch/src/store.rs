//! Where the tasks of a queue wait that discards its oldest: one place for all, in strict order.
//!
//! "The oldest" has a meaning only where all tasks wait in one line, so such a queue uses neither
//! the workers' deques nor the injector. It pays a lock for each task; other queues do not know of
//! it.
//!
//! Tasks at home on a worker are in a sub-queue of their own. In each sub-queue the tasks that must
//! be kept are apart from the others, so that the oldest that may go is found at once.

use crate::Task;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::num::NonZeroUsize;

pub(crate) struct TaskStore {
    depth: NonZeroUsize,
    stored: Mutex<Stored>,
    /// The lengths of the sub-queues, for looking without the lock. Written under it.
    lengths: Box<[AtomicUsize]>,
}

/// The first sub-queue is everyone's, the others are at home on one worker each.
struct Stored {
    sub_queues: Box<[SubQueue]>,
    /// The number of the next task.
    next: u64,
    /// How many tasks there are that may be discarded.
    discardable: usize,
}

#[derive(Default)]
struct SubQueue {
    discardable: VecDeque<(u64, Task)>,
    kept: VecDeque<(u64, Task)>,
}

impl TaskStore {
    pub(crate) fn new(depth: NonZeroUsize, workers: usize) -> Self {
        let sub_queues = workers + 1;
        TaskStore {
            depth,
            stored: Mutex::new(Stored {
                sub_queues: (0..sub_queues).map(|_| SubQueue::default()).collect(),
                next: 0,
                discardable: 0,
            }),
            lengths: (0..sub_queues).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    /// Stores a task, for one worker or any; one that is not `kept` takes room. Returns the oldest
    /// such task if there are too many.
    pub(crate) fn push(&self, task: Task, home: Option<usize>, kept: bool) -> Option<Task> {
        let mut stored = self.stored.lock();
        let mut discarded = None;
        if !kept {
            if stored.discardable == self.depth.get() {
                discarded = self.pop_from(
                    &mut stored,
                    |sub_queue| &mut sub_queue.discardable,
                    |_| true,
                );
            } else {
                stored.discardable += 1;
            }
        }
        let number = stored.next;
        stored.next += 1;
        let at = home.map_or(0, |worker| worker + 1);
        let sub_queue = &mut stored.sub_queues[at];
        let tasks = if kept {
            &mut sub_queue.kept
        } else {
            &mut sub_queue.discardable
        };
        tasks.push_back((number, task));
        self.lengths[at].fetch_add(1, Ordering::Release);
        discarded
    }

    /// Takes the oldest task that `worker` may run.
    pub(crate) fn pop(&self, worker: usize) -> Option<Task> {
        if !self.has_any_for(worker) {
            return None;
        }
        self.pop_where(|sub_queue| sub_queue == 0 || sub_queue == worker + 1)
    }

    /// Takes the oldest task that only `worker` may run.
    pub(crate) fn pop_home(&self, worker: usize) -> Option<Task> {
        self.pop_where(|sub_queue| sub_queue == worker + 1)
    }

    /// Takes everything, oldest first, but what is at home on a worker that has not `ended`.
    pub(crate) fn take_all(&self, ended: impl Fn(usize) -> bool) -> Vec<Task> {
        let may_go = |sub_queue: usize| sub_queue == 0 || ended(sub_queue - 1);
        std::iter::from_fn(|| self.pop_where(may_go)).collect()
    }

    /// Whether there is a task that any worker may run.
    pub(crate) fn has_any(&self) -> bool {
        self.lengths[0].load(Ordering::Acquire) > 0
    }

    /// Whether there is a task that `worker` may run.
    pub(crate) fn has_any_for(&self, worker: usize) -> bool {
        self.has_any() || self.lengths[worker + 1].load(Ordering::Acquire) > 0
    }

    fn pop_where(&self, sub_queues: impl Fn(usize) -> bool) -> Option<Task> {
        let mut stored = self.stored.lock();
        let front = |tasks: &VecDeque<(u64, Task)>| tasks.front().map_or(u64::MAX, |task| task.0);
        let oldest = |stored: &Stored, of: fn(&SubQueue) -> &VecDeque<(u64, Task)>| {
            let candidates = stored.sub_queues.iter().enumerate();
            let fronts = candidates.filter(|(at, _)| sub_queues(*at));
            fronts.map(|(_, sub_queue)| front(of(sub_queue))).min()
        };
        if oldest(&stored, |sub_queue| &sub_queue.kept)
            < oldest(&stored, |sub_queue| &sub_queue.discardable)
        {
            return self.pop_from(&mut stored, |sub_queue| &mut sub_queue.kept, sub_queues);
        }
        self.pop_from(
            &mut stored,
            |sub_queue| &mut sub_queue.discardable,
            sub_queues,
        )
        .inspect(|_| stored.discardable -= 1)
    }

    /// Takes the oldest task of one kind from some sub-queues.
    fn pop_from(
        &self,
        stored: &mut Stored,
        kind: fn(&mut SubQueue) -> &mut VecDeque<(u64, Task)>,
        sub_queues: impl Fn(usize) -> bool,
    ) -> Option<Task> {
        let candidates = stored.sub_queues.iter_mut().enumerate();
        let candidates = candidates.filter(|(at, _)| sub_queues(*at));
        let (at, tasks) = candidates
            .map(|(at, sub_queue)| (at, kind(sub_queue)))
            .filter(|(_, tasks)| !tasks.is_empty())
            .min_by_key(|(_, tasks)| tasks[0].0)?;
        let (_, task) = tasks.pop_front()?;
        self.lengths[at].fetch_sub(1, Ordering::Release);
        Some(task)
    }
}
