//! What a node tells of its peers, its topics and its subscriptions.

use crate::{Class, Key, LogInfo, MeshRights, PeerName};

/// A peer as this node knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerInfo {
    /// Its name.
    pub name: PeerName,
    /// Whether it can be reached.
    pub up: bool,
    /// What it may, by its link or the last one.
    pub rights: MeshRights,
    /// How often it has tried what it may not do.
    pub refused: u64,
    /// The patterns that it subscribes to, without those that it
    /// [observes](crate::SubscribeConfig::observes).
    pub subscriptions: Vec<Key>,
    /// The keys under which it answers calls.
    pub servers: Vec<Key>,
}

/// A subscriber as its publisher sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriberInfo {
    /// The node.
    pub node: PeerName,
    /// How many samples wait for it here.
    pub waiting: usize,
    /// How many are under way: it has not told that they are accepted. Of few samples it tells
    /// after 2 ms, unless the topic is [`Acknowledged`](Class::Acknowledged) or
    /// [`Durable`](Class::Durable).
    pub in_flight: usize,
    /// How many were dropped, since it was too slow.
    pub dropped: u64,
    /// How many more it takes now.
    pub credit: usize,
}

impl SubscriberInfo {
    /// Whether samples wait that it does not take now.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.waiting > 0 && self.credit == 0
    }
}

/// A topic of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its key.
    pub key: Key,
    /// How it is delivered.
    pub class: Class,
    /// How many samples were published.
    pub published: u64,
    /// The log of a durable topic.
    pub log: Option<LogInfo>,
    /// Who subscribes, and how far each of them is.
    pub subscribers: Vec<SubscriberInfo>,
}

/// A subscription of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionInfo {
    /// Its pattern.
    pub pattern: Key,
    /// How many publishers' samples come.
    pub publishers: usize,
    /// How many samples have come.
    pub came: u64,
    /// How many were published and did not come.
    pub missed: u64,
    /// How many came and could not be read.
    pub unreadable: u64,
}
