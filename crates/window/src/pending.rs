//! What this rank has changed in other processes, and how much of it is known to be done.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// Changes of the windows of other processes, counted for each rank in the order in which they were
/// asked for.
#[derive(Debug, Default)]
pub(crate) struct PendingChanges(RefCell<BTreeMap<usize, Changes>>);

/// Those of one rank's window.
#[derive(Debug, Default, Clone, Copy)]
struct Changes {
    asked: u64,
    /// So many of them, the first, are known to be done.
    done: u64,
}

impl PendingChanges {
    /// One more is asked for.
    pub(crate) fn ask(&self, rank: usize) {
        self.0.borrow_mut().entry(rank).or_default().asked += 1;
    }

    /// How many were asked for so far.
    pub(crate) fn asked(&self, rank: usize) -> u64 {
        self.0.borrow().get(&rank).map_or(0, |of| of.asked)
    }

    /// The same for each rank.
    pub(crate) fn all_asked(&self) -> Vec<(usize, u64)> {
        let changes = self.0.borrow();
        changes.iter().map(|(&rank, of)| (rank, of.asked)).collect()
    }

    /// The first `count` are done.
    pub(crate) fn are_done(&self, rank: usize, count: u64) {
        if let Some(of) = self.0.borrow_mut().get_mut(&rank) {
            of.done = of.done.max(count);
        }
    }

    /// Whether some may not be done.
    pub(crate) fn is_pending(&self, rank: usize) -> bool {
        let changes = self.0.borrow();
        changes.get(&rank).is_some_and(|of| of.done < of.asked)
    }

    /// The ranks of which some may not be done.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        let changes = self.0.borrow();
        let pending = changes.iter().filter(|(_, of)| of.done < of.asked);
        pending.map(|(&rank, _)| rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_after_a_count_is_pending() {
        let pending = PendingChanges::default();
        assert!(!pending.is_pending(1));
        pending.ask(1);
        let asked = pending.asked(1);
        pending.ask(1);
        pending.ask(3);
        pending.are_done(1, asked);
        pending.are_done(2, 7);
        assert_eq!(pending.ranks(), [1, 3]);
        let all = pending.all_asked();
        assert_eq!(all, [(1, 2), (3, 1)]);
        for (rank, count) in all {
            pending.are_done(rank, count);
        }
        // An older answer takes nothing back.
        pending.are_done(1, asked);
        assert!(pending.ranks().is_empty() && !pending.is_pending(1));
    }
}
