//! Topics that have the same log, as where a directory was copied: a subscription gets samples of
//! one of them. A topic of a peer waits until the one before is gone, or its peer cannot be
//! reached. Then the peer is asked again. A topic of the node itself goes first.

use super::{Core, MAX_ENTRIES};
use crate::flow::{AnySubscription, FlowSource};
use crate::peers::PeerChange;
use crate::start_from::LogOfKey;
use crate::{Key, PeerName};

impl Core {
    /// Whether a topic of a peer waits until another one that has its log is gone. That is told.
    pub(crate) fn has_rival(
        &self,
        peer: &PeerName,
        (id, subscription): (u32, &dyn AnySubscription),
        log: &LogOfKey,
    ) -> bool {
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
        self.tell_change(PeerChange::Mismatch(peer.clone(), key.to_string(), why));
    }

    /// The node whose topic has the log, other than the peer, as long as it can be reached.
    fn rival(
        &self,
        peer: &PeerName,
        subscription: &dyn AnySubscription,
        log: &LogOfKey,
    ) -> Option<PeerName> {
        match subscription.topic_of(log)? {
            FlowSource::Here(_) => Some(self.name.clone()),
            FlowSource::There(other, _) => {
                let state = self.state.lock();
                let is_up = state.peers.get(&other).is_some_and(|other| other.up);
                (other != *peer && is_up).then_some(other)
            }
            FlowSource::Log(_) => None,
        }
    }

    /// A topic may be gone, or its peer: those that have waited for it are opened again.
    pub(crate) fn ask_again(&self) {
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
}
