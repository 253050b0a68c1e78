//! Threads that services have of their own. They end when nothing of their service runs any more:
//! neither itself, nor a job or an independent operation of it.

use crate::budget::{Budget, TakenCores};
use crate::{Fault, FaultCode};
use motet_dispatch::{Dispatcher, DispatcherConfig, Enqueue, QueueConfig};
use motet_sync::Mutex;
use motet_sync::thread::spawn_named;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The dispatchers of the services of a node that have their own, by the numbers of the services.
pub(crate) struct ServiceDispatchers {
    budget: Arc<Budget>,
    all: Mutex<BTreeMap<u64, OwnDispatcher>>,
}

/// The dispatcher of a service, and the cores that its threads take. They are given back when the
/// threads have ended: it is dropped first.
struct OwnDispatcher {
    _dispatcher: Dispatcher,
    _cores: TakenCores,
}

/// Held by what runs on the threads of a service: they end with the last.
pub(crate) struct OwnThreads {
    service: u64,
    all: Arc<ServiceDispatchers>,
}

/// The queue of a service, and what keeps its threads if they are its own.
pub(crate) type OwnQueue = (Arc<dyn Enqueue>, Option<Arc<OwnThreads>>);

/// So many threads a service may have for itself: whoever writes another number errs.
const MOST: usize = 1024;

impl ServiceDispatchers {
    /// Those of a node with these cores.
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        ServiceDispatchers {
            budget,
            all: Mutex::default(),
        }
    }

    /// So many threads, at least one, for the service of this number, and a queue that they serve.
    ///
    /// # Errors
    /// They are too many, or the system does not give them.
    pub(crate) fn start(
        self: &Arc<Self>,
        service: u64,
        threads: usize,
        config: QueueConfig,
    ) -> Result<OwnQueue, Fault> {
        if threads > MOST {
            let reason = format!("{threads} threads are too many; a service has {MOST} at most");
            return Err(Fault::new(FaultCode::MessageNotSupported, reason));
        }
        let threads = threads.max(1);
        let started = Dispatcher::with(DispatcherConfig {
            threads,
            ..DispatcherConfig::default()
        });
        let dispatcher = started.map_err(|why| {
            let reason = format!("the system gives no threads for the service: {why}");
            Fault::new(FaultCode::InsufficientResources, reason)
        })?;
        let queue = dispatcher.queue(config).handle();
        let own = OwnDispatcher {
            _dispatcher: dispatcher,
            _cores: self.budget.take(threads),
        };
        self.all.lock().insert(service, own);
        let all = Arc::clone(self);
        Ok((queue, Some(Arc::new(OwnThreads { service, all }))))
    }

    /// The node ends: they all do.
    pub(crate) fn end(&self) {
        let all = std::mem::take(&mut *self.all.lock());
        end_apart(all.into_values().collect());
    }
}

impl Drop for OwnThreads {
    fn drop(&mut self) {
        let own = self.all.all.lock().remove(&self.service);
        end_apart(own.into_iter().collect());
    }
}

/// Ends them on another thread: whoever has them end may be a handler of one of them.
fn end_apart(dispatchers: Vec<OwnDispatcher>) {
    if !dispatchers.is_empty() {
        let ended = spawn_named("motet-node-end", move || drop(dispatchers));
        drop(ended);
    }
}
