//! Topics that have the same log, as where a directory was copied: a subscription gets samples of
//! one of them. A topic of a peer waits until the one before is gone, or its peer cannot be
//! reached. Then the peer is asked again. A topic of the node itself goes first; a second one of
//! it waits until the first one is gone.

use super::{Core, MAX_ENTRIES};
use crate::flow::{AnySubscription, FlowSource};
use crate::start_from::LogOfKey;
use crate::{Key, PeerName};

impl Core {
    /// Whether a topic of a peer waits until another one that has its log is gone. That is told.
    pub(crate) fn has_rival(
        &self,
        (peer, topic): (&PeerName, &FlowSource),
        (id, subscription): (u32, &dyn AnySubscription),
        log: &LogOfKey,
    ) -> bool {
        let has = subscription.topic_of(log);
        if has.is_some_and(|(has, _)| has == *topic) {
            // It is opened again. Another one of the peer may wait.
            return false;
        }
        // Before it looks: the other one may go meanwhile.
        self.waits(peer, (id, log.clone()));
        let Some(rival) = self.rival(peer, subscription, log) else {
            if let Some(peer) = self.state.lock().peers.get_mut(peer) {
                peer.waiting.remove(&(id, log.clone()));
            }
            return false;
        };
        self.tell_waits(peer, &rival, &log.key);
        true
    }

    /// A topic of this node has a log now that one of a peer had: that one waits, and its peer is
    /// asked again when the one of this node is gone. That is told.
    pub(super) fn goes_before(&self, peer: &PeerName, waits: (u32, LogOfKey)) {
        let key = waits.1.key.clone();
        if self.waits(peer, waits) {
            self.tell_waits(peer, &self.name, &key);
        }
        // It may be gone already.
        self.ask_again();
    }

    /// A topic of this node waits for a subscription of it, until another one of this node is gone
    /// that has its log. That is told.
    pub(super) fn waits_here(&self, topic: u32, (id, log): (u32, LogOfKey)) {
        let subscription = {
            let mut state = self.state.lock();
            // As many as there are topics and subscriptions of this node, and not of a peer's.
            state.waiting.insert((id, log.clone(), topic));
            state.subscriptions.get(&id).cloned()
        };
        let is_there = match subscription.and_then(|one| one.topic_of(&log)) {
            Some((FlowSource::Here(other), _)) => self.state.lock().topics.contains_key(&other),
            _ => false,
        };
        if is_there {
            self.tell_waits(&self.name, &self.name, &log.key);
        }
        // It may be gone already.
        self.ask_again();
    }

    /// A topic of a peer waits for a subscription. Whether the peer can be reached.
    fn waits(&self, peer: &PeerName, waits: (u32, LogOfKey)) -> bool {
        let mut state = self.state.lock();
        let Some(peer) = state.peers.get_mut(peer) else {
            return false;
        };
        if peer.waiting.len() < MAX_ENTRIES {
            peer.waiting.insert(waits);
        }
        peer.up
    }

    fn tell_waits(&self, peer: &PeerName, rival: &PeerName, key: &Key) {
        let why = format!(
            "a topic of {rival} has the same log, and nothing comes of this one until that is \
             gone: end one of them"
        );
        self.tell_mismatch(peer, key.to_string(), why);
    }

    /// The node whose topic has the log, as long as it can be reached. One of the peer itself that
    /// came by an earlier link is gone, or is opened again.
    fn rival(
        &self,
        peer: &PeerName,
        subscription: &dyn AnySubscription,
        log: &LogOfKey,
    ) -> Option<PeerName> {
        match subscription.topic_of(log)? {
            (FlowSource::Here(_), _) => Some(self.name.clone()),
            (FlowSource::There(other, _), link) => {
                let state = self.state.lock();
                let known = state.peers.get(&other);
                let is_there =
                    known.is_some_and(|known| known.up && (other != *peer || known.link == link));
                is_there.then_some(other)
            }
            (FlowSource::Log(_), _) => None,
        }
    }

    /// A topic may be gone, or its peer: those that have waited for it are opened again.
    pub(crate) fn ask_again(&self) {
        self.attach_waiting();
        let mut waiting = Vec::new();
        for (name, peer) in &self.state.lock().peers {
            waiting.extend(peer.waiting.iter().map(|one| (name.clone(), one.clone())));
        }
        for (peer, (id, log)) in waiting {
            let subscription = self.state.lock().subscriptions.get(&id).cloned();
            let rival = subscription.as_ref();
            if rival.is_some_and(|one| self.rival(&peer, &**one, &log).is_some()) {
                continue;
            }
            self.change(|state| {
                if let Some(peer) = state.peers.get_mut(&peer) {
                    peer.waiting.remove(&(id, log));
                }
                if let Some(subscription) = subscription {
                    state.tell(&peer, subscription.announced(id));
                }
            });
        }
    }

    /// Topics of this node that have waited go to their subscriptions, if the one before is gone.
    fn attach_waiting(&self) {
        let waiting = self.state.lock().waiting.clone();
        for one in waiting {
            let (id, log, topic) = &one;
            let both = {
                let state = self.state.lock();
                let subscription = state.subscriptions.get(id).cloned();
                subscription.zip(state.topics.get(topic).cloned())
            };
            let has = both.as_ref().and_then(|(one, _)| one.topic_of(log));
            if matches!(has, Some((FlowSource::Here(other), _)) if other != *topic) {
                continue;
            }
            // Another thread may do it.
            let is_first = self.state.lock().waiting.remove(&one);
            if let Some((subscription, topic)) = both.filter(|_| is_first) {
                // Its type fits, as it did before.
                let _ = self.attach(&*topic, &subscription, one.0);
            }
        }
    }
}
