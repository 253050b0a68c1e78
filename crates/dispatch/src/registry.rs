//! The queues of a dispatcher, in the order they were made.

use crate::pool::Pool;
use crate::queue_core::QueueCore;
use motet_sync::Mutex;
use std::sync::Arc;

pub(crate) struct Registry {
    pub(crate) pool: Arc<Pool>,
    queues: Mutex<Vec<Arc<QueueCore>>>,
}

impl Registry {
    pub(crate) fn new(pool: Pool) -> Self {
        Registry {
            pool: Arc::new(pool),
            queues: Mutex::default(),
        }
    }

    /// Adds the queue that `make` makes for the next slot.
    pub(crate) fn add(&self, make: impl FnOnce(usize) -> Arc<QueueCore>) -> Arc<QueueCore> {
        let mut queues = self.queues.lock();
        let queue = make(queues.len());
        queues.push(Arc::clone(&queue));
        drop(queues);
        self.pool.changed();
        queue
    }

    /// The queues from slot `first` on.
    pub(crate) fn queues_from(&self, first: usize) -> Vec<Arc<QueueCore>> {
        self.queues.lock().get(first..).unwrap_or_default().to_vec()
    }

    /// Waits until nothing is queued that may run, and nothing runs.
    pub(crate) fn wait_idle(&self) {
        let sleep = &self.pool.sleep;
        self.pool
            .wait_idle(|| sleep.all_asleep().is_some() && !self.has_work());
    }

    /// Whether some worker could take a task now. What only one worker can take is not looked at.
    pub(crate) fn has_work(&self) -> bool {
        self.queues.lock().iter().any(|queue| queue.has_work())
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::Task;
    use crate::local::LocalQueue;
    use crate::queue_core::QueueConfig;
    use motet_sync::atomic::{AtomicBool, Ordering};
    use motet_sync::thread;

    /// The only worker, and what it has to do.
    struct Model {
        registry: Registry,
        ran: AtomicBool,
        ended: AtomicBool,
    }

    impl Model {
        /// Runs tasks and sleeps until all has ended.
        fn work(&self, local: &LocalQueue) {
            let (pool, queue) = (&self.registry.pool, &local.queue);
            let parker = pool.sleep.register(0);
            let ended = || self.ended.load(Ordering::Acquire);
            pool.sleep.start_search();
            while !ended() {
                if let Some(task) = queue.runs().then(|| local.pop()).flatten() {
                    let _last = pool.sleep.end_search();
                    task.run();
                    self.ran.store(true, Ordering::Release);
                    pool.sleep.start_search();
                    continue;
                }
                // It has found nothing, and the other thread goes on before it is on the list of
                // sleepers.
                thread::yield_now();
                let stir = || ended() || queue.runs() && local.has_work();
                pool.sleep.sleep(0, &parker, stir, || pool.went_idle());
            }
        }
    }

    /// Something to do comes while the worker falls asleep; whoever waits after that finds it done.
    fn waits_for(begin: fn(&LocalQueue), act: fn(&QueueCore)) {
        loom::model(move || {
            let model = Arc::new(Model {
                registry: Registry::new(Pool::new(1)),
                ran: AtomicBool::new(false),
                ended: AtomicBool::new(false),
            });
            let pool = Arc::clone(&model.registry.pool);
            let make = |slot| QueueCore::new(QueueConfig::default(), slot, pool);
            let queue = model.registry.add(make);
            let local = LocalQueue::new(Arc::clone(&queue), 0);
            begin(&local);
            let worker = thread::spawn({
                let model = Arc::clone(&model);
                move || model.work(&local)
            });
            thread::yield_now();
            act(&queue);
            model.registry.wait_idle();
            assert!(
                model.ran.load(Ordering::Acquire),
                "it is idle with a task queued"
            );
            model.ended.store(true, Ordering::Release);
            model.registry.pool.sleep.notify_all();
            worker.join().unwrap();
        });
    }

    #[test]
    fn loom_wait_idle_sees_what_is_left_for_a_worker_that_falls_asleep() {
        waits_for(|_| (), |queue| drop(queue.leave_for(0, Task::new(|| ()))));
    }

    #[test]
    fn loom_wait_idle_sees_what_a_worker_that_falls_asleep_has_of_a_queue_that_is_resumed() {
        let begin = |local: &LocalQueue| {
            local.queue.suspend();
            local.push_home(Task::new(|| ()));
        };
        waits_for(begin, QueueCore::resume);
    }
}
