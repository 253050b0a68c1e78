//! What a node knows of its peers, and tells of them.

use crate::start_from::{LogOfKey, LogPlace};
use crate::{Key, MeshRights, NotAllowed, PeerName};
use std::collections::{BTreeMap, BTreeSet};

/// What happens to the links of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerChange {
    /// The peer can be reached.
    Up(PeerName),
    /// The peer cannot be reached any more, and why. With the name of the node itself: it is in the
    /// mesh no longer, as when its pass has ended.
    Down(PeerName, String),
    /// The peer has been started again: what it had before is gone.
    Restarted(PeerName),
    /// Something that the peer says cannot be understood, or is too much, and why. It is not used.
    /// Of each link the first 64 are told.
    Refused(PeerName, String),
    /// A subscription here does not fit a topic of the peer, or of this node, or gets nothing of it
    /// any more or for now; or the peer refuses what this node may not do: its key, and why. Of
    /// each link of a peer that may not do all, the first 64 are told.
    Mismatch(PeerName, String, String),
    /// The peer has tried what it may not do. Nothing came of it, and the peer is told. Of each
    /// link the first 64 are told; [`PeerInfo::refused`](crate::PeerInfo::refused) counts all.
    NotAllowed(NotAllowed),
}

/// A node that a link leads to, or led to.
#[derive(Debug, Default)]
pub(crate) struct KnownPeer {
    pub(crate) up: bool,
    /// The number of its link, or of the last one.
    pub(crate) link: u64,
    /// Its first frame of this link has come.
    pub(crate) greeted: bool,
    pub(crate) incarnation: Option<u64>,
    /// Counts broken links: a timer that waits for the peer knows by it that the peer came back.
    pub(crate) breaks: u64,
    /// What it may, by this link.
    pub(crate) rights: MeshRights,
    /// How often it has tried what it may not do.
    pub(crate) refused: u64,
    /// How much of that was by this link.
    pub(crate) told: u32,
    /// How much else was told of this link, or would have been.
    pub(crate) told_else: u32,
    /// What it subscribes to, or looks at: pattern, type, and from where.
    pub(crate) wants: BTreeMap<u32, (Key, String, LogPlace)>,
    pub(crate) servers: BTreeMap<u32, Key>,
    /// Subscriptions of this node, and logs of topics of the peer, which do not go there as long as
    /// another topic has the log.
    pub(crate) waiting: BTreeSet<(u32, LogOfKey)>,
}
