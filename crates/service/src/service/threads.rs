//! Threads that services have of their own. They end when nothing of their service runs any more:
//! neither itself, nor a job or an independent operation of it.

use motet_dispatch::{Dispatcher, DispatcherQueue, QueueConfig};
use motet_sync::Mutex;
use motet_sync::thread::spawn_named;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The dispatchers of the services of a node that have their own, by the numbers of the services.
#[derive(Default)]
pub(crate) struct ServiceDispatchers(Mutex<BTreeMap<u64, Dispatcher>>);

/// Held by what runs on the threads of a service: they end with the last.
pub(crate) struct OwnThreads {
    service: u64,
    all: Arc<ServiceDispatchers>,
}

impl ServiceDispatchers {
    /// So many threads for the service of this number, and a queue that they serve.
    pub(crate) fn start(
        self: &Arc<Self>,
        service: u64,
        threads: usize,
        config: QueueConfig,
    ) -> (DispatcherQueue, Arc<OwnThreads>) {
        let dispatcher = Dispatcher::new(threads);
        let queue = dispatcher.queue(config);
        self.0.lock().insert(service, dispatcher);
        let all = Arc::clone(self);
        (queue, Arc::new(OwnThreads { service, all }))
    }

    /// The node ends: they all do.
    pub(crate) fn end(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        end_apart(all.into_values().collect());
    }
}

impl Drop for OwnThreads {
    fn drop(&mut self) {
        let own = self.all.0.lock().remove(&self.service);
        end_apart(own.into_iter().collect());
    }
}

/// Ends them on another thread: whoever has them end may be a handler of one of them.
fn end_apart(dispatchers: Vec<Dispatcher>) {
    if !dispatchers.is_empty() {
        let ended = spawn_named("motet-node-end", move || drop(dispatchers));
        drop(ended);
    }
}
