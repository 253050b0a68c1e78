//! What ranks have still to tell their neighbours: that rings to and from them are gone.
//!
//! It is not told where the rings are dropped, since a rank that fails drops them as well. Its
//! neighbours' errors must not overtake its own. So it is told after a poll in which the rank has
//! not ended, or when an entered rank blocks. The ranks of one thread share a list: it is empty
//! between their polls.

use super::Closer;
use super::local_ranks::LocalRanks;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering, fence};

/// The list of one worker, whose thread alone touches it.
#[derive(Default)]
pub(crate) struct PendingCloses {
    /// Relaxed everywhere: one thread at a time.
    any: AtomicBool,
    list: Mutex<Vec<(usize, Closer)>>,
}

impl PendingCloses {
    /// Keeps the closer of a ring to or from `peer`.
    pub(super) fn add(&self, peer: usize, closer: Closer) {
        self.list.lock().push((peer, closer));
        self.any.store(true, Ordering::Relaxed);
    }

    /// Tells the neighbours; called when a poll of the rank has ended and the rank has not.
    #[inline]
    pub(crate) fn tell(&self, local: &LocalRanks) {
        if self.any.load(Ordering::Relaxed) {
            self.tell_all(local);
        }
    }

    /// The rank has ended: nobody is told.
    pub(crate) fn forget(&self) {
        drop(self.take());
    }

    #[cold]
    fn tell_all(&self, local: &LocalRanks) {
        for (peer, close) in self.take() {
            close();
            fence(Ordering::SeqCst);
            local.slot(peer).wake_if_sleeping();
        }
    }

    fn take(&self) -> Vec<(usize, Closer)> {
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.list.lock())
    }
}
