//! What a node knows, and the frames that it is to send.

use super::outbox::Outbound;
use super::{Core, MAX_ENTRIES, NodeState};
use crate::calls::{Calls, HAS_LEFT};
use crate::flow::{AnySubscription, AnyTopic, BeforeLeaving};
use crate::frame::Frame;
use crate::{FramePriority, MeshError, PeerName};
use motet_dispatch::{Causalities, beyond_depth, spawn};
use std::pin::Pin;
use std::sync::{Arc, Weak};

impl Core {
    /// Runs a task of the node, whatever room its queue has: nobody would bring it again. A queue
    /// that is stopped drops it: the node has ended.
    pub(super) fn begin(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        // Whoever's work is at hand, the node's is none of it: it is not skipped with that.
        let _ = Causalities::none().run(|| spawn(&beyond_depth(self.queue()), task));
    }

    /// Asks `who`, if it is there then, before the node leaves.
    pub(crate) fn before_leaving(&self, who: Weak<dyn BeforeLeaving>) {
        let mut state = self.state.lock();
        let asked = &mut state.before_leaving;
        asked.retain(|other| other.strong_count() > 0);
        asked.push(who);
    }

    /// Says what others are to know before the node leaves.
    pub(super) fn say_last(&self) {
        let (asked, subscriptions) = {
            let mut state = self.state.lock();
            let asked = std::mem::take(&mut state.before_leaving);
            (asked, state.all_subscriptions())
        };
        let there = asked.iter().filter_map(Weak::upgrade);
        there.for_each(|who| who.node_leaves());
        subscriptions
            .iter()
            .for_each(|subscription| subscription.ends());
    }
}

impl NodeState {
    /// A number for a new entry of a table that has `has` entries.
    pub(crate) fn new_id(&mut self, what: &'static str, has: usize) -> Result<u32, MeshError> {
        if self.left {
            return Err(MeshError::Left);
        }
        if has >= MAX_ENTRIES {
            return Err(MeshError::TooMany {
                what,
                limit: MAX_ENTRIES,
            });
        }
        self.last_id += 1;
        Ok(self.last_id)
    }

    /// A number that nothing else of this node has.
    pub(crate) fn new_number(&mut self) -> u64 {
        self.calls.last += 1;
        self.calls.last
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left
    }

    pub(crate) fn tell(&mut self, peer: &PeerName, frame: Frame) {
        self.tell_by(frame.priority(), peer, frame);
    }

    /// As [`NodeState::tell`], by another priority than such frames mostly have.
    pub(crate) fn tell_by(&mut self, priority: FramePriority, peer: &PeerName, frame: Frame) {
        if let Some(known) = self.peers.get(peer).filter(|known| known.up) {
            let mut told = Outbound::new((peer, known.link), frame);
            told.priority = priority;
            self.outbox.push_back(told);
        }
    }

    /// Frames for a peer that is being changed, and so is not in the table, by its link.
    pub(crate) fn queue_for(&mut self, to: (&PeerName, u64), frames: Vec<Frame>) {
        let frames = frames.into_iter();
        self.outbox
            .extend(frames.map(|frame| Outbound::new(to, frame)));
    }

    pub(crate) fn tell_all(&mut self, frame: &Frame) {
        let up = self.peers.iter().filter(|(_, peer)| peer.up);
        let frames = up.map(|(name, peer)| Outbound::new((name, peer.link), frame.clone()));
        self.outbox.extend(frames);
    }

    /// All calls, which end: peers are told that nobody answers here any more, and that this node
    /// waits for no answer.
    pub(super) fn end_calls(&mut self) -> Calls {
        let calls = std::mem::take(&mut self.calls);
        for server in calls.servers.keys() {
            self.tell_all(&Frame::Unserve { server: *server });
        }
        for (from, call) in calls.serving.keys() {
            let answer = Err(HAS_LEFT.to_owned());
            self.tell(
                from,
                Frame::Answer {
                    call: *call,
                    answer,
                },
            );
        }
        for (call, pending) in &calls.pending {
            let why = HAS_LEFT.to_owned();
            self.tell(&pending.peer, Frame::Cancel { call: *call, why });
        }
        calls
    }

    pub(crate) fn all_topics(&self) -> Vec<Arc<dyn AnyTopic>> {
        self.topics.values().chain(&self.ending).cloned().collect()
    }

    pub(crate) fn all_subscriptions(&self) -> Vec<Arc<dyn AnySubscription>> {
        self.subscriptions.values().cloned().collect()
    }
}
