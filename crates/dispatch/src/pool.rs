//! What the workers of a dispatcher and its queues share: their sleep, and what has changed.

use crate::blocking::Blocking;
use crate::route::{self, ExceptionRoute};
use crate::sleep::WorkerSleep;
use crate::stall::StallWatch;
use crate::waiting::WaitRegistry;
use motet_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use motet_sync::{CachePadded, Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Pool {
    workers: usize,
    pub(crate) sleep: WorkerSleep,
    pub(crate) exceptions: Arc<ExceptionRoute>,
    pub(crate) blocking: Arc<Blocking>,
    /// There when handlers that hold their worker are to be told.
    pub(crate) watch: Option<Arc<StallWatch>>,
    /// By worker: how often it found work at another.
    stolen: Box<[CachePadded<AtomicU64>]>,
    /// How long a waiting async task looks before it sleeps.
    pub(crate) wake_cost: Duration,
    pub(crate) registry: Arc<WaitRegistry>,
    /// Goes up when the set of queues changes, the workers are to let go of what they keep, or the
    /// pool is stopped.
    version: AtomicUsize,
    stopped: AtomicBool,
    idle: Idle,
}

/// Who is told when every worker sleeps.
#[derive(Default)]
struct Idle {
    hook: Mutex<Option<Arc<IdleHook>>>,
    lock: Mutex<()>,
    reached: Condvar,
}

/// Called when every worker sleeps.
pub(crate) type IdleHook = dyn Fn() + Send + Sync;

impl Pool {
    /// A pool that watches nobody.
    #[cfg(test)]
    pub(crate) fn new(workers: usize) -> Self {
        let blocking = Blocking::new("model", 1, Duration::ZERO);
        Pool::with(workers, blocking, None, crate::SpinWait::WAKE_COST)
    }

    pub(crate) fn with(
        workers: usize,
        blocking: Arc<Blocking>,
        watch: Option<Arc<StallWatch>>,
        wake_cost: Duration,
    ) -> Self {
        let exceptions = Arc::clone(&blocking.exceptions);
        let registry = Arc::new(WaitRegistry::new(workers, &exceptions));
        Pool {
            workers,
            sleep: WorkerSleep::new(workers),
            exceptions,
            blocking,
            watch,
            stolen: (0..workers).map(|_| CachePadded::default()).collect(),
            wake_cost,
            registry,
            version: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            idle: Idle::default(),
        }
    }

    /// Called by worker `index` only.
    pub(crate) fn stole(&self, index: usize) {
        self.stolen[index].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stolen_by(&self, index: usize) -> u64 {
        self.stolen[index].load(Ordering::Relaxed)
    }

    /// The number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// A number that changes when workers must look at the set of queues, or whether they are to
    /// stop.
    #[inline]
    pub(crate) fn version(&self) -> usize {
        self.version.load(Ordering::Acquire)
    }

    /// Tells the workers that something has changed.
    pub(crate) fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
        self.sleep.notify_all();
    }

    /// Has the workers let go of the references that they keep, before their next tasks. Those that
    /// sleep keep none.
    pub(crate) fn let_go(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Lets the workers end.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.changed();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(crate) fn set_idle_hook(&self, hook: Arc<IdleHook>) {
        let before = self.idle.hook.lock().replace(hook);
        // Outside the lock: its destructor is the program's.
        drop(before);
    }

    /// Called by the last worker to fall asleep. A hook that panics must not take the worker with
    /// it, which is on the list of sleepers already.
    pub(crate) fn went_idle(&self) {
        let hook = self.idle.hook.lock().clone();
        if let Some(hook) = hook {
            route::guarded("on_idle", &[&self.exceptions], || hook());
        }
        // Whoever waits has either not looked yet or is woken.
        drop(self.idle.lock.lock());
        self.idle.reached.notify_all();
    }

    /// Waits until `idle` says so; it is asked again each time every worker sleeps.
    pub(crate) fn wait_idle(&self, idle: impl Fn() -> bool) {
        let mut guard = self.idle.lock.lock();
        while !idle() {
            guard = self.idle.reached.wait(guard);
        }
    }
}
