//! What a node knows: its topics, its subscriptions, and the peers that it has links to.
//!
//! ```text
//!   Node, Topic, Subscription ──► Core ──► outbox ──► Carrier
//!                                  ▲
//!   Carrier events ── one task ────┘  (listening.rs, arrivals.rs)
//! ```
//!
//! Lock order: the core's state, then a topic's, then a subscription's. Nothing is sent under the
//! core's lock: frames go into the outbox under it, so that they leave in that order.

mod allowed;
mod ends;
mod outbox;
mod rivals;
mod state;

use self::outbox::Outbound;
use crate::calls::Calls;
use crate::flow::{AnySubscription, AnyTopic, BeforeLeaving, FlowSource, FlowTarget, Hub};
use crate::frame::{Data, Frame};
use crate::here_or_queued::while_sending;
use crate::peers::{KnownPeer, PeerChange};
use crate::start_from::LogOfKey;
use crate::{Carrier, CarrierError, FramePriority, Frames, Key, MeshError, MeshRights, PeerName};
use motet_dispatch::{Clock, Enqueue};
use motet_ports::{BroadcastPort, Overflow};
use motet_sync::{Mutex, Unparker};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

/// The most topics, subscriptions and servers of a node, each.
pub const MAX_ENTRIES: usize = 1024;

/// The most samples of a topic that are under way to a subscription: the publisher keeps them.
pub(crate) const MAX_WINDOW: u32 = 65_536;

pub(crate) struct Core {
    name: PeerName,
    /// What this node may.
    rights: MeshRights,
    incarnation: u64,
    queue: Arc<dyn Enqueue>,
    pub(crate) carrier: Option<Arc<dyn Carrier>>,
    pub(crate) changes: BroadcastPort<PeerChange>,
    pub(crate) state: Mutex<NodeState>,
}

#[derive(Default)]
pub(crate) struct NodeState {
    left: bool,
    last_id: u32,
    pub(crate) peers: BTreeMap<PeerName, KnownPeer>,
    pub(crate) topics: BTreeMap<u32, Arc<dyn AnyTopic>>,
    /// Topics that are over, as long as their logs are not closed.
    ending: Vec<Arc<dyn AnyTopic>>,
    pub(crate) subscriptions: BTreeMap<u32, Arc<dyn AnySubscription>>,
    /// Subscriptions, logs, and topics of this node with these that wait until another one of this
    /// node is gone.
    waiting: BTreeSet<(u32, LogOfKey, u32)>,
    pub(crate) calls: Calls,
    before_leaving: Vec<Weak<dyn BeforeLeaving>>,
    outbox: VecDeque<Outbound>,
    /// Some thread sends what lies in the outbox.
    sending: bool,
    /// The node is gone, and the carrier is to hear so behind what lies in the outbox.
    gone: bool,
    /// Who drops the last handle, and waits until no other thread sends.
    leaver: Option<Unparker>,
}

impl Core {
    pub(crate) fn new(
        name: PeerName,
        incarnation: u64,
        carrier: Option<Arc<dyn Carrier>>,
        queue: Arc<dyn Enqueue>,
    ) -> Arc<Self> {
        let rights = carrier
            .as_ref()
            .map_or_else(MeshRights::all, |it| it.rights());
        Arc::new(Core {
            name,
            rights,
            incarnation,
            queue,
            carrier,
            changes: BroadcastPort::new(),
            state: Mutex::new(NodeState::default()),
        })
    }

    pub(crate) fn queue(&self) -> &Arc<dyn Enqueue> {
        &self.queue
    }

    /// Which start of this node it is.
    pub(crate) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Which start of the peer it was that this node last had a link to.
    pub(crate) fn incarnation_of(&self, peer: &PeerName) -> Option<u64> {
        let state = self.state.lock();
        state.peers.get(peer).and_then(|peer| peer.incarnation)
    }

    pub(crate) fn hello(&self) -> Frame {
        Frame::Hello {
            form: crate::frame::FORM,
            incarnation: self.incarnation,
        }
    }

    /// Tells those who watch peers.
    pub(crate) fn tell_change(&self, change: PeerChange) {
        // Their ports drop the oldest and refuse nothing.
        let _ = self.changes.post(change);
    }

    /// A change of the node's state, and then the frames that it has put into the outbox.
    pub(crate) fn change<R>(&self, body: impl FnOnce(&mut NodeState) -> R) -> R {
        let result = body(&mut self.state.lock());
        self.flush();
        result
    }

    /// Enters a topic, and opens flows to all who subscribe already.
    pub(crate) fn add_topic<T>(
        &self,
        make: impl FnOnce(u32) -> (T, Arc<dyn AnyTopic>),
    ) -> Result<T, MeshError> {
        // Here, so that it is dropped outside of the lock when it is refused.
        let mut made = None;
        let (topic, local) = self.change(|state| {
            let id = state.new_id("topics", state.topics.len())?;
            let (handle, topic) = make(id);
            made = Some(handle);
            let matches = |pattern: &Key| pattern.matches(topic.key());
            let local: Vec<_> = state
                .subscriptions
                .iter()
                .filter(|(_, s)| matches(s.pattern()))
                .collect();
            if let Some((_, other)) = local
                .iter()
                .find(|(_, s)| s.type_name() != topic.type_name())
            {
                return Err(MeshError::Mismatch {
                    key: topic.key().to_string(),
                    published: topic.type_name(),
                    wanted: other.type_name(),
                });
            }
            let local: Vec<_> = local
                .into_iter()
                .map(|(id, s)| (*id, Arc::clone(s)))
                .collect();
            state.says_over(&*topic);
            state.topics.insert(id, Arc::clone(&topic));
            let mut frames = Vec::new();
            for (name, peer) in state.peers.iter().filter(|(_, peer)| peer.greeted) {
                let wants = peer
                    .wants
                    .iter()
                    .filter(|(_, (pattern, ..))| matches(pattern));
                frames.extend(wants.map(|(id, (_, of, from))| {
                    let open = topic.open(name, peer.link, *id, (of, *from));
                    Outbound::new((name, peer.link), open)
                }));
            }
            state.outbox.extend(frames);
            Ok((topic, local))
        })?;
        for (id, subscription) in local {
            topic.attach(&subscription.any(), id)?;
            self.detach_if_ended(&*topic, id);
        }
        made.ok_or(MeshError::Left)
    }

    /// Enters a subscription, and tells all peers.
    pub(crate) fn add_subscription<T>(
        &self,
        make: impl FnOnce(u32) -> (T, Arc<dyn AnySubscription>),
    ) -> Result<T, MeshError> {
        // Here, so that it is dropped outside of the lock when it is refused.
        let mut made = None;
        let (subscription, id, local) = self.change(|state| {
            let id = state.new_id("subscriptions", state.subscriptions.len())?;
            let (handle, subscription) = make(id);
            made = Some(handle);
            let pattern = subscription.pattern().clone();
            let local = state
                .topics
                .values()
                .filter(|topic| pattern.matches(topic.key()));
            let local: Vec<_> = local.cloned().collect();
            if let Some(other) = local
                .iter()
                .find(|t| t.type_name() != subscription.type_name())
            {
                return Err(MeshError::Mismatch {
                    key: other.key().to_string(),
                    published: other.type_name(),
                    wanted: subscription.type_name(),
                });
            }
            state.subscriptions.insert(id, Arc::clone(&subscription));
            state.tell_all(&subscription.announced(id));
            Ok((subscription, id, local))
        })?;
        for topic in local {
            self.attach(&*topic, &subscription, id)?;
        }
        made.ok_or(MeshError::Left)
    }

    /// A topic of this node goes to a subscription of it, unless one of them has ended meanwhile.
    fn attach(
        &self,
        topic: &dyn AnyTopic,
        subscription: &Arc<dyn AnySubscription>,
        id: u32,
    ) -> Result<(), MeshError> {
        topic.attach(&Arc::clone(subscription).any(), id)?;
        self.detach_if_ended(topic, id);
        // A topic that ended while it was attached could not find the subscription.
        if !self.state.lock().topics.contains_key(&topic.id()) {
            subscription.closed(&FlowSource::Here(topic.id()));
            self.ask_again();
        }
        Ok(())
    }

    /// A subscription that ended while it was attached is taken off the topic: its end could not
    /// find the flow.
    fn detach_if_ended(&self, topic: &dyn AnyTopic, subscription: u32) {
        let is_there = self.state.lock().subscriptions.contains_key(&subscription);
        if !is_there {
            topic.detach(
                &FlowTarget::Here(subscription),
                "the subscription has ended",
            );
        }
    }
}

impl Hub for Core {
    fn name(&self) -> &PeerName {
        &self.name
    }

    fn clock(&self) -> Clock {
        self.queue.clock()
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.begin(task);
    }

    fn send_data(
        &self,
        peer: &PeerName,
        link: u64,
        data: &mut dyn Iterator<Item = Data<'_>>,
        frames: &mut Frames,
    ) -> bool {
        let Some(carrier) = &self.carrier else {
            return false;
        };
        let mut data = std::iter::from_fn(|| data.next());
        let sent = match data.try_for_each(|data| data.put_behind(frames)) {
            Ok(()) => {
                while_sending(|| carrier.send_all(peer, link, frames, FramePriority::Ordered))
            }
            Err(why) => Err(CarrierError::Refused(why.to_string())),
        };
        while_sending(|| self.is_sent(peer, &sent))
    }

    fn unsubscribe(&self, id: u32) {
        let topics = self.change(|state| {
            state.subscriptions.remove(&id)?;
            state.tell_all(&Frame::Unsubscribe { subscription: id });
            Some(state.all_topics())
        });
        for topic in topics.into_iter().flatten() {
            topic.detach(&FlowTarget::Here(id), "the subscription has ended");
        }
    }

    fn go_on(&self, topic: u32) {
        let topic = self.state.lock().topics.get(&topic).cloned();
        if let Some(topic) = topic {
            topic.go_on();
        }
    }

    /// Nobody publishes to the topic any more: it ends once all is accepted.
    fn end_topic(&self, id: u32) {
        let topic = self.state.lock().topics.get(&id).cloned();
        if let Some(topic) = topic {
            topic.end();
        }
    }

    fn topic_is_over(&self, id: u32) {
        self.end_if_over(id);
    }

    fn flow_ends(&self, topic: (u32, &Key), to: &FlowTarget, why: &str) {
        self.end_flow(topic, to, why);
    }

    fn tell_subscriber(&self, key: &Key, to: &FlowTarget, why: String) {
        self.tell_target(key, to, why);
    }

    fn takes_log(&self, peer: &PeerName, waits: (u32, LogOfKey)) {
        self.goes_before(peer, waits);
    }

    fn waits_for_log(&self, topic: u32, waits: (u32, LogOfKey)) {
        self.waits_here(topic, waits);
    }

    /// A subscription of this node has accepted samples.
    fn tell_accepted(
        &self,
        source: &FlowSource,
        subscription: u32,
        upto: u64,
        window: u32,
        priority: FramePriority,
    ) {
        match source {
            FlowSource::Here(topic) => {
                let topic = self.state.lock().topics.get(topic).cloned();
                if let Some(topic) = topic {
                    topic.accepted(&FlowTarget::Here(subscription), upto, window as usize);
                }
            }
            // A subscription knows which topic has the log.
            FlowSource::Log(_) => {}
            FlowSource::There(peer, topic) => {
                let topic = *topic;
                let accepted = Frame::Accepted {
                    topic,
                    subscription,
                    upto,
                    window,
                };
                self.change(|state| {
                    // Before that its topics may be others with the same numbers. What opens a flow
                    // is answered with the same.
                    if state.peers.get(peer).is_some_and(|peer| peer.greeted) {
                        state.tell_by(priority, peer, accepted);
                    }
                });
            }
        }
    }
}

/// How many changes wait for somebody who watches peers.
pub(crate) const CHANGES: (usize, Overflow) = (1024, Overflow::DropOldest);
