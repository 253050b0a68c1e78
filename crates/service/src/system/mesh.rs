//! `/sys/mesh`.

use super::constructor::Nothing;
use crate::{Cx, Fault, Service, State, contract, data};
use motet_mesh::{PeerInfo, SubscriberInfo, SubscriptionInfo, TopicInfo};

/// What a member of a mesh tells of itself. Counts are since it joined; who asks twice has rates.
#[data]
pub struct MeshStatus {
    /// The name of the member.
    pub node: String,
    /// All nodes that it has had a link to.
    pub peers: Vec<MeshPeer>,
    /// What it publishes.
    pub topics: Vec<MeshTopic>,
    /// What it subscribes to.
    pub subscriptions: Vec<MeshSubscription>,
}

/// Another node of the mesh.
#[data]
pub struct MeshPeer {
    /// Its name.
    pub name: String,
    /// Whether it can be reached.
    pub up: bool,
    /// The patterns that it subscribes to.
    pub subscriptions: Vec<String>,
    /// The keys under which it answers calls.
    pub servers: Vec<String>,
}

/// A topic of the member.
#[data]
pub struct MeshTopic {
    /// Its key.
    pub key: String,
    /// Its delivery class.
    pub class: String,
    /// How many samples were published.
    pub published: u64,
    /// Who subscribes.
    pub subscribers: Vec<MeshSubscriber>,
}

/// Who subscribes to a topic.
#[data]
pub struct MeshSubscriber {
    /// The node.
    pub node: String,
    /// How many samples wait for it.
    pub waiting: usize,
    /// How many are under way.
    pub in_flight: usize,
    /// How many were dropped, since it was too slow.
    pub dropped: u64,
    /// Samples wait that it does not take now.
    pub slow: bool,
}

/// A subscription of the member.
#[data]
pub struct MeshSubscription {
    /// Its pattern.
    pub pattern: String,
    /// How many publishers' samples come.
    pub publishers: usize,
    /// How many samples have come.
    pub came: u64,
    /// How many were published and did not come.
    pub missed: u64,
    /// How many came and could not be read.
    pub unreadable: u64,
}

/// What a member of a mesh knows.
#[contract(uri = "motet:mesh/1", state = Nothing, replace = false)]
pub trait Mesh {
    /// Its peers, topics and subscriptions now.
    #[query]
    async fn status(cx: Cx) -> Result<MeshStatus, Fault>;
}

#[derive(Service)]
#[service(contract = Mesh, name = "mesh")]
pub(crate) struct MeshService {
    #[state]
    nothing: State<Nothing>,
}

impl Mesh for MeshService {
    async fn status(cx: Cx) -> Result<MeshStatus, Fault> {
        let mesh = cx.common().shared.mesh.as_ref();
        let mesh = mesh.ok_or_else(|| Fault::failed("this node is in no mesh"))?;
        Ok(MeshStatus {
            node: mesh.name().to_string(),
            peers: mesh.peers().iter().map(peer).collect(),
            topics: mesh.topics().iter().map(topic).collect(),
            subscriptions: mesh.subscriptions().iter().map(subscription).collect(),
        })
    }
}

fn peer(of: &PeerInfo) -> MeshPeer {
    let text = |key: &motet_mesh::Key| key.to_string();
    MeshPeer {
        name: of.name.to_string(),
        up: of.up,
        subscriptions: of.subscriptions.iter().map(text).collect(),
        servers: of.servers.iter().map(text).collect(),
    }
}

fn topic(of: &TopicInfo) -> MeshTopic {
    MeshTopic {
        key: of.key.to_string(),
        class: of.class.to_string(),
        published: of.published,
        subscribers: of.subscribers.iter().map(subscriber).collect(),
    }
}

fn subscriber(of: &SubscriberInfo) -> MeshSubscriber {
    MeshSubscriber {
        slow: of.is_slow(),
        node: of.node.to_string(),
        waiting: of.waiting,
        in_flight: of.in_flight,
        dropped: of.dropped,
    }
}

fn subscription(of: &SubscriptionInfo) -> MeshSubscription {
    MeshSubscription {
        pattern: of.pattern.to_string(),
        publishers: of.publishers,
        came: of.came,
        missed: of.missed,
        unreadable: of.unreadable,
    }
}
