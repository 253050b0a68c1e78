//! Subscriptions of peers that went with a broken link, and what they miss until they come back:
//! the publisher is told then, and each subscriber with the next sample.

use crate::flow::FlowTarget;
use crate::{Gap, MAX_ENTRIES, PeerName};
use std::collections::BTreeMap;

/// Of each peer the last subscriptions that went, as many as a node may have, and the number of the
/// first sample that each of them misses. Of peers no more are known than a node may have topics:
/// some never come back.
#[derive(Default)]
pub(super) struct AwayFlows(BTreeMap<PeerName, BTreeMap<u32, u64>>);

impl AwayFlows {
    /// A subscription goes. The next sample has this number.
    pub(super) fn goes(&mut self, to: &FlowTarget, next: u64) {
        if let FlowTarget::There(peer, subscription) = to {
            if self.0.len() >= MAX_ENTRIES && !self.0.contains_key(peer) {
                return;
            }
            let of_peer = self.0.entry(peer.clone()).or_default();
            of_peer.insert(*subscription, next);
            if of_peer.len() > MAX_ENTRIES {
                // Its subscriptions are numbered in the order in which they began.
                of_peer.pop_first();
            }
        }
    }

    /// It has come back, and gets samples from this number on: what it misses.
    pub(super) fn comes_back(&mut self, to: &FlowTarget, first: u64) -> Option<Gap> {
        let FlowTarget::There(peer, subscription) = to else {
            return None;
        };
        let of_peer = self.0.get_mut(peer)?;
        let from = of_peer.remove(subscription)?;
        if of_peer.is_empty() {
            self.0.remove(peer);
        }
        (from < first).then(|| Gap {
            from,
            to: first - 1,
        })
    }

    /// The peer does not come back, or comes back as another.
    pub(super) fn forget(&mut self, peer: &PeerName) {
        self.0.remove(peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g211_what_one_misses_is_told_once_and_of_the_last_that_went() {
        let mut away = AwayFlows::default();
        let (peer, to) = (PeerName::new("b"), |id| {
            FlowTarget::There(PeerName::new("b"), id)
        });
        away.goes(&to(1), 5);
        away.goes(&to(2), 5);
        assert_eq!(away.comes_back(&to(1), 8), Some(Gap { from: 5, to: 7 }));
        assert_eq!(away.comes_back(&to(1), 8), None);
        assert_eq!(away.comes_back(&to(2), 5), None, "it has missed nothing");
        assert!(away.0.is_empty());
        let all = MAX_ENTRIES as u32;
        (0..all + 7).for_each(|id| away.goes(&to(id), 1));
        assert_eq!(away.0[&peer].len(), MAX_ENTRIES);
        assert_eq!(away.comes_back(&to(6), 9), None);
        assert!(away.comes_back(&to(7), 9).is_some());
        // Nor does a topic keep more peers in mind than a node may have topics.
        for n in 0..MAX_ENTRIES + 7 {
            away.goes(&FlowTarget::There(PeerName::new(format!("p{n}")), 1), 1);
        }
        assert_eq!(away.0.len(), MAX_ENTRIES);
        away.goes(&to(8), 1);
        assert!(away.comes_back(&to(8), 9).is_some(), "one that is known");
        away.forget(&peer);
        assert_eq!(away.comes_back(&to(8), 9), None);
    }
}
