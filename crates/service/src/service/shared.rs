//! What the services of a node share.

use super::dependents::dependents;
use super::places::{Places, bucket, has_ended};
use super::slot::Common;
use super::threads::{OwnQueue, ServiceDispatchers};
use super::{Any, AnyServed, ServiceKind};
use crate::budget::Budget;
use crate::deadlines::Deadlines;
use crate::lifecycle::Lifecycle;
use crate::report::{NodeReporter, Record};
use crate::spec::Spec;
use crate::store::StoreWriter;
use crate::{Fault, FaultCode};
use motet_dispatch::{Causality, DispatcherQueue, Enqueue, QueueConfig};
use motet_sync::{Mutex, Serial};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// What the services of a node share.
pub(crate) struct NodeShared {
    pub(crate) name: String,
    /// A random number, by which it is told from nodes of other processes.
    pub(crate) token: u64,
    /// Where services run.
    pub(crate) queue: Arc<dyn Enqueue>,
    /// Where the node's own services run.
    pub(crate) own: Arc<dyn Enqueue>,
    pub(crate) blocking: Option<DispatcherQueue>,
    pub(crate) deadlines: Deadlines,
    limit: Duration,
    pub(crate) kinds: BTreeMap<&'static str, Arc<dyn ServiceKind>>,
    pub(crate) writer: Option<Arc<StoreWriter>>,
    pub(crate) budget: Arc<Budget>,
    /// What `/sys/mesh` tells of.
    pub(crate) mesh: Option<motet_mesh::Node>,
    /// There as soon as the node's own services are.
    pub(super) reporter: Mutex<Option<Arc<dyn NodeReporter>>>,
    pub(crate) ids: Serial,
    /// Numbers of captured calls.
    pub(crate) traces: Serial,
    /// The jobs that can be cancelled, by the numbers of their services.
    pub(crate) jobs: Mutex<BTreeMap<u64, Causality>>,
    /// Which jobs carry out runs of workflows, by the path of their service and the run's name.
    pub(crate) runs: Mutex<BTreeMap<(Arc<str>, String), String>>,
    pub(super) begun: Instant,
    places: Mutex<Places>,
    pub(crate) dispatchers: Arc<ServiceDispatchers>,
    /// Begins to end the node in order.
    ends_by: fn(Arc<NodeShared>),
    /// Why an essential service has ended the node.
    failure: Mutex<Option<Fault>>,
}

impl NodeShared {
    #[expect(clippy::too_many_arguments, reason = "it is made in one place")]
    pub(crate) fn new(
        name: String,
        queue: Arc<dyn Enqueue>,
        own: Arc<dyn Enqueue>,
        blocking: Option<DispatcherQueue>,
        deadlines: Deadlines,
        limit: Duration,
        kinds: BTreeMap<&'static str, Arc<dyn ServiceKind>>,
        writer: Option<Arc<StoreWriter>>,
        budget: Arc<Budget>,
        mesh: Option<motet_mesh::Node>,
        ends_by: fn(Arc<NodeShared>),
    ) -> Self {
        let begun = deadlines.clock().now();
        let dispatchers = Arc::new(ServiceDispatchers::new(Arc::clone(&budget)));
        NodeShared {
            name,
            // A process that was forked goes on with the random state of the other.
            token: RandomState::new().hash_one(std::process::id()),
            queue,
            own,
            blocking,
            deadlines,
            limit,
            kinds,
            writer,
            budget,
            mesh,
            reporter: Mutex::new(None),
            ids: Serial::new(),
            traces: Serial::new(),
            jobs: Mutex::default(),
            runs: Mutex::default(),
            begun,
            places: Mutex::default(),
            dispatchers,
            ends_by,
            failure: Mutex::new(None),
        }
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Milliseconds since the node has started, by its clock.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        let now = self.deadlines.clock().now();
        let elapsed = now.saturating_duration_since(self.begun);
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }

    /// Wakes those who wait for a change in the services.
    pub(crate) fn wake(&self) {
        let wakers = std::mem::take(&mut self.places.lock().wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The life of a service has changed.
    pub(crate) fn changed(&self, common: &Common) {
        self.wake();
        let _telling = common.telling.lock();
        let life = common.life.lock().clone();
        let told = matches!(
            life,
            Lifecycle::Running
                | Lifecycle::Restarting
                | Lifecycle::Failed { .. }
                | Lifecycle::Draining
        );
        if let (true, true, Some(reporter)) = (told, common.listed, self.reporter()) {
            let record = Record {
                path: common.path.to_string(),
                kind: common.kind.to_owned(),
                contract: common.uri.to_owned(),
                lifecycle: life,
            };
            reporter.recorded(record);
        }
    }

    /// Takes a place for a service.
    pub(crate) fn place(&self, path: &str, service: Any) -> Result<(), Fault> {
        let mut places = self.places.lock();
        places.check_free(path)?;
        places.services.insert(path.to_owned(), service);
        Ok(())
    }

    /// From now on no service takes a place of which `is_kept` says that something else is there.
    pub(crate) fn keep_places(&self, is_kept: fn(&str) -> bool) {
        self.places.lock().is_kept = Some(is_kept);
    }

    /// Whether a service could take this place now.
    pub(crate) fn check_free(&self, path: &str) -> Result<(), Fault> {
        self.places.lock().check_free(path)
    }

    pub(crate) fn is_taken(&self, path: &str) -> bool {
        self.places.lock().services.contains_key(path)
    }

    /// The service serves; `false` when the node has ended meanwhile.
    pub(crate) fn set_served(&self, common: &Common, served: Arc<dyn AnyServed>) -> bool {
        let mut places = self.places.lock();
        let here = places.services.get(&*common.path);
        // One that was dropped meanwhile has no place any more, and another may have it.
        if here.is_some_and(|service| service.common().id == common.id) {
            places.served.insert(common.path.to_string(), served);
        }
        !places.closed
    }

    /// Those at work that have the service at this path as a partner, or one that has: each behind
    /// its partners.
    pub(crate) fn dependents(&self, path: &str) -> Vec<Arc<dyn AnyServed>> {
        let order = dependents(&self.services(), path);
        let places = self.places.lock();
        let served = order.iter().filter_map(|path| places.served.get(path));
        served.cloned().collect()
    }

    /// The service has ended, as its life tells by now, or has not begun.
    pub(crate) fn remove(&self, path: &str) {
        let places = self.places.lock();
        let service = places.services.get(path).cloned();
        let is_served = places.served.contains_key(path);
        drop(places);
        // One that was dropped while it started was told of, and answered, too.
        let common = service.as_ref().map(|service| service.common());
        let common = common.filter(|common| is_served || common.has_ended());
        if let (Some(common), Some(reporter)) = (common, self.reporter())
            && common.listed
        {
            // Before another can take the place, which is told of in its turn.
            let _telling = common.telling.lock();
            reporter.removed(path);
        }
        let mut places = self.places.lock();
        if let Some(common) = common {
            places.keep_version(common);
        }
        let gone = (places.services.remove(path), places.served.remove(path));
        let wakers = std::mem::take(&mut places.wakers);
        drop(places);
        drop(gone);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The least version of a service that is made at this path: no service before it had that.
    pub(crate) fn first_version(&self, path: &str) -> u64 {
        let places = self.places.lock();
        places.versions.get(&bucket(path)).copied().unwrap_or(0)
    }

    pub(crate) fn service(&self, path: &str) -> Result<Any, Fault> {
        let found = self.places.lock().services.get(path).cloned();
        found.ok_or_else(|| {
            let reason =
                "there is no service at this path; `/sys/directory` lists those that are there";
            Fault::new(FaultCode::UnknownService, reason).of_service(path)
        })
    }

    /// The service whose path is the longest front of `path`, and what is behind it.
    pub(crate) fn front<'a>(&self, path: &'a str) -> Option<(Any, &'a str)> {
        let places = self.places.lock();
        let mut end = path.len();
        loop {
            let (front, rest) = path.split_at(end);
            if let Some(service) = places.services.get(front) {
                return Some((service.clone(), rest));
            }
            end = front.rfind('/').filter(|end| *end > 0)?;
        }
    }

    pub(crate) fn services(&self) -> Vec<Any> {
        self.places.lock().services.values().cloned().collect()
    }

    /// Waits until `look` finds something in the services, looking again with each change.
    ///
    /// # Errors
    /// The node ends.
    pub(crate) async fn until<R>(
        &self,
        mut look: impl FnMut(&[Any]) -> Option<Result<R, Fault>>,
    ) -> Result<R, Fault> {
        poll_fn(|cx| {
            let mut places = self.places.lock();
            if places.ends {
                return Poll::Ready(Err(has_ended()));
            }
            // Before the look: what changes after it wakes.
            places.wakers.push(cx.waker().clone());
            drop(places);
            match look(&self.services()) {
                Some(found) => Poll::Ready(found),
                None => Poll::Pending,
            }
        })
        .await
    }

    pub(crate) async fn create_kind(self: &Arc<Self>, spec: Spec) -> Result<Any, Fault> {
        let Some(kind) = self.kinds.get(spec.kind.as_str()) else {
            let known: Vec<&str> = self.kinds.keys().copied().collect();
            let reason = format!(
                "no type {:?} is registered; there are {}",
                spec.kind,
                known.join(", ")
            );
            return Err(Fault::new(FaultCode::UnknownService, reason));
        };
        kind.create(self, spec).await
    }

    /// A queue with threads of its own, for the service of this number.
    ///
    /// # Errors
    /// They are too many, or the system does not give them.
    pub(crate) fn own_threads(
        &self,
        service: u64,
        name: &str,
        threads: usize,
    ) -> Result<OwnQueue, Fault> {
        if self.deadlines.clock().is_virtual() {
            return Ok((Arc::clone(&self.queue), None));
        }
        let config = QueueConfig {
            timescale: self.deadlines.clock().timescale(),
            ..QueueConfig::named(name)
        };
        self.dispatchers.start(service, threads, config)
    }

    /// The node begins to end: services that wait for their partners do not come to serve.
    pub(crate) fn begin_end(&self) {
        self.places.lock().ends = true;
        self.wake();
    }

    /// An essential service has failed for good: the node ends in order.
    pub(crate) fn fail(self: &Arc<Self>, why: Fault) {
        let is_first = {
            let mut failure = self.failure.lock();
            let is_first = failure.is_none();
            failure.get_or_insert(why);
            is_first
        };
        if is_first {
            (self.ends_by)(Arc::clone(self));
        }
    }

    /// Why an essential service has ended the node.
    pub(crate) fn failure(&self) -> Option<Fault> {
        self.failure.lock().clone()
    }

    /// Whether the node ends.
    pub(crate) fn ends(&self) -> bool {
        self.places.lock().ends
    }

    /// The node ends: no service is there any more.
    pub(crate) fn take_all(&self) -> Vec<Arc<dyn AnyServed>> {
        let mut places = self.places.lock();
        places.closed = true;
        let served = std::mem::take(&mut places.served);
        let services = std::mem::take(&mut places.services);
        drop(places);
        drop(services);
        served.into_values().collect()
    }

    /// Cancels the work of the job that is the service of this number.
    pub(crate) fn cancel_job(&self, id: u64) {
        let cancel = self.jobs.lock().remove(&id);
        if let Some(cancel) = cancel {
            cancel.cancel("the job was cancelled");
        }
    }
}
