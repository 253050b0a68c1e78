//! Nodes: where services live.

use crate::budget::Budget;
use crate::create::{self, Create, KindOf};
use crate::deadlines::Deadlines;
use crate::service::{Any, NodeShared, ServiceKind, typed};
use crate::spec::Spec;
use crate::store::StoreWriter;
use crate::system;
use crate::{AnyClient, Client, Contract, ContractClient, Fault, Service, ServiceInfo, Store};
use motet_dispatch::{Causalities, spawn};
use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, QueueConfig, Replay, Timescale};
use motet_sync::FirstPanic;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A node: services that know each other by their paths. The handle is cheap to clone; the node
/// ends with the last one, at once, or in order by [`Node::shutdown`].
///
/// Of its own it has the services under `/sys`; see [`system`].
#[derive(Clone)]
pub struct Node(Arc<Handle>);

/// Ends the node when the last handle goes.
struct Handle(Arc<NodeShared>);

/// A node that is going to start.
#[must_use = "a node does nothing until it is started"]
pub struct NodeBuilder {
    name: String,
    kinds: BTreeMap<&'static str, Arc<dyn ServiceKind>>,
    store: Option<Arc<dyn Store>>,
    limit: Duration,
    timescale: Timescale,
    cores: usize,
    mesh: Option<motet_mesh::Node>,
}

/// What runs the tasks of a node: a [`Dispatcher`], or a [`Replay`] for virtual time and schedules
/// that repeat.
pub trait Host {
    /// A queue.
    fn queue(&self, config: QueueConfig) -> Arc<dyn Enqueue>;

    /// A queue whose dispatcher has threads for calls that block; `None` when such calls run where
    /// they are made.
    fn blocking(&self) -> Option<DispatcherQueue>;
}

impl Host for Dispatcher {
    fn queue(&self, config: QueueConfig) -> Arc<dyn Enqueue> {
        Dispatcher::queue(self, config).handle()
    }

    fn blocking(&self) -> Option<DispatcherQueue> {
        Some(Dispatcher::queue(self, QueueConfig::named("blocking")))
    }
}

impl Host for Replay {
    fn queue(&self, config: QueueConfig) -> Arc<dyn Enqueue> {
        Replay::queue(self, config).handle()
    }

    fn blocking(&self) -> Option<DispatcherQueue> {
        None
    }
}

impl NodeBuilder {
    /// Lets the node make services of this type.
    pub fn register<S: Service>(mut self) -> Self {
        self.kinds.insert(S::NAME, Arc::new(KindOf::<S>::new()));
        self
    }

    /// Where states last.
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// How long a call may take that does not say: 30 s unless said otherwise here.
    pub fn limit(mut self, span: Duration) -> Self {
        self.limit = span;
        self
    }

    /// What all spans of the node are multiplied by.
    pub fn timescale(mut self, timescale: Timescale) -> Self {
        self.timescale = timescale;
        self
    }

    /// How many cores there are for threads that services have for themselves and for the worlds of
    /// jobs: see [`Ranks`](crate::Ranks). All of the machine's unless said otherwise.
    pub fn cores(mut self, cores: usize) -> Self {
        self.cores = cores.max(1);
        self
    }

    /// The member of a mesh that `/sys/mesh` tells of: peers, topics, and which subscribers are
    /// slow.
    pub fn mesh(mut self, mesh: motet_mesh::Node) -> Self {
        self.mesh = Some(mesh);
        self
    }

    /// Starts the node.
    ///
    /// # Errors
    /// A fault when the host takes no task, or the store gets no thread.
    pub fn start(self, host: &impl Host) -> Result<Node, Fault> {
        let queue = |what: &str| {
            host.queue(QueueConfig {
                timescale: self.timescale,
                ..QueueConfig::named(&format!("{} {what}", self.name))
            })
        };
        let (services, own) = (queue("services"), queue("node"));
        let clock = services.clock();
        let writer = match self.store {
            Some(store) => Some(Arc::new(StoreWriter::new(store, clock.is_virtual())?)),
            None => None,
        };
        let shared = Arc::new(NodeShared::new(
            self.name,
            services,
            own,
            host.blocking(),
            Deadlines::new(&clock),
            self.limit,
            self.kinds,
            writer,
            Budget::new(self.cores),
            self.mesh,
            begin_shutdown,
        ));
        system::start(&shared)?;
        Ok(Node(Arc::new(Handle(shared))))
    }
}

impl Node {
    /// A node with this name.
    pub fn builder(name: &str) -> NodeBuilder {
        NodeBuilder {
            name: name.to_owned(),
            kinds: BTreeMap::new(),
            store: None,
            limit: Duration::from_secs(30),
            timescale: Timescale::default(),
            cores: motet_sync::thread::cores(),
            mesh: None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.0.name
    }

    /// The queue of its services: for work beside them, in the same time.
    #[must_use]
    pub fn queue(&self) -> Arc<dyn Enqueue> {
        Arc::clone(&self.0.0.queue)
    }

    /// Creates a service: finds its partners, loads its state, runs its start. Answers when it
    /// serves.
    ///
    /// # Errors
    /// [`DuplicateEntry`](crate::FaultCode::DuplicateEntry) when the path is taken;
    /// [`UnknownService`](crate::FaultCode::UnknownService) when a partner does not come;
    /// what the start says. Nothing is left then.
    pub async fn create<S: Service>(
        &self,
        service: Create<S>,
    ) -> Result<<S::Contract as Contract>::Client, Fault> {
        let slot = create::create::<S>(&self.0.0, service.spec?).await?;
        Ok(Client::here(slot).into())
    }

    /// Creates a service of a type that is known by its name.
    ///
    /// # Errors
    /// As [`Node::create`]; and when no such type is registered.
    pub async fn create_kind(&self, spec: Spec) -> Result<AnyClient, Fault> {
        self.0.0.create_kind(spec).await.map(AnyClient)
    }

    /// The client of the service at `path`.
    ///
    /// # Errors
    /// A fault when there is none, or it has another contract.
    pub fn client<K: ContractClient>(&self, path: &str) -> Result<K, Fault> {
        typed(self.0.0.service(path)?)
    }

    /// The service at `path`, whatever its contract.
    ///
    /// # Errors
    /// A fault when there is none.
    pub fn find(&self, path: &str) -> Result<AnyClient, Fault> {
        self.0.0.service(path).map(AnyClient)
    }

    /// The service whose path is `path`, or else the nearest above it, and what is behind that.
    ///
    /// ```
    /// # use motet_service::*;
    /// # let dispatcher = motet_dispatch::Dispatcher::new(1);
    /// let node = Node::builder("here").start(&dispatcher)?;
    /// let (log, rest) = node.find_front("/sys/log/entries/3").unwrap();
    /// assert_eq!((log.path(), rest), ("/sys/log", "/entries/3"));
    /// assert!(node.find_front("/nowhere").is_none());
    /// # Ok::<(), Fault>(())
    /// ```
    #[must_use]
    pub fn find_front<'a>(&self, path: &'a str) -> Option<(AnyClient, &'a str)> {
        let (service, rest) = self.0.0.front(path)?;
        Some((AnyClient(service), rest))
    }

    /// From now on no service is made at a path for which `is_kept` is true: whoever carries calls
    /// to this node answers there itself. The last one that is given counts.
    pub fn keep_paths(&self, is_kept: fn(&str) -> bool) {
        self.0.0.keep_places(is_kept);
    }

    /// Why the last commit to its store has failed; `None` if it has not, or there is no store. A
    /// change that is stored later ends it.
    #[must_use]
    pub fn store_fault(&self) -> Option<Fault> {
        self.0.0.writer.as_ref()?.fault()
    }

    /// The clients of all its services, by path.
    #[must_use]
    pub fn clients(&self) -> Vec<AnyClient> {
        self.0.0.services().into_iter().map(AnyClient).collect()
    }

    /// What all its services are, by path. Their schemas are written for each call: for less ask
    /// [`Node::clients`].
    #[must_use]
    pub fn services(&self) -> Vec<ServiceInfo> {
        let services = self.0.0.services();
        services.iter().map(|service| service.info()).collect()
    }

    /// Loads manifests, which are one composition: what the one names the other may have. One
    /// record that fails does not keep the others.
    ///
    /// The paths of files in them are sought where the process works, as those of manifests that
    /// come over a network are: those have no folder.
    ///
    /// # Errors
    /// A fault that names the line of a text that is no manifest.
    pub async fn load<T: AsRef<str>>(
        &self,
        manifests: impl IntoIterator<Item = T>,
    ) -> Result<Vec<crate::manifest::Loaded>, Fault> {
        self.load_from(manifests.into_iter().map(|text| (text, "")))
            .await
    }

    /// As [`Node::load`], of texts and the folders of their files: the paths of files in a manifest
    /// are sought in its folder.
    ///
    /// # Errors
    /// As [`Node::load`].
    pub async fn load_from<T: AsRef<str>, P: AsRef<Path>>(
        &self,
        manifests: impl IntoIterator<Item = (T, P)>,
    ) -> Result<Vec<crate::manifest::Loaded>, Fault> {
        let texts: Vec<(String, PathBuf)> = manifests
            .into_iter()
            .map(|(text, folder)| (text.as_ref().to_owned(), folder.as_ref().to_owned()))
            .collect();
        crate::manifest::load(&self.0.0, &texts).await
    }

    /// Ends all services, those that others have as partners last, then the node's own. What has
    /// not ended within ten seconds is left to the end of the node. Services that wait for their
    /// partners end at once: their creation answers [`Gone`](crate::FaultCode::Gone).
    pub async fn shutdown(&self) {
        shutdown(&self.0.0).await;
    }

    /// Waits until the node begins to end: by [`Node::shutdown`], or in order because an
    /// [essential](crate::Supervise::essential) service has failed for good, which
    /// [`Node::failure`] tells.
    pub async fn until_end(&self) {
        drop::<Result<(), Fault>>(self.0.0.until(|_| None).await);
    }

    /// Why an [essential](crate::Supervise::essential) service has ended the node, if one has.
    #[must_use]
    pub fn failure(&self) -> Option<Fault> {
        self.0.0.failure()
    }
}

/// As [`Node::shutdown`].
async fn shutdown(shared: &Arc<NodeShared>) {
    shared.begin_end();
    for service in in_order_of_end(shared) {
        let options = crate::Options {
            within: Some(Duration::from_secs(10)),
            ..crate::Options::default()
        };
        // One that does not end in time does not keep the others.
        drop(service.call("drop", crate::Value::Null, options).await);
    }
    end(shared);
}

/// As [`shutdown`], in a task of its own.
fn begin_shutdown(shared: Arc<NodeShared>) {
    let own = Arc::clone(&shared.own);
    let ending = async move { shutdown(&shared).await };
    // A queue that takes no task has ended. Under no causality: it is not skipped.
    drop(Causalities::none().run(|| spawn(&own, ending)));
}

/// The services that are not the node's own, in the order in which they end: who has partners
/// before them.
fn in_order_of_end(shared: &NodeShared) -> Vec<Any> {
    let mut left: BTreeMap<String, Any> = shared
        .services()
        .into_iter()
        .map(|service| (service.common().path.to_string(), service))
        .filter(|(path, _)| !path.starts_with("/sys/"))
        .collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let needed: BTreeSet<String> = left
            .values()
            .flat_map(|service| {
                let partners = service.common().partners.lock();
                partners.values().cloned().collect::<Vec<_>>()
            })
            .collect();
        let free = left.keys().find(|path| !needed.contains(*path));
        // Those that need each other end in the order of their paths.
        let next = free.or_else(|| left.keys().next()).cloned();
        order.extend(next.and_then(|path| left.remove(&path)));
    }
    order
}

fn end(shared: &Arc<NodeShared>) {
    shared.begin_end();
    let mut panics = FirstPanic::default();
    for served in shared.take_all() {
        // What one of them drops keeps no other from its end, nor the store.
        panics.catch(move || served.abandon());
    }
    // It holds services, which hold the node.
    shared.set_reporter(None);
    if let Some(writer) = &shared.writer {
        writer.close();
    }
    shared.dispatchers.end();
    panics.resume();
}

impl Drop for Handle {
    fn drop(&mut self) {
        end(&self.0);
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services = self.0.0.services();
        let paths: Vec<&str> = services
            .iter()
            .map(|service| &*service.common().path)
            .collect();
        f.debug_struct("Node")
            .field("name", &self.name())
            .field("services", &paths)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for NodeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBuilder")
            .field("name", &self.name)
            .field("kinds", &self.kinds.keys())
            .finish_non_exhaustive()
    }
}
