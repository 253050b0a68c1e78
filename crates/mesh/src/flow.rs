//! The two ends of a flow without their types, and what they ask of their node.
//!
//! ```text
//!   AnyTopic ─── samples ──► AnySubscription
//!      ▲  └──────► Hub ◄────────┘
//!      └─ accepted ─┘
//! ```

use crate::frame::{Data, Frame};
use crate::start_from::{LogId, LogOfKey, LogPlace};
use crate::{Class, FramePriority, Frames, Key, MeshError, MeshRights, PeerName};
use crate::{SubscriptionInfo, TopicInfo};
use motet_dispatch::Clock;
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Who gets a flow: a subscription, by its number, of this node or of a peer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlowTarget {
    Here(u32),
    There(PeerName, u32),
}

impl FlowTarget {
    pub(crate) fn is_there(&self) -> bool {
        matches!(self, FlowTarget::There(..))
    }

    pub(crate) fn is_at(&self, peer: &PeerName) -> bool {
        matches!(self, FlowTarget::There(of, _) if of == peer)
    }
}

/// Where a flow comes from: a topic by its number, of this node or of a peer. A flow of a durable
/// topic is that of its log, whichever node has the topic now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlowSource {
    Here(u32),
    There(PeerName, u32),
    /// The last ones in order.
    Log(LogOfKey),
}

impl FlowSource {
    pub(crate) fn is_of(&self, peer: &PeerName) -> bool {
        self.peer() == Some(peer)
    }

    pub(crate) fn is_log(&self) -> bool {
        matches!(self, FlowSource::Log(_))
    }

    /// The peer whose topic it is.
    pub(crate) fn peer(&self) -> Option<&PeerName> {
        match self {
            FlowSource::There(peer, _) => Some(peer),
            FlowSource::Here(_) | FlowSource::Log(_) => None,
        }
    }
}

/// What topics and subscriptions ask of their node.
pub(crate) trait Hub: Send + Sync {
    fn name(&self) -> &PeerName;
    /// Of the node's queue.
    fn clock(&self) -> Clock;
    /// Runs a task on the node's queue.
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>);
    /// Sends samples by the link with this number, past the frames that wait. `false`: they are not
    /// on their way. They are written into `frames`, which is empty.
    fn send_data(
        &self,
        peer: &PeerName,
        link: u64,
        data: &mut dyn Iterator<Item = Data<'_>>,
        frames: &mut Frames,
    ) -> bool;
    /// Nobody publishes to the topic any more: it ends once all is accepted.
    fn end_topic(&self, topic: u32);
    /// A topic that has ended has nothing left to send.
    fn topic_is_over(&self, topic: u32);
    /// A subscription gets nothing more of a topic, which goes on, and why.
    fn flow_ends(&self, topic: (u32, &Key), to: &FlowTarget, why: &str);
    /// A subscription gets nothing of a topic for now, and why.
    fn tell_subscriber(&self, key: &Key, to: &FlowTarget, why: String);
    /// A topic of this node has the log now that one of a peer had for this subscription.
    fn takes_log(&self, peer: &PeerName, waits: (u32, LogOfKey));
    /// A topic of this node waits: another one of this node has its log for this subscription.
    fn waits_for_log(&self, topic: u32, waits: (u32, LogOfKey));
    fn unsubscribe(&self, subscription: u32);
    /// The topic sends what waits: the thread that did so has panicked.
    fn go_on(&self, topic: u32);
    /// A subscription has accepted samples up to `upto`, and takes `window` more.
    fn tell_accepted(
        &self,
        source: &FlowSource,
        subscription: u32,
        upto: u64,
        window: u32,
        priority: FramePriority,
    );
}

/// What has something to say to others before its node leaves.
pub(crate) trait BeforeLeaving: Send + Sync {
    fn node_leaves(&self);
}

/// A topic without its type.
pub(crate) trait AnyTopic: Any + Send + Sync {
    fn id(&self) -> u32;
    fn key(&self) -> &Key;
    fn type_name(&self) -> &'static str;
    /// The log of a durable topic.
    fn log(&self) -> Option<LogId>;
    /// A subscription of this node that matches. An error if it has another type.
    fn attach(&self, subscription: &Arc<dyn Any + Send + Sync>, id: u32) -> Result<(), MeshError>;
    /// A subscription of a peer that matches: a new flow, or one that goes on after a broken link,
    /// by the link with this number.
    fn open(
        &self,
        peer: &PeerName,
        link: u64,
        subscription: u32,
        wanted: (&str, LogPlace),
    ) -> Frame;
    fn accepted(&self, target: &FlowTarget, upto: u64, window: usize);
    fn detach(&self, target: &FlowTarget, why: &str);
    /// The link to the peer is broken. `true`: flows wait for it, and are given up after
    /// [`Qos::keep`].
    fn broken(&self, peer: &PeerName) -> bool;
    fn keep(&self) -> Duration;
    /// The peer does not come back.
    fn forget(&self, peer: &PeerName, why: &str);
    /// Whether a flow to the peer still is that of an earlier link than the one with this number.
    fn has_earlier(&self, peer: &PeerName, link: u64) -> bool;
    /// The peer has come back by the link with this number, and does not want these flows again.
    fn forget_earlier(&self, peer: &PeerName, link: u64, why: &str);
    /// Whether the topic has ended and nothing waits for a subscriber.
    fn is_over(&self) -> bool;
    fn info(&self) -> TopicInfo;
    fn end(&self);
    /// Sends what may be sent.
    fn go_on(&self);
    /// The node leaves: what waits for subscribers is given up.
    fn close(&self);
    /// Nothing is published any more: another publisher may have the log.
    fn close_log(&self);
    fn targets(&self) -> Vec<FlowTarget>;
}

/// A subscription without its type.
pub(crate) trait AnySubscription: Any + Send + Sync {
    fn pattern(&self) -> &Key;
    fn type_name(&self) -> &'static str;
    /// Which samples of durable topics come first, and whether it looks on.
    fn place(&self) -> LogPlace;
    fn any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    /// The frame that tells a peer of it.
    fn announced(&self, id: u32) -> Frame {
        Frame::Subscribe {
            subscription: id,
            pattern: self.pattern().to_string(),
            type_name: self.type_name().to_owned(),
            from: self.place(),
        }
    }
    /// A flow of a peer begins or goes on at `first`, by the link with this number, from a topic of
    /// this class, or with this log: what is accepted of it, and the window; or why it may not.
    fn opened(
        &self,
        source: FlowSource,
        link: u64,
        key: Key,
        class: Class,
        first: u64,
        log: Option<LogOfKey>,
    ) -> Result<(u64, u32), String>;
    /// Samples of a peer that came together, in order.
    fn comes(self: Arc<Self>, source: &FlowSource, samples: &[Data<'_>]);
    fn closed(&self, source: &FlowSource);
    /// Whether a peer may bring this log, of which it may bring so many.
    fn has_room_for(&self, log: &LogOfKey, peer: &PeerName, most: usize) -> bool;
    /// The topic that has this log now, as far as it came here, and the number of the link by which
    /// it came.
    fn topic_of(&self, log: &LogOfKey) -> Option<(FlowSource, u64)>;
    /// It ends with its node: publishers are told what is accepted.
    fn ends(&self);
    fn info(&self) -> SubscriptionInfo;
    /// The peer does not come back, or comes back as another.
    fn forget(&self, peer: &PeerName);
    /// The peer has come back with these rights: what it may not publish any more comes no more.
    fn forget_beyond(&self, peer: &PeerName, rights: &MeshRights);
    /// Whether a flow of the peer still is that of an earlier link than the one with this number.
    fn has_earlier(&self, peer: &PeerName, link: u64) -> bool;
    /// The peer has come back by the link with this number, without the topics of these flows.
    fn forget_earlier(&self, peer: &PeerName, link: u64);
}
