//! Overlay: members that know of each other, keep values together, and talk in rooms.
//!
//! ```text
//!   Overlay::put ─► the members that hold the key ── Store on each of them ──┐
//!   members come and go ─► a task tells holders what they lack ◄─────────────┘
//!   Room ─► a topic and a subscription under one key
//! ```
//!
//! Everything is made of what a [`Node`] offers: a topic for presence, calls for values, topics for
//! rooms.

mod error;
mod holding;
mod members;
mod room;
mod store;

pub use error::OverlayError;
pub use members::{Member, MemberChange};
pub use room::Room;
pub use store::Version;

use crate::flow::BeforeLeaving;
use crate::frame::{decode, encode};
use crate::node::Node;
use crate::subscribe_config::SubscribeConfig;
use crate::subscription::Subscription;
use crate::topic::Topic;
use crate::{Key, PeerName, Qos, Server};
use holding::{HolderAnswer, HolderCall, HolderRequest};
use members::Members;
use motet_dispatch::{JoinHandle, beyond_depth, spawn_with_handle};
use motet_ports::{BroadcastPort, Overflow, Port, PortConfig, Subscription as Changes};
use motet_sync::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use store::{Entry, Store, ranked};

/// The most bytes of one value.
pub const MAX_VALUE: usize = 8 << 20;

/// How a member keeps values. All members of an overlay have the same
/// [`replicas`](OverlayConfig::replicas).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverlayConfig {
    /// How many members hold each key; 1 at least. A value is lost when as many are lost before the
    /// others have made new copies.
    pub replicas: usize,
    /// The most bytes of keys and values on this member.
    pub most_bytes: usize,
    /// How long it is known that a value was removed. A member that comes back later may bring the
    /// value back.
    pub keep_removed: Duration,
}

impl Default for OverlayConfig {
    fn default() -> Self {
        OverlayConfig {
            replicas: 2,
            most_bytes: 256 << 20,
            keep_removed: Duration::from_secs(600),
        }
    }
}

/// What a [`put`](Overlay::put) has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOutcome {
    /// The version that the key has now: newer than that of the value that was put, if another
    /// member was faster.
    pub version: Version,
    /// How many members have it. If they are fewer than the replicas, the others get it when they
    /// can be reached.
    pub copies: usize,
}

/// A member of an overlay. Clones are the same member; it leaves with the last of them, or with its
/// node.
///
/// Values have keys. Those of a key are held by [`replicas`](OverlayConfig::replicas) members,
/// which all members know by the key and the names of the members. When members come, go or are cut
/// off, the others copy what they hold to its new holders. When two halves that were cut apart are
/// joined, the newer version of each key stays.
///
/// Not promised:
/// - that of two puts at the same time a certain one wins;
/// - that a put is seen by members which the writer cannot reach;
/// - that a member that leaves hands over what only it has.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
/// use motet_mesh::{LinkConfig, Node, Overlay, OverlayConfig, SimulatedNetwork};
/// use motet_ports::Port;
/// use std::sync::Arc;
///
/// let replay = Replay::new(7);
/// let network = SimulatedNetwork::new(7, LinkConfig::default(), replay.clock());
/// let members = ["a", "b", "c"].map(|name| {
///     let node = Node::join(&network.carrier(name), 1, Arc::new(replay.queue(QueueConfig::named(name))));
///     Overlay::join(&node, "shared", OverlayConfig::default()).unwrap()
/// });
/// replay.run();
/// let [a, _, c] = members.clone();
/// let found = Port::new();
/// let out = found.clone();
/// let queue: Arc<dyn Enqueue> = Arc::new(replay.queue(QueueConfig::default()));
/// spawn(&queue, async move {
///     a.put("best/route", &vec![3_u32, 1, 2]).await.unwrap();
///     let _ = out.post(c.get::<Vec<u32>>("best/route").await);
/// })?;
/// replay.run();
/// assert_eq!(found.test().unwrap()?, Some(vec![3, 1, 2]));
/// assert_eq!(members[1].members().len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Overlay {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    _server: Server,
    tasks: Vec<JoinHandle<()>>,
}

/// What a member knows and its tasks share.
pub(crate) struct Shared {
    node: Node,
    name: String,
    config: OverlayConfig,
    /// What this member says of itself.
    own: Topic<Option<String>>,
    /// Told when holders may lack something.
    unrest: Port<()>,
    changes: BroadcastPort<MemberChange>,
    /// Lock order: members, then store.
    members: Mutex<Members>,
    store: Mutex<Store>,
}

impl Overlay {
    /// Makes the node a member of the overlay with this name. It takes part from then on: it
    /// answers for the keys that it holds.
    ///
    /// # Errors
    /// [`OverlayError::Key`]: the name of the overlay or of the node is no part of a key.
    /// [`OverlayError::Mesh`]: the node has left, or has too many topics.
    pub fn join(node: &Node, name: &str, config: OverlayConfig) -> Result<Self, OverlayError> {
        let key = |part: &str| format!("overlay/{name}/{part}");
        let me = node.name();
        Key::plain(&key("x"))?;
        let config = OverlayConfig {
            replicas: config.replicas.max(1),
            ..config
        };
        let peer_changes = node.peer_changes();
        let quiet = SubscribeConfig::default();
        let said = node.subscribe::<Option<String>>(&key("presence/*"), &quiet)?;
        let own = node.topic::<Option<String>>(&key(&format!("presence/{me}")), latest())?;
        let shared = Arc::new(Shared {
            node: node.clone(),
            name: name.to_owned(),
            config,
            own,
            unrest: Port::with(PortConfig {
                capacity: Some(std::num::NonZeroUsize::MIN),
                overflow: Overflow::DropNewest,
            }),
            changes: BroadcastPort::new(),
            members: Mutex::new(Members::new(me.clone())),
            store: Mutex::new(Store::new(config.most_bytes)),
        });
        let member: Arc<dyn BeforeLeaving> = Arc::clone(&shared) as _;
        node.before_leaving(Arc::downgrade(&member));
        let asked = Port::new();
        let server = node.serve(&shared.store_of(me), &asked)?;
        for peer in node.peers().into_iter().filter(|peer| peer.up) {
            shared.members.lock().is_up(&peer.name);
        }
        let overlay = Overlay {
            inner: Arc::new(Inner {
                tasks: Shared::begin(&shared, peer_changes, said, asked)?,
                shared,
                _server: server,
            }),
        };
        overlay.say("");
        Ok(overlay)
    }

    /// The members that can be reached, and this one, in order of their names.
    #[must_use]
    pub fn members(&self) -> Vec<PeerName> {
        self.shared().members.lock().names()
    }

    /// The other members, and what they say of themselves.
    #[must_use]
    pub fn presence(&self) -> Vec<Member> {
        self.shared().members.lock().others()
    }

    /// Tells the others something of this member: "away", a load, an address.
    pub fn say(&self, status: &str) {
        // The latest values are never refused; a node that has left has nobody to tell.
        let _ = self.shared().own.publish(Some(status.to_owned()));
    }

    /// What happens to members from now on. The last 1024 changes wait.
    pub fn changes(&self) -> Changes<MemberChange> {
        self.shared().changes.subscribe(1024, Overflow::DropOldest)
    }

    /// The members that hold a key, the first first. All members that know of the same members say
    /// the same.
    ///
    /// # Errors
    /// [`OverlayError::Key`].
    pub fn lookup(&self, key: &str) -> Result<Vec<PeerName>, OverlayError> {
        Key::plain(key)?;
        Ok(self.shared().holders(key, self.shared().config.replicas))
    }

    /// Writes the value of a key on the members that hold it.
    ///
    /// # Cancellation
    /// Dropping the future leaves the value on some members, from where it may spread.
    ///
    /// # Errors
    /// [`OverlayError`]: nobody that holds the key has kept the value, or no version is newer than
    /// that of the key.
    pub async fn put<T: Serialize + ?Sized>(
        &self,
        key: &str,
        value: &T,
    ) -> Result<PutOutcome, OverlayError> {
        let bytes = encode(&value).map_err(|why| OverlayError::NotWritable(why.to_string()))?;
        if bytes.len() > MAX_VALUE {
            return Err(OverlayError::TooLarge {
                bytes: bytes.len(),
                limit: MAX_VALUE,
            });
        }
        self.write(key, Some(bytes)).await
    }

    /// Removes the value of a key.
    ///
    /// # Cancellation
    /// As [`put`](Overlay::put).
    ///
    /// # Errors
    /// As [`put`](Overlay::put).
    pub async fn remove(&self, key: &str) -> Result<PutOutcome, OverlayError> {
        self.write(key, None).await
    }

    async fn write(&self, key: &str, value: Option<Vec<u8>>) -> Result<PutOutcome, OverlayError> {
        Key::plain(key)?;
        let shared = self.shared();
        // The newest that the holders have: what is written is newer.
        let before = shared
            .ask_holders(key, &HolderRequest::Version(key.to_owned()))
            .await;
        let known: Vec<&Version> = before.0.iter().filter_map(HolderAnswer::version).collect();
        let version = Version::after(known.iter().copied(), shared.node.name().as_str());
        if known.iter().any(|other| **other >= version) {
            let key = key.to_owned();
            return Err(OverlayError::Last { key });
        }
        let entry = Entry { version, value };
        let keep = HolderRequest::Keep(vec![(key.to_owned(), entry)]);
        let (told, failed) = shared.ask_holders(key, &keep).await;
        let versions: Vec<&Version> = told.iter().filter_map(HolderAnswer::version).collect();
        if versions.len() < shared.config.replicas {
            // An error: a pass over the store waits to begin already.
            let _ = shared.unrest.post(());
        }
        match versions.iter().max() {
            Some(&version) => Ok(PutOutcome {
                version: version.clone(),
                copies: versions.len(),
            }),
            None => Err(failed.unwrap_or(OverlayError::Full {
                member: shared.node.name().clone(),
            })),
        }
    }

    /// The newest value of a key that the members which hold it have.
    ///
    /// # Cancellation
    /// Dropping the future changes nothing.
    ///
    /// # Errors
    /// [`OverlayError`]: nobody that holds the key answers, or the value is of another type.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, OverlayError> {
        Key::plain(key)?;
        let (told, failed) = self
            .shared()
            .ask_holders(key, &HolderRequest::Get(key.to_owned()))
            .await;
        if told.is_empty() {
            return match failed {
                Some(why) => Err(why),
                None => Ok(None),
            };
        }
        let entries = told.into_iter().filter_map(HolderAnswer::entry);
        let newest = entries.max_by(|a, b| a.version.cmp(&b.version));
        match newest.and_then(|entry| entry.value) {
            Some(bytes) => decode(&bytes)
                .map(Some)
                .map_err(|why| OverlayError::Unreadable(why.to_string())),
            None => Ok(None),
        }
    }

    /// A room: what one says in it all who are in it hear, in the order of each. `depth` messages
    /// wait for a slow listener.
    ///
    /// # Errors
    /// [`OverlayError`]: the name is no part of a key, another room of this node has another type,
    /// or there are too many.
    pub fn room<T>(&self, name: &str, depth: u32) -> Result<Room<T>, OverlayError>
    where
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let shared = self.shared();
        let key = format!("overlay/{}/room/{name}", shared.name);
        Room::enter(shared, &key, depth)
    }

    /// How many values this member keeps.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.shared().store.lock().len()
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }
}

impl Shared {
    /// Starts what the member does by itself.
    fn begin(
        shared: &Arc<Shared>,
        peer_changes: Changes<crate::PeerChange>,
        said: Subscription<Option<String>>,
        asked: Port<HolderCall>,
    ) -> Result<Vec<JoinHandle<()>>, OverlayError> {
        let queue = &beyond_depth(shared.node.queue());
        let weak = || Arc::downgrade(shared);
        let started = [
            spawn_with_handle(queue, holding::answer(weak(), asked)),
            spawn_with_handle(queue, holding::hear_changes(weak(), peer_changes)),
            spawn_with_handle(queue, holding::hear_members(weak(), said)),
            spawn_with_handle(queue, holding::tell_holders(weak(), shared.unrest.clone())),
        ];
        let tasks = started.into_iter().collect::<Result<_, _>>();
        // A queue that takes no task is stopped: the node has ended with its dispatcher.
        tasks.map_err(|_| OverlayError::Mesh(crate::MeshError::Left))
    }

    /// The key under which a member answers for what it holds.
    fn store_of(&self, member: &PeerName) -> String {
        format!("overlay/{}/store/{member}", self.name)
    }

    fn holders(&self, key: &str, count: usize) -> Vec<PeerName> {
        ranked(key, &self.members.lock().names(), count)
    }
}

/// A member that says something new takes the place of what it said.
fn latest() -> Qos {
    Qos::latest(1).retaining(1)
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.shared.node_leaves();
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay")
            .field("name", &self.shared().name)
            .field("members", &self.members().len())
            .field("kept", &self.kept())
            .finish_non_exhaustive()
    }
}
