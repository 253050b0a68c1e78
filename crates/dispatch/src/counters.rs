//! What a queue counts.
//!
//! Each worker counts on its own cache line, without atomic read-modify-write: only that worker
//! writes there. Threads that are not workers share one line.

use motet_sync::CachePadded;
use motet_sync::atomic::{AtomicU64, Ordering};

/// A look at the counters of a queue. The numbers are exact when the dispatcher is idle; while it
/// works they belong to slightly different moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueueCounters {
    /// Tasks queued so far, those discarded included (CCR's `ScheduledTaskCount` also counts
    /// refused ones: add `refused`). An async task counts each time it is woken.
    pub scheduled: u64,
    /// Tasks taken by workers so far.
    pub executed: u64,
    /// Tasks handed back because the queue was full, its rate exceeded, or it was stopped.
    pub refused: u64,
    /// Tasks that the queue's policy has discarded.
    pub discarded: u64,
    /// How often somebody began to wait for room in a throttling queue.
    pub throttled: u64,
}

impl QueueCounters {
    /// Tasks queued and not taken yet.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.scheduled
            .saturating_sub(self.executed)
            .saturating_sub(self.discarded)
    }
}

/// A look at the counters of a worker; see
/// [`Dispatcher::worker_counters`](crate::Dispatcher::worker_counters).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WorkerCounters {
    /// Tasks taken so far, from all queues.
    pub executed: u64,
    /// How often it found work at another worker when it had none.
    pub stolen: u64,
    /// How often it went to sleep.
    pub parked: u64,
    /// How often it was woken.
    pub woken: u64,
}

#[derive(Debug)]
pub(crate) struct DispatcherCounters {
    workers: Box<[CachePadded<Shard>]>,
    outside: CachePadded<Shard>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    scheduled: AtomicU64,
    executed: AtomicU64,
}

impl DispatcherCounters {
    pub(crate) fn new(workers: usize) -> Self {
        DispatcherCounters {
            workers: (0..workers).map(|_| CachePadded::default()).collect(),
            outside: CachePadded::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// Called by worker `index` only.
    #[inline]
    pub(crate) fn scheduled_by(&self, index: usize) {
        bump(&self.workers[index].scheduled);
    }

    /// Called by worker `index` only.
    #[inline]
    pub(crate) fn executed_by(&self, index: usize) {
        bump(&self.workers[index].executed);
    }

    pub(crate) fn scheduled_outside(&self) {
        self.outside.scheduled.fetch_add(1, Ordering::Relaxed);
    }

    /// Tasks taken back from a stopped queue.
    pub(crate) fn returned(&self, count: usize) {
        self.outside
            .executed
            .fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Tasks that worker `index` has taken.
    pub(crate) fn executed_of(&self, index: usize) -> u64 {
        self.workers[index].executed.load(Ordering::Relaxed)
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> QueueCounters {
        let shards = || self.workers.iter().chain([&self.outside]);
        // Executed first: a task counted there was counted as scheduled before.
        let executed = shards()
            .map(|shard| shard.executed.load(Ordering::Acquire))
            .sum();
        QueueCounters {
            scheduled: shards()
                .map(|shard| shard.scheduled.load(Ordering::Acquire))
                .sum(),
            executed,
            refused: self.refused.load(Ordering::Relaxed),
            ..QueueCounters::default()
        }
    }
}

/// Adds one to a counter that only the calling thread writes.
#[inline]
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
}
