//! Who holds the lock on a window, and who waits for it.

use std::collections::VecDeque;

/// How a window is locked (MPI-3.1, 11.5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lock {
    /// Others may hold it too that want it shared (MPI_LOCK_SHARED).
    Shared,
    /// Nobody else holds it (MPI_LOCK_EXCLUSIVE).
    Exclusive,
}

/// A rank that holds the lock or waits for it, and the tag with which it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) rank: usize,
    pub(crate) tag: u32,
    pub(crate) lock: Lock,
}

/// First come, first served: who wants it shared does not pass one who wants it alone.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    holders: Vec<Holder>,
    waiting: VecDeque<Holder>,
}

impl Locks {
    /// Gives the lock to this one, or has it wait; whether it has it.
    pub(crate) fn ask(&mut self, holder: Holder) -> bool {
        let free = self.waiting.is_empty() && self.fits(holder.lock);
        if free {
            self.holders.push(holder);
        } else {
            self.waiting.push_back(holder);
        }
        free
    }

    /// This one does not want it any more, whether it holds it or waits. Whether it waited, and who
    /// has got it now.
    pub(crate) fn release(&mut self, rank: usize, tag: u32) -> (bool, Vec<Holder>) {
        let other = |holder: &Holder| (holder.rank, holder.tag) != (rank, tag);
        self.holders.retain(other);
        let before = self.waiting.len();
        self.waiting.retain(other);
        let waited = self.waiting.len() < before;
        let mut next = Vec::new();
        while let Some(first) = self
            .waiting
            .front()
            .copied()
            .filter(|it| self.fits(it.lock))
        {
            self.waiting.pop_front();
            self.holders.push(first);
            next.push(first);
        }
        (waited, next)
    }

    fn fits(&self, lock: Lock) -> bool {
        match lock {
            Lock::Exclusive => self.holders.is_empty(),
            Lock::Shared => self.holders.iter().all(|it| it.lock == Lock::Shared),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_given_in_the_order_in_which_they_were_asked_for() {
        let mut locks = Locks::default();
        let holder = |rank, lock| Holder { rank, tag: 1, lock };
        let (shared, alone) = (Lock::Shared, Lock::Exclusive);
        assert!(locks.ask(holder(0, shared)) && locks.ask(holder(1, shared)));
        assert!(!locks.ask(holder(2, alone)) && !locks.ask(holder(3, shared)));
        assert!(!locks.ask(holder(4, shared)) && !locks.ask(holder(5, alone)));
        assert_eq!(locks.release(0, 1), (false, vec![]));
        assert_eq!(locks.release(1, 2), (false, vec![]), "of another tag");
        assert_eq!(locks.release(1, 1), (false, vec![holder(2, alone)]));
        let both = [3, 4].map(|rank| holder(rank, shared));
        assert_eq!(locks.release(2, 1), (false, both.to_vec()));
        // One that waits gives up.
        assert!(!locks.ask(holder(6, shared)));
        assert_eq!(locks.release(5, 1), (true, vec![holder(6, shared)]));
    }
}
