//! What nodes may do: this one is told at once, and what a peer may not do is refused.

use super::Core;
use crate::flow::FlowTarget;
use crate::frame::Frame;
use crate::peers::PeerChange;
use crate::{Deed, Key, MeshRights, NotAllowed, PeerName};

/// How much of what a peer may not do is told by each of its links, and how much of what else it
/// causes: others wait to be heard, too.
const TOLD: u32 = 64;
/// How many bytes of a text of a peer are told: those who watch keep it.
const TEXT: usize = 1024;

impl Core {
    pub(crate) fn rights(&self) -> &MeshRights {
        &self.rights
    }

    /// Whether this node may do it; else its peers would refuse it.
    pub(crate) fn may(&self, deed: Deed, key: &Key) -> Result<(), NotAllowed> {
        check(&self.rights, &self.name, deed, key)
    }

    /// What a peer may.
    pub(crate) fn rights_of(&self, peer: &PeerName) -> MeshRights {
        let state = self.state.lock();
        let known = state.peers.get(peer);
        known.map(|peer| peer.rights.clone()).unwrap_or_default()
    }

    /// Whether a peer may do it. Else that is counted, and the first of it told here; the caller
    /// tells the peer.
    pub(crate) fn peer_may(
        &self,
        peer: &PeerName,
        deed: Deed,
        key: &Key,
    ) -> Result<(), NotAllowed> {
        let may = check(&self.rights_of(peer), peer, deed, key);
        if let Err(refused) = &may {
            let mut state = self.state.lock();
            let is_told = state.peers.get_mut(peer).is_some_and(|peer| {
                peer.refused += 1;
                peer.told = peer.told.saturating_add(1);
                peer.told <= TOLD
            });
            drop(state);
            if is_told {
                self.tell_change(PeerChange::NotAllowed(refused.clone()));
            }
        }
        may
    }

    /// Tells a peer what is refused, and the flow that it has opened, if it has: its topic, and the
    /// subscription.
    pub(crate) fn tell_refused(
        &self,
        peer: &PeerName,
        (topic, subscription): (u32, u32),
        refused: NotAllowed,
    ) {
        let why = refused.to_string();
        let key = refused.key;
        let told = Frame::NotAllowed {
            topic,
            subscription,
            key,
            why,
        };
        self.change(|state| state.tell(peer, told));
    }

    /// A peer does not let this node do something. Its topic waits for nothing then.
    pub(crate) fn on_refused(
        &self,
        peer: &PeerName,
        (topic, subscription): (u32, u32),
        (key, mut why): (String, String),
    ) {
        cut(&mut why);
        let topic = self.state.lock().topics.get(&topic).cloned();
        if let Some(topic) = topic {
            topic.detach(&FlowTarget::There(peer.clone(), subscription), &why);
        }
        self.tell_mismatch(peer, key, why);
    }

    /// Tells that what a peer says is not used, and why: of each of its links the first of it.
    pub(crate) fn tell_refusal(&self, peer: &PeerName, mut why: String) {
        if self.tells_of(peer, |_| true) {
            cut(&mut why);
            self.tell_change(PeerChange::Refused(peer.clone(), why));
        }
    }

    /// Tells that something does not fit, of this node or of a peer, with a key and the reason. Of
    /// each link of a peer that may not do all the first of it.
    pub(crate) fn tell_mismatch(&self, node: &PeerName, mut key: String, mut why: String) {
        if self.tells_of(node, |rights| !rights.is_all()) {
            cut(&mut key);
            cut(&mut why);
            self.tell_change(PeerChange::Mismatch(node.clone(), key, why));
        }
    }

    /// Whether something that a peer has caused is told. If it is counted that is so for the first
    /// of it.
    fn tells_of(&self, peer: &PeerName, is_counted: impl FnOnce(&MeshRights) -> bool) -> bool {
        let mut state = self.state.lock();
        let known = state.peers.get_mut(peer);
        let counted = known.filter(|known| is_counted(&known.rights));
        counted.is_none_or(|known| {
            known.told_else = known.told_else.saturating_add(1);
            known.told_else <= TOLD
        })
    }

    /// A peer has a link with these rights. What it had by an earlier one, and may not have any
    /// more, ends.
    pub(crate) fn keeps_within(&self, peer: &PeerName, rights: &MeshRights) {
        if rights.is_all() {
            return;
        }
        let (topics, subscriptions) = {
            let state = self.state.lock();
            (state.all_topics(), state.all_subscriptions())
        };
        for topic in topics {
            if !rights.may(Deed::Subscribe, topic.key()) {
                topic.forget(peer, "the subscriber may not have it any more");
            }
        }
        for subscription in subscriptions {
            subscription.forget_beyond(peer, rights);
        }
    }
}

/// Of a text of a peer the beginning.
fn cut(text: &mut String) {
    text.truncate(text.floor_char_boundary(TEXT));
}

/// That a node with these rights may do this.
fn check(rights: &MeshRights, node: &PeerName, deed: Deed, key: &Key) -> Result<(), NotAllowed> {
    match rights.may(deed, key) {
        true => Ok(()),
        false => Err(NotAllowed {
            node: node.clone(),
            deed,
            key: key.to_string(),
        }),
    }
}
