//! What a rank has still to tell its neighbours: that lanes to and from them are gone.
//!
//! It is not told where the lanes are dropped, since a rank that fails drops them as well: its
//! neighbours' errors must not overtake its own. So it is told after a poll in which the rank has not
//! ended. The ranks of one thread share the list: it is empty between their polls.

use super::hall::Hall;
use super::lane::Closer;
use motet_sync::atomic::{Ordering, fence};
use std::cell::RefCell;

/// Touched by one thread only.
#[derive(Default)]
pub(crate) struct Farewells(RefCell<Vec<(usize, Closer)>>);

impl Farewells {
    /// Keeps the closer of a lane to or from `peer`.
    pub(super) fn add(&self, peer: usize, closer: Closer) {
        self.0.borrow_mut().push((peer, closer));
    }

    /// Tells the neighbours; called when a poll of the rank has ended and the rank has not.
    #[inline]
    pub(crate) fn tell(&self, hall: &Hall) {
        if !self.0.borrow().is_empty() {
            self.tell_all(hall);
        }
    }

    /// The rank has ended: nobody is told.
    pub(crate) fn forget(&self) {
        self.0.take();
    }

    #[cold]
    fn tell_all(&self, hall: &Hall) {
        for (peer, close) in self.0.take() {
            close();
            fence(Ordering::SeqCst);
            hall.slots[peer].wake_if_sleeping();
        }
    }
}
