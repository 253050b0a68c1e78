//! Which starts of a peer show themselves. Whoever is in the mesh may show a name; only the node
//! that has it shakes hands.

use super::{Links, Peer};
use motet_mesh::PeerName;
use std::sync::Arc;

impl Links {
    /// A peer that shows itself and shakes no hands may be somebody else, or gone: the next one
    /// that shows the name is tried.
    pub(super) fn tries_another(self: &Arc<Self>, peer: &Arc<Peer>, name: &PeerName) {
        let Some((known, false)) = peer.current() else {
            return;
        };
        if let Some(next) = peer.shown_after(known) {
            self.comes(peer, name, next);
        }
    }
}

impl Peer {
    /// The token of this incarnation has come.
    pub(super) fn shows(&self, incarnation: u64) {
        let mut state = self.state.lock();
        state.shown.retain(|other| *other != incarnation);
        state.shown.push(incarnation);
    }

    /// It has gone; the incarnation whose token came last of those that are left.
    pub(super) fn hides(&self, incarnation: u64) -> Option<u64> {
        let mut state = self.state.lock();
        state.shown.retain(|other| *other != incarnation);
        state.shown.last().copied()
    }

    /// The incarnation that a link is kept to or tried with, and whether it is up.
    pub(super) fn current(&self) -> Option<(u64, bool)> {
        let state = self.state.lock();
        let current = state.current.as_ref();
        current.map(|current| (current.incarnation, current.link.is_up()))
    }

    /// The incarnation whose token came after that of this one, else the first.
    fn shown_after(&self, incarnation: u64) -> Option<u64> {
        let state = self.state.lock();
        let shown = &state.shown;
        let at = shown.iter().position(|other| *other == incarnation);
        let next = at.and_then(|at| shown.get(at + 1)).or(shown.first());
        next.copied().filter(|next| *next != incarnation)
    }
}
