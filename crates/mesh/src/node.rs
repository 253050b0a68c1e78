//! A node of the mesh: what a program holds.

use crate::calling::Server;
use crate::calls::Request;
use crate::core::{CHANGES, Core};
use crate::export::{PortExport, served};
use crate::flow::{BeforeLeaving, Hub};
use crate::listening::listen;
use crate::log::{LogWriter, SampleLog, new_id};
use crate::peers::{KnownPeer, PeerChange};
use crate::remote_port::RemotePort;
use crate::start_from::LogPlace;
use crate::subscribe_config::SubscribeConfig;
use crate::subscription::Subscription;
use crate::topic::Topic;
use crate::{CallError, Carrier, Class, Deed, Key, LogConfig, LogError, MeshError, PeerInfo};
use crate::{MeshRights, PeerName, Qos, SubscriptionInfo, TopicInfo};
use motet_dispatch::Enqueue;
use motet_ports::{Port, Subscription as Changes};
use motet_sync::FirstPanic;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::type_name;
use std::fmt;
use std::sync::{Arc, Weak};

/// A member of a mesh: publishes, subscribes, calls and answers. Clones are the same node.
///
/// What it does by itself runs on the queue that it is given: on a
/// [`Replay`](motet_dispatch::Replay) its runs repeat. The node leaves when the last of its clones
/// is dropped, or when it is told to. Who drops that one waits for another thread that sends for
/// the node, at most 200 ms.
///
/// Outside of a replay short frames of peers are taken by the carrier's thread that brings them, if
/// the queue is not suspended. Samples and requests go to their ports there. So predicates,
/// handlers on an [`Inline`](motet_dispatch::Inline) queue, and destructors of what a port drops,
/// may run on that thread: they must be quick and must not block. Nothing goes to that peer
/// meanwhile, which takes the link for broken in the end.
///
/// ```
/// use motet_dispatch::{Dispatcher, QueueConfig};
/// use motet_mesh::{Node, Qos, SubscribeConfig};
/// use std::sync::Arc;
///
/// let dispatcher = Dispatcher::new(1);
/// let node = Node::alone("here", Arc::new(dispatcher.queue(QueueConfig::default())));
/// let levels = node.subscribe::<f64>("tank/*/level", &SubscribeConfig::default())?;
/// let level = node.topic::<f64>("tank/3/level", Qos::latest(16))?;
/// let published = level.publish(2.5)?;
/// assert_eq!((published.number, published.subscribers), (1, 1));
/// let sample = levels.port().recv_blocking()?;
/// assert_eq!((*sample.value, sample.number, sample.gap), (2.5, 1, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Node {
    inner: Arc<Leave>,
}

/// Leaves with the last clone.
struct Leave {
    core: Arc<Core>,
}

impl Node {
    /// A node whose links are those of `carrier`. `incarnation` must differ each time a node of
    /// this name starts: the time, or a random number.
    #[must_use]
    pub fn join(carrier: &Arc<dyn Carrier>, incarnation: u64, queue: Arc<dyn Enqueue>) -> Self {
        let core = Core::new(
            carrier.name(),
            incarnation,
            Some(Arc::clone(carrier)),
            queue,
        );
        listen(&core, carrier);
        Node {
            inner: Arc::new(Leave { core }),
        }
    }

    /// A node without links: its topics lead to subscriptions of this process.
    #[must_use]
    pub fn alone(name: &str, queue: Arc<dyn Enqueue>) -> Self {
        let core = Core::new(PeerName::new(name), 0, None, queue);
        Node {
            inner: Arc::new(Leave { core }),
        }
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.inner.core
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &PeerName {
        self.inner.core.name()
    }

    /// What this node may do in the mesh. What goes beyond it is an error here, and its peers would
    /// refuse it.
    #[must_use]
    pub fn rights(&self) -> &MeshRights {
        self.inner.core.rights()
    }

    /// The queue that the node's tasks run on.
    #[must_use]
    pub fn queue(&self) -> &Arc<dyn Enqueue> {
        self.inner.core.queue()
    }

    /// A topic of this node. Several topics, also of several nodes, may have one key: each numbers
    /// its own samples.
    ///
    /// # Errors
    /// [`MeshError`]: `key` is no key without wildcards, the node may not publish under it, a
    /// subscription here wants another type, there are too many topics, `qos` is durable, or the
    /// node has left.
    pub fn topic<T: Serialize + Send + Sync + 'static>(
        &self,
        key: &str,
        qos: Qos,
    ) -> Result<Topic<T>, MeshError> {
        if qos.class == Class::Durable {
            return Err(LogError::NoDirectory.into());
        }
        let key = Key::plain(key)?;
        self.inner.core.may(Deed::Publish, &key)?;
        self.add_topic(key, qos, None)
    }

    /// A [durable](Class::Durable) topic of this node, whose samples lie in a directory. A
    /// publisher that is started again with the directory goes on with the numbers: subscribers
    /// that were there before miss nothing, and get nothing twice.
    ///
    /// The last file of the log is read first, and the end of it cut off if a record was not
    /// written to its end: [`LogInfo::cut_off`](crate::LogInfo::cut_off). Of older files the first
    /// and the last bytes are read. How much of the log is kept [`LogConfig`] says.
    ///
    /// ```
    /// use motet_dispatch::{Dispatcher, QueueConfig};
    /// use motet_mesh::{LogConfig, Node, Qos, StartFrom, SubscribeConfig};
    /// use std::sync::Arc;
    ///
    /// let directory = std::env::temp_dir().join(format!("motet-doc-{}", std::process::id()));
    /// let log = LogConfig::in_directory(&directory);
    /// let dispatcher = Dispatcher::new(1);
    /// let node = Node::alone("here", Arc::new(dispatcher.queue(QueueConfig::default())));
    /// let orders = node.durable_topic::<u32>("orders", Qos::durable(64), &log)?;
    /// orders.publish(7)?;
    /// // It is on the disk, and who comes later gets it.
    /// let all = SubscribeConfig { from: StartFrom::All, ..SubscribeConfig::default() };
    /// let late = node.subscribe::<u32>("orders", &all)?;
    /// assert_eq!(*late.port().recv_blocking()?.value, 7);
    /// # node.leave();
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Node::topic`], and [`MeshError::Log`]: another publisher has the log, it is damaged, or
    /// of another topic, or `qos` is not [`Qos::durable`].
    pub fn durable_topic<T: Serialize + Send + Sync + 'static>(
        &self,
        key: &str,
        qos: Qos,
        log: &LogConfig,
    ) -> Result<Topic<T>, MeshError> {
        let key = Key::plain(key)?;
        if qos.class != Class::Durable {
            return Err(LogError::NotDurable.into());
        }
        // Before a log is made for it.
        self.inner.core.may(Deed::Publish, &key)?;
        let clock = self.inner.core.queue().clock();
        let topic = (key.as_str(), type_name::<T>());
        let opened = SampleLog::open(log, topic, || new_id(&clock, &log.directory))?;
        let writer = LogWriter::new(opened, clock)?;
        self.add_topic(key, qos, Some(writer))
    }

    fn add_topic<T: Serialize + Send + Sync + 'static>(
        &self,
        key: Key,
        qos: Qos,
        log: Option<LogWriter>,
    ) -> Result<Topic<T>, MeshError> {
        let core = &self.inner.core;
        let hub: Arc<dyn Hub> = Arc::clone(core) as _;
        core.add_topic(|id| {
            let topic = Topic::new(&hub, id, (key, qos), log);
            let shared = topic.shared();
            (topic, shared as _)
        })
    }

    /// Samples of all topics, here and on peers, whose keys match `pattern`.
    ///
    /// # Errors
    /// [`MeshError`]: `pattern` is no key, the node may not subscribe to it, a topic here has
    /// another type, there are too many subscriptions, or the node has left.
    pub fn subscribe<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        pattern: &str,
        config: &SubscribeConfig,
    ) -> Result<Subscription<T>, MeshError> {
        let (core, pattern) = (&self.inner.core, Key::new(pattern)?);
        core.may(Deed::Subscribe, &pattern)?;
        let hub: Arc<dyn Hub> = Arc::clone(core) as _;
        core.add_subscription(|id| {
            let subscription = Subscription::new(&hub, id, pattern, config);
            let shared = subscription.shared();
            (subscription, shared as _)
        })
    }

    /// Answers calls under `key`, which may have wildcards: each request is posted to `port`.
    ///
    /// # Errors
    /// [`MeshError`]: `key` is no key, the node may not answer calls under it, there are too many
    /// servers, or the node has left.
    pub fn serve<Q, A>(&self, key: &str, port: &Port<Request<Q, A>>) -> Result<Server, MeshError>
    where
        Q: DeserializeOwned + Send + 'static,
        A: Serialize + 'static,
    {
        self.inner.core.serve(Key::new(key)?, port)
    }

    /// Asks one of those that serve `key`, in turn.
    ///
    /// # Cancellation
    /// Dropping the future takes the call back: its server sees that it is no longer wanted.
    ///
    /// # Errors
    /// [`CallError`]: nobody serves the key, the node may not call it, the server is lost or does
    /// not answer, a value cannot be written or read, or the node has left.
    pub async fn call<Q: Serialize, A: DeserializeOwned>(
        &self,
        key: &str,
        value: &Q,
    ) -> Result<A, CallError> {
        let key = Key::plain(key)?;
        Arc::clone(&self.inner.core).call((key, None), value).await
    }

    /// As [`Node::call`], of one node: others that serve the key are not asked.
    pub(crate) async fn call_only<Q: Serialize, A: DeserializeOwned>(
        &self,
        (key, node): (&str, &PeerName),
        value: &Q,
    ) -> Result<A, CallError> {
        let asked = (Key::plain(key)?, Some(node));
        Arc::clone(&self.inner.core).call(asked, value).await
    }

    /// Exports `port` to all nodes: they take items from it as a [`RemotePort`]. Receivers of this
    /// node may take items too. Of several nodes that export a port under one key, one is asked, in
    /// turn.
    ///
    /// A taker that asks again, since its link broke, is answered as before: of each of the last
    /// 16,384 takers the last 1,024 reservations are remembered, of all together 262,144. Those are
    /// 16 bytes each. Of each other node 4,096 takers wait for items; those beyond them ask again
    /// each second.
    ///
    /// # Errors
    /// [`MeshError`]: `key` is no key without wildcards, the node may not answer calls under
    /// `KEY/.port` or below it, there are too many servers, or the node has left.
    pub fn export<T: Serialize + Send + 'static>(
        &self,
        key: &str,
        port: &Port<T>,
    ) -> Result<PortExport, MeshError> {
        self.inner.core.export(Key::plain(key)?, port)
    }

    /// The port that some node exports under `key`.
    ///
    /// # Errors
    /// [`MeshError`]: `key` is no key without wildcards, or the node may not call `KEY/.port`.
    pub fn remote_port<T: DeserializeOwned>(&self, key: &str) -> Result<RemotePort<T>, MeshError> {
        let (core, key) = (&self.inner.core, Key::plain(key)?);
        core.may(Deed::Call, &Key::plain(&served(&key))?)?;
        Ok(RemotePort::new(core, key))
    }

    pub(crate) fn before_leaving(&self, who: Weak<dyn BeforeLeaving>) {
        self.inner.core.before_leaving(who);
    }

    /// All peers that this node has had a link to.
    #[must_use]
    pub fn peers(&self) -> Vec<PeerInfo> {
        let state = self.inner.core.state.lock();
        let info = |(name, peer): (&PeerName, &KnownPeer)| PeerInfo {
            name: name.clone(),
            up: peer.greeted,
            rights: peer.rights.clone(),
            refused: peer.refused,
            subscriptions: peer
                .wants
                .values()
                .filter(|(.., place)| *place != LogPlace::Observe)
                .map(|(pattern, ..)| pattern.clone())
                .collect(),
            servers: peer.servers.values().cloned().collect(),
        };
        state.peers.iter().map(info).collect()
    }

    /// The topics of this node, in the order in which they began.
    #[must_use]
    pub fn topics(&self) -> Vec<TopicInfo> {
        let topics = self.inner.core.state.lock().all_topics();
        topics.iter().map(|topic| topic.info()).collect()
    }

    /// The subscriptions of this node, in the order in which they began.
    #[must_use]
    pub fn subscriptions(&self) -> Vec<SubscriptionInfo> {
        let subscriptions = self.inner.core.state.lock().all_subscriptions();
        let infos = subscriptions.iter().map(|subscription| subscription.info());
        infos.collect()
    }

    /// What happens to peers from now on. The last 1024 changes wait.
    pub fn peer_changes(&self) -> Changes<PeerChange> {
        let (capacity, overflow) = CHANGES;
        self.inner.core.changes.subscribe(capacity, overflow)
    }

    /// Ends the node's topics, subscriptions and calls, and tells the peers. What waits for
    /// subscribers is not sent.
    pub fn leave(&self) {
        self.inner.core.leave();
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        panics.catch(|| self.core.leave());
        panics.catch(|| self.core.is_gone());
        panics.resume();
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("name", self.name())
            .field("peers", &self.peers().len())
            .finish_non_exhaustive()
    }
}
