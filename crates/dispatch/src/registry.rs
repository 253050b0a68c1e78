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

    /// Whether some worker could take a task now. What only one worker can take is not looked at.
    pub(crate) fn has_work(&self) -> bool {
        self.queues.lock().iter().any(|queue| queue.has_work())
    }
}
