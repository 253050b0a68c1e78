//! What has gone through a port, in numbers.
//!
//! A post counts nothing: the stamps that give items their place number them, and what is rare is
//! counted where it happens. The rest follows by subtraction.

use super::Port;

/// What has gone through a port so far, and what is in it; see [`Port::counters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PortCounters {
    /// The items that came in: by a post that was not refused, or put back by hand.
    pub posted: u64,
    /// Of these, those that have been taken and have not come back.
    pub taken: u64,
    /// Of these, those that wait in the port now.
    pub waiting: u64,
    /// Of these, those that were dropped for want of room.
    pub dropped: u64,
    /// The items that were handed back to their posters.
    pub refused: u64,
}

/// The stamps that were given to something else than an item that came in.
#[derive(Default)]
pub(super) struct TurnedAway {
    all: u64,
    /// Those that were not refused. They are of items whose posters wait for room, which have
    /// another stamp when they come again. They are also of items that come back to the front.
    kept: u64,
}

impl TurnedAway {
    #[cold]
    pub(super) fn count(&mut self) {
        self.all += 1;
    }

    /// The poster of the one that was counted last waits.
    pub(super) fn waits(&mut self) {
        self.kept += 1;
    }

    /// An item that came in before comes back.
    pub(super) fn comes_back(&mut self) {
        self.all += 1;
        self.kept += 1;
    }
}

/// # Counters
impl<T: Send + 'static> Port<T> {
    /// What has gone through the port, as of now. Posts are not slower for it.
    ///
    /// `posted` is always the sum of `taken`, `waiting` and `dropped`. An item that waits for room
    /// outside of the port ([`Port::post_wait`]) is in none of them.
    ///
    /// ```
    /// use motet_ports::{Overflow, Port};
    ///
    /// let port = Port::bounded(2, Overflow::Reject);
    /// (1..=3).for_each(|n| drop(port.post(n)));
    /// assert_eq!(port.test(), Some(1));
    /// let counters = port.counters();
    /// assert_eq!((counters.posted, counters.refused), (2, 1));
    /// assert_eq!((counters.taken, counters.waiting), (1, 1));
    /// ```
    #[must_use]
    pub fn counters(&self) -> PortCounters {
        let state = self.core.state();
        let posted = state.stamps.given() - state.turned_away.all;
        let waiting = state.item_count() as u64;
        let dropped = state.bound.as_ref().map_or(0, |bound| bound.dropped);
        PortCounters {
            posted,
            taken: posted - waiting - dropped,
            waiting,
            dropped,
            refused: state.turned_away.all - state.turned_away.kept,
        }
    }
}
