//! What comes from the carrier: links and frames, one after the other.

mod topics;

use crate::core::{Core, MAX_ENTRIES, MAX_WINDOW, NodeState};
use crate::flow::{FlowSource, FlowTarget, Hub};
use crate::frame::{Data, FORM, Frame};
use crate::peers::{KnownPeer, PeerChange};
use crate::start_from::LogPlace;
use crate::{CallError, CarrierEvent, Deed, Key, MeshRights, PeerName};
use std::sync::Arc;
use std::time::Duration;

/// How long a peer that has come back may take to open the flows of its topics again.
const TO_OPEN: Duration = Duration::from_secs(30);
/// How long a peer has at least to ask again for what it wants.
const TO_ASK: Duration = Duration::from_secs(1);
/// How long the name of a type may be that a peer subscribes to: it is kept.
const MAX_TYPE_NAME: usize = 4096;

impl Core {
    pub(crate) fn on_event(self: &Arc<Self>, event: CarrierEvent) {
        match event {
            CarrierEvent::Up(peer, link, rights) => self.on_up(&peer, link, &rights),
            CarrierEvent::Down(peer, why) => self.on_down(&peer, &why),
            CarrierEvent::Frame(peer, bytes) => self.on_frames(&peer, [&bytes[..]].into_iter()),
            CarrierEvent::Frames(peer, frames) => self.on_frames(&peer, frames.iter()),
        }
    }

    /// Samples of one flow that follow each other are taken together.
    fn on_frames<'a>(self: &Arc<Self>, peer: &PeerName, frames: impl Iterator<Item = &'a [u8]>) {
        let mut samples = Vec::<Data<'a>>::new();
        for bytes in frames {
            let data = Data::from_bytes(bytes);
            let flow = |data: &Data<'a>| (data.topic, data.subscription);
            if samples.last().map(flow) != data.as_ref().map(flow) {
                self.on_samples(peer, &samples);
                samples.clear();
            }
            match data {
                Some(data) => samples.push(data),
                None => self.on_bytes(peer, bytes),
            }
        }
        self.on_samples(peer, &samples);
    }

    /// Samples of one flow.
    fn on_samples(&self, peer: &PeerName, samples: &[Data<'_>]) {
        let Some(first) = samples.first() else { return };
        let wanted = {
            let state = self.state.lock();
            let is_greeted = state.peers.get(peer).is_some_and(|peer| peer.greeted);
            let wanted = state.subscriptions.get(&first.subscription);
            wanted.filter(|_| is_greeted).cloned()
        };
        if let Some(subscription) = wanted {
            subscription.comes(&FlowSource::There(peer.clone(), first.topic), samples);
        }
    }

    fn on_bytes(self: &Arc<Self>, peer: &PeerName, bytes: &[u8]) {
        match Frame::from_bytes(bytes) {
            Ok(frame) => self.on_frame(peer, frame),
            Err(why) => self.tell_refusal(peer, why.to_string()),
        }
    }

    /// A link works: this node says who it is, and what it wants.
    fn on_up(&self, peer: &PeerName, link: u64, rights: &MeshRights) {
        let hello = self.hello();
        self.keeps_within(peer, rights);
        self.change(|state| {
            let entry = state.peers.entry(peer.clone()).or_default();
            entry.up = true;
            entry.link = link;
            entry.greeted = false;
            entry.rights = rights.clone();
            (entry.told, entry.told_else) = (0, 0);
            entry.wants.clear();
            entry.servers.clear();
            entry.waiting.clear();
            state.tell(peer, hello);
            let wants: Vec<_> = state
                .subscriptions
                .iter()
                .map(|(id, s)| s.announced(*id))
                .collect();
            let servers = state.calls.offers();
            for frame in wants.into_iter().chain(servers) {
                state.tell(peer, frame);
            }
        });
    }

    fn on_down(self: &Arc<Self>, peer: &PeerName, why: &str) {
        if peer == self.name() {
            self.tell_change(PeerChange::Down(peer.clone(), why.to_owned()));
            return;
        }
        let (topics, breaks, was_greeted, calls) = {
            let mut state = self.state.lock();
            let Some(entry) = state.peers.get_mut(peer) else {
                return;
            };
            entry.up = false;
            let was_greeted = std::mem::replace(&mut entry.greeted, false);
            entry.breaks += 1;
            entry.servers.clear();
            let breaks = entry.breaks;
            let lost = state.calls.lose(peer);
            (state.all_topics(), breaks, was_greeted, lost)
        };
        let (calls, gone) = calls;
        gone.iter()
            .for_each(|caller| caller.is_gone("the link to the caller is broken"));
        for call in calls {
            // An error: the caller waits no longer.
            let _ = call.post(Err(CallError::Lost { peer: peer.clone() }));
        }
        for topic in topics {
            if !topic.broken(peer) {
                continue;
            }
            let (core, name, id, keep) =
                (Arc::downgrade(self), peer.clone(), topic.id(), topic.keep());
            // The timer goes when it fires: it holds the node by a weak handle alone.
            let _timer = self.clock().after(keep, move |_| {
                if let Some(core) = core.upgrade() {
                    core.give_up(&name, id, breaks);
                }
            });
        }
        self.ask_again();
        if was_greeted {
            self.tell_change(PeerChange::Down(peer.clone(), why.to_owned()));
        }
    }

    /// A peer did not come back in time for a topic.
    fn give_up(&self, peer: &PeerName, topic: u32, breaks: u64) {
        let topic = {
            let state = self.state.lock();
            let still = state
                .peers
                .get(peer)
                .is_some_and(|peer| !peer.up && peer.breaks == breaks);
            if !still {
                return;
            }
            state.topics.get(&topic).cloned()
        };
        if let Some(topic) = topic {
            topic.forget(peer, "the subscriber did not come back in time");
        }
    }

    /// A peer has come back, and says now what it subscribes to and publishes. Flows of
    /// subscriptions and topics that have ended meanwhile are given up after a while.
    fn await_flows(self: &Arc<Self>, peer: &PeerName) {
        let (mut topics, subscriptions, link) = {
            let state = self.state.lock();
            let link = state.peers.get(peer).map_or(0, |peer| peer.link);
            (state.all_topics(), state.all_subscriptions(), link)
        };
        if subscriptions.iter().any(|one| one.has_earlier(peer, link)) {
            let (core, name) = (Arc::downgrade(self), peer.clone());
            let _timer = self.clock().after(TO_OPEN, move |_| {
                if let Some(core) = core.upgrade().filter(|core| core.is_linked(&name, link)) {
                    let all = core.state.lock().all_subscriptions();
                    all.iter().for_each(|one| one.forget_earlier(&name, link));
                    core.ask_again();
                }
            });
        }
        topics.retain(|topic| topic.has_earlier(peer, link));
        for topic in topics {
            let (core, name, id) = (Arc::downgrade(self), peer.clone(), topic.id());
            // The timer goes when it fires: it holds the node by a weak handle alone.
            // A peer needs some time to say it, also where nothing is kept for it.
            let _timer = self.clock().after(topic.keep().max(TO_ASK), move |_| {
                if let Some(core) = core.upgrade() {
                    core.give_up_earlier(&name, id, link);
                }
            });
        }
    }

    /// A peer has come back by this link, and did not want a flow again in time.
    fn give_up_earlier(&self, peer: &PeerName, topic: u32, link: u64) {
        if !self.is_linked(peer, link) {
            return;
        }
        let topic = self.state.lock().topics.get(&topic).cloned();
        if let Some(topic) = topic {
            topic.forget_earlier(peer, link, "the subscription has ended");
        }
    }

    fn is_linked(&self, peer: &PeerName, link: u64) -> bool {
        let state = self.state.lock();
        let known = state.peers.get(peer);
        known.is_some_and(|peer| peer.up && peer.link == link)
    }

    fn on_frame(self: &Arc<Self>, peer: &PeerName, frame: Frame) {
        if let Frame::Hello { form, incarnation } = frame {
            self.on_hello(peer, form, incarnation);
            return;
        }
        let state = self.state.lock();
        if !state.peers.get(peer).is_some_and(|peer| peer.greeted) {
            return;
        }
        drop(state);
        match frame {
            // Those are taken before.
            Frame::Hello { .. } | Frame::Data { .. } | Frame::NamedData { .. } => {}
            Frame::Subscribe {
                subscription,
                pattern,
                type_name,
                from,
            } => {
                self.on_subscribe(peer, subscription, &pattern, (type_name, from));
            }
            Frame::Unsubscribe { subscription } => {
                let topics = self.with_peer(peer, |state, entry| {
                    entry.wants.remove(&subscription);
                    state.all_topics()
                });
                for topic in topics.into_iter().flatten() {
                    let target = FlowTarget::There(peer.clone(), subscription);
                    topic.detach(&target, "the subscription has ended");
                }
            }
            Frame::Accepted {
                topic,
                subscription,
                upto,
                window,
            } => {
                let topic = self.state.lock().topics.get(&topic).cloned();
                if let Some(topic) = topic {
                    let target = FlowTarget::There(peer.clone(), subscription);
                    topic.accepted(&target, upto, window.min(MAX_WINDOW) as usize);
                }
            }
            Frame::NotAllowed {
                topic,
                subscription,
                key,
                why,
            } => self.on_refused(peer, (topic, subscription), (key, why)),
            Frame::Open { .. } | Frame::Mismatch { .. } | Frame::Close { .. } => {
                self.on_topic_frame(peer, frame)
            }
            Frame::Serve { .. }
            | Frame::Unserve { .. }
            | Frame::Call { .. }
            | Frame::Cancel { .. }
            | Frame::Answer { .. } => {
                self.on_call_frame(peer, frame);
            }
        }
    }

    /// Changes what is known of a peer.
    pub(crate) fn with_peer<R>(
        &self,
        peer: &PeerName,
        body: impl FnOnce(&mut NodeState, &mut KnownPeer) -> R,
    ) -> Option<R> {
        self.change(|state| {
            let mut entry = state.peers.remove(peer)?;
            let result = body(state, &mut entry);
            state.peers.insert(peer.clone(), entry);
            Some(result)
        })
    }

    fn on_hello(self: &Arc<Self>, peer: &PeerName, form: u16, incarnation: u64) {
        if form != FORM {
            let why = format!("its frames have form {form}; this node has form {FORM}");
            self.tell_refusal(peer, why);
            return;
        }
        let known = self.with_peer(peer, |state, entry| {
            if std::mem::replace(&mut entry.greeted, true) {
                // Another start of the peer has another link.
                return None;
            }
            let before = entry.incarnation.replace(incarnation);
            let restarted = before.is_some_and(|before| before != incarnation);
            Some(restarted.then(|| (state.all_topics(), state.all_subscriptions())))
        });
        let Some(restarted) = known.flatten() else {
            return;
        };
        if let Some((topics, subscriptions)) = restarted {
            topics
                .iter()
                .for_each(|topic| topic.forget(peer, "the subscriber has been started again"));
            subscriptions
                .iter()
                .for_each(|subscription| subscription.forget(peer));
            self.ask_again();
            self.tell_change(PeerChange::Restarted(peer.clone()));
        }
        self.await_flows(peer);
        self.tell_change(PeerChange::Up(peer.clone()));
    }

    fn on_subscribe(
        &self,
        peer: &PeerName,
        subscription: u32,
        pattern: &str,
        (type_name, from): (String, LogPlace),
    ) {
        let Ok(pattern) = Key::new(pattern) else {
            let why = format!("it subscribes to {pattern:?}, which is no key");
            self.tell_refusal(peer, why);
            return;
        };
        if type_name.len() > MAX_TYPE_NAME {
            let why = format!(
                "it subscribes to {pattern} with a type of {} bytes",
                type_name.len()
            );
            self.tell_refusal(peer, why);
            return;
        }
        if let Err(refused) = self.peer_may(peer, Deed::Subscribe, &pattern) {
            self.tell_refused(peer, (0, subscription), refused);
            return;
        }
        let taken = self.with_peer(peer, |state, entry| {
            if entry.wants.len() >= MAX_ENTRIES && !entry.wants.contains_key(&subscription) {
                return false;
            }
            let topics: Vec<_> = state
                .topics
                .values()
                .filter(|t| pattern.matches(t.key()))
                .cloned()
                .collect();
            let frames: Vec<_> = topics
                .iter()
                .map(|t| t.open(peer, entry.link, subscription, (&type_name, from)))
                .collect();
            entry
                .wants
                .insert(subscription, (pattern.clone(), type_name, from));
            state.queue_for((peer, entry.link), frames);
            true
        });
        if taken == Some(false) {
            let why = format!("it has more than {MAX_ENTRIES} subscriptions");
            self.tell_refusal(peer, why);
        }
    }
}
