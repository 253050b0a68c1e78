//! Which starts of a peer show themselves. Whoever is in the mesh may repeat what an earlier start
//! has shown, and who has the key of the mesh may make up names; only a node that is there shakes
//! hands. The last start of a name is tried at once, and then every second time.

use super::{Links, Peer};
use motet_mesh::PeerName;
use std::collections::BTreeMap;
use std::sync::Arc;
use zenoh::sample::SampleKind;

/// How many names are tried at once with which no link has been up.
const TRIED: usize = 512;

/// How many heartbeats such a name is tried for while others wait.
const TURN: u32 = 3;

/// How many wait, at most.
const WAIT: usize = 1 << 16;

/// How many starts of one name are kept.
const STARTS: usize = 64;

/// How many tokens are taken before links are looked after again.
const TOKENS: usize = 64;

/// What is shown and not tried yet. Each has its turn, the first to come first.
#[derive(Default)]
pub(super) struct ShownTurns {
    numbers: BTreeMap<(PeerName, u64), u64>,
    /// By their numbers.
    waits: BTreeMap<u64, (PeerName, u64)>,
    /// Of the next one to come.
    number: u64,
}

impl ShownTurns {
    fn enter(&mut self, name: &PeerName, incarnation: u64) {
        let shown = (name.clone(), incarnation);
        if self.waits.len() < WAIT && !self.numbers.contains_key(&shown) {
            self.numbers.insert(shown.clone(), self.number);
            self.waits.insert(self.number, shown);
            self.number += 1;
        }
    }

    fn leave(&mut self, name: &PeerName, incarnation: u64) {
        if let Some(number) = self.numbers.remove(&(name.clone(), incarnation)) {
            self.waits.remove(&number);
        }
    }

    /// Whose turn it is.
    fn next(&mut self) -> Option<(PeerName, u64)> {
        let (_, next) = self.waits.pop_first()?;
        self.numbers.remove(&next);
        Some(next)
    }
}

impl Links {
    /// Takes some of the tokens that have come or gone.
    pub(super) fn take_tokens(self: &Arc<Self>, turns: &mut ShownTurns) {
        for _ in 0..TOKENS {
            let Some((kind, name, incarnation)) = self.tokens.lock().pop_front() else {
                return;
            };
            match kind {
                SampleKind::Put => self.shows(&name, incarnation, turns),
                SampleKind::Delete => {
                    turns.leave(&name, incarnation);
                    self.hides(&name, incarnation);
                }
            }
        }
        self.wake();
    }

    fn shows(self: &Arc<Self>, name: &PeerName, incarnation: u64, turns: &mut ShownTurns) {
        let known = self.peers.lock().get(name).cloned();
        let peer = match known {
            Some(peer) => peer,
            None if self.tried() >= TRIED => return turns.enter(name, incarnation),
            None => Arc::clone(self.peers.lock().entry(name.clone()).or_default()),
        };
        peer.shows(incarnation);
        // An earlier start waits for its turn.
        if peer.current().is_none_or(|(known, _)| known < incarnation) {
            self.comes(&peer, name, incarnation);
        }
    }

    fn hides(self: &Arc<Self>, name: &PeerName, incarnation: u64) {
        let Some(peer) = self.peers.lock().get(name).cloned() else {
            return;
        };
        let left = peer.hides(incarnation);
        self.goes(&peer, incarnation, None);
        match left {
            // The token of an earlier start may go after that of this one has come.
            Some(left) => self.comes(&peer, name, left),
            None => self.forget(name, &peer),
        }
    }

    /// How many names are tried.
    fn tried(&self) -> usize {
        let peers = self.peers.lock();
        peers
            .values()
            .filter(|peer| !peer.state.lock().is_met)
            .count()
    }

    /// While others wait: who has had its turn waits again, and the next ones are tried.
    pub(super) fn give_turns(self: &Arc<Self>, turns: &mut ShownTurns) {
        if turns.waits.is_empty() {
            return;
        }
        let peers: Vec<_> = self.peers.lock().clone().into_iter().collect();
        let mut free = TRIED;
        for (name, peer) in peers {
            if let Some(shown) = peer.ends_its_turn() {
                shown.iter().for_each(|start| turns.enter(&name, *start));
                self.forget(&name, &peer);
            } else if !peer.state.lock().is_met {
                free = free.saturating_sub(1);
            }
        }
        for _ in 0..free {
            let Some((name, incarnation)) = turns.next() else {
                return;
            };
            self.shows(&name, incarnation, turns);
        }
    }

    /// A peer that is gone is known no longer, once the node has been told and has taken all.
    pub(super) fn forget(&self, name: &PeerName, peer: &Peer) {
        let mut peers = self.peers.lock();
        let state = peer.state.lock();
        let is_told = state.effects.is_empty() && !state.acting && state.untaken.is_empty();
        if state.current.is_none() && is_told {
            peers.remove(name);
        }
    }

    /// A start that is shown and shakes no hands may be gone: another one of the name is tried. A
    /// peer that nobody shows is forgotten.
    pub(super) fn tries_another(self: &Arc<Self>, peer: &Arc<Peer>, name: &PeerName) {
        let known = match peer.current() {
            Some((known, false)) => known,
            Some((_, true)) => return,
            None => return self.forget(name, peer),
        };
        peer.state.lock().tried += 1;
        if let Some(next) = peer.tried_after(known) {
            self.comes(peer, name, next);
        }
    }
}

impl Peer {
    /// The token of this incarnation has come.
    pub(super) fn shows(&self, incarnation: u64) {
        let mut state = self.state.lock();
        if let Err(at) = state.shown.binary_search(&incarnation) {
            state.shown.insert(at, incarnation);
        }
        if state.shown.len() > STARTS {
            let current = state.current.as_ref().map(|current| current.incarnation);
            let is_other = |start: &u64| Some(*start) != current;
            let oldest = state.shown.iter().position(is_other);
            oldest.map(|at| state.shown.remove(at));
        }
    }

    /// It has gone; the last incarnation of those that are left.
    pub(super) fn hides(&self, incarnation: u64) -> Option<u64> {
        let mut state = self.state.lock();
        state.shown.retain(|other| *other != incarnation);
        state.shown.last().copied()
    }

    /// What it shows, if it has been tried for long enough, and no link to it has ever been up.
    fn ends_its_turn(&self) -> Option<Vec<u64>> {
        let mut state = self.state.lock();
        if state.is_met || state.tried < TURN {
            return None;
        }
        let (gone, shown) = (state.current.take(), std::mem::take(&mut state.shown));
        state.tried = 0;
        drop(state);
        // Outside of the lock: it undeclares publishers.
        drop(gone);
        Some(shown)
    }

    /// The incarnation that a link is kept to or tried with, and whether it is up.
    pub(super) fn current(&self) -> Option<(u64, bool)> {
        let state = self.state.lock();
        let current = state.current.as_ref();
        current.map(|current| (current.incarnation, current.link.is_up()))
    }

    /// The incarnation that is tried after this one: the last one, or after that one of the others,
    /// each in turn.
    fn tried_after(&self, incarnation: u64) -> Option<u64> {
        let state = self.state.lock();
        let (last, others) = state.shown.split_last()?;
        if *last != incarnation {
            return Some(*last);
        }
        let turn = state.tried as usize / 2;
        others.get(turn % others.len().max(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g569_names_that_wait_have_their_turns_whatever_others_show() {
        let mut turns = ShownTurns::default();
        let made_up = |n: usize| PeerName::new(format!("x{n}"));
        let tried = |turns: &mut ShownTurns| -> Vec<_> {
            let next = std::iter::from_fn(|| turns.next());
            next.take(TRIED).collect()
        };
        (0..WAIT / 2).for_each(|n| turns.enter(&made_up(n), 0));
        turns.enter(&PeerName::new("honest"), 1);
        let mut rounds = 0;
        loop {
            let now = tried(&mut turns);
            rounds += 1;
            assert!(rounds <= WAIT / 2 / TRIED + 1);
            if now.iter().any(|(name, _)| name.as_str() == "honest") {
                break;
            }
            // Others take the places of those that had their turns, and theirs are shown anew.
            for (at, (name, start)) in now.iter().enumerate() {
                turns.enter(name, *start);
                turns.enter(&made_up(at), rounds as u64);
                turns.leave(&made_up(at), rounds as u64 - 1);
            }
        }
        (0..2 * WAIT).for_each(|n| turns.enter(&made_up(n), 1 << 40));
        assert_eq!((turns.waits.len(), turns.numbers.len()), (WAIT, WAIT));
        turns.leave(&made_up(7), 1 << 40);
        let mut all: Vec<_> = std::iter::from_fn(|| turns.next()).collect();
        assert!(turns.numbers.is_empty() && !all.contains(&(made_up(7), 1 << 40)));
        all.sort();
        assert!(all.windows(2).all(|two| two[0] != two[1]), "each once");
    }

    #[test]
    fn sem_g569_of_a_name_the_last_starts_are_kept() {
        let peer = Peer::default();
        for start in 0..10_000 {
            peer.shows(start);
        }
        let shown = peer.state.lock().shown.clone();
        assert!(shown.len() <= STARTS && shown.last() == Some(&9_999));
        assert_eq!(peer.hides(9_999), Some(9_998));
    }

    #[test]
    fn sem_g586_the_last_start_of_a_name_is_tried_every_second_time_and_the_others_in_turn() {
        let peer = Peer::default();
        // As they come: the last one is not the last to come.
        for start in [30, 90, 10, 20, 90] {
            peer.shows(start);
        }
        let mut tried = vec![90];
        for _ in 0..8 {
            peer.state.lock().tried += 1;
            tried.extend(peer.tried_after(tried[tried.len() - 1]));
        }
        let mut others: Vec<_> = tried.iter().skip(1).step_by(2).take(3).copied().collect();
        others.sort_unstable();
        assert_eq!(others, [10, 20, 30], "{tried:?}");
        assert!(
            tried.iter().step_by(2).all(|start| *start == 90),
            "{tried:?}"
        );
        for start in [10, 20, 30] {
            peer.hides(start);
        }
        assert_eq!(peer.tried_after(90), None);
        assert_eq!(peer.tried_after(10), Some(90));
    }
}
