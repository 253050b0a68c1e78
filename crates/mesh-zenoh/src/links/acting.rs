//! What a link wants done is done, one thread at a time.

use super::{Current, Links, Peer, State};
use crate::key::wall;
use crate::link::{Effect, Flush, Link, OWN_END, PAUSE};
use motet_mesh::{CarrierEvent, PeerName};
use motet_sync::MutexGuard;
use std::sync::Arc;
use std::time::Instant;
use zenoh::Wait;
use zenoh::pubsub::Publisher;

impl Links {
    /// Flushes links. When the next flush is due.
    pub(super) fn flush(&self) -> Option<Instant> {
        let peers = std::mem::take(&mut *self.flushes.lock());
        let mut again = Vec::new();
        for peer in peers {
            let mut flush = Flush::End;
            self.act(&peer, |_, link, out| {
                flush = link.flush(Instant::now(), out)
            });
            if flush != Flush::End {
                again.push(peer);
            }
        }
        if again.is_empty() {
            return None;
        }
        self.flushes.lock().append(&mut again);
        Some(Instant::now() + PAUSE)
    }

    /// Whether the time of this node in the mesh has ended. The node is told, also one that has had
    /// no link to hear it by.
    pub(super) fn tells_its_end(&self) -> bool {
        let has_ended = self.identity.grant().has_ended(wall());
        if has_ended {
            let end = CarrierEvent::Down(self.name.clone(), OWN_END.to_owned());
            // An error: the node has closed its port, and wants nothing more.
            drop(self.events.post(end));
        }
        has_ended
    }

    /// Does something with the link to a peer, and says what came of it. `false`: there is none.
    pub(super) fn by_link(
        &self,
        to: &PeerName,
        body: impl FnOnce(&mut Link, &mut dyn FnMut(Effect)) -> bool,
    ) -> bool {
        let peer = self.peers.lock().get(to).cloned();
        let mut is_sent = false;
        if let Some(peer) = peer {
            self.act(&peer, |_, link, out| is_sent = body(link, out));
        }
        is_sent
    }

    /// The node has taken the oldest event of a peer that it was told and had not taken.
    pub(crate) fn taken(&self, from: &PeerName) {
        let Some(peer) = self.peers.lock().get(from).cloned() else {
            return;
        };
        let mut state = peer.state.lock();
        let State {
            current,
            effects,
            untaken,
            ..
        } = &mut *state;
        match current {
            Some(Current { link, .. }) => link.taken(&mut |effect| effects.push_back(effect)),
            None => untaken.is_taken(),
        }
        self.carry_out_all(&peer, state);
    }

    /// Does something with the link to a peer, and then what the link wants done. One thread at a
    /// time does that, and outside of the lock, so it is done in order.
    pub(super) fn act(
        &self,
        peer: &Arc<Peer>,
        body: impl FnOnce(u64, &mut Link, &mut dyn FnMut(Effect)),
    ) {
        let mut state = peer.state.lock();
        let State {
            current,
            effects,
            is_met,
            ..
        } = &mut *state;
        let Some(Current {
            incarnation, link, ..
        }) = current
        else {
            return;
        };
        body(*incarnation, link, &mut |effect| effects.push_back(effect));
        *is_met |= link.is_up();
        self.carry_out_all(peer, state);
    }

    /// Does what a link wants done, unless another thread does.
    pub(super) fn carry_out_all<'a>(&self, peer: &'a Arc<Peer>, mut state: MutexGuard<'a, State>) {
        if state.effects.is_empty() || state.acting {
            return;
        }
        state.acting = true;
        while let Some(effect) = state.effects.pop_front() {
            let current = state.current.as_ref();
            let priorities = current.map(|current| Arc::clone(&current.frame_priorities));
            drop(state);
            let mut acts = Acts(Some(peer));
            self.carry_out(effect, peer, priorities.as_deref());
            acts.0 = None;
            state = peer.state.lock();
        }
        state.acting = false;
    }

    fn carry_out(
        &self,
        effect: Effect,
        peer: &Arc<Peer>,
        priorities: Option<&[Publisher<'static>; 2]>,
    ) {
        match (effect, priorities) {
            // An error: the node has closed its port, and wants nothing more.
            (Effect::Tell(event), _) => drop(self.events.post(event)),
            // Only a session that is closed refuses, and then the node is leaving.
            (Effect::Send(priority, message), Some(priorities)) => {
                drop(priorities[priority as usize].put(message).wait());
            }
            // The peer is gone.
            (Effect::Send(..), None) => {}
            (Effect::Flush, _) => {
                self.flushes.lock().push(Arc::clone(peer));
                self.wake();
            }
        }
    }
}

/// A thread that does what a link wants. When it panics, the next one goes on.
struct Acts<'a>(Option<&'a Peer>);

impl Drop for Acts<'_> {
    fn drop(&mut self) {
        if let Some(peer) = self.0 {
            peer.state.lock().acting = false;
        }
    }
}
