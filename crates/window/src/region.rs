//! The window of one rank of this process: its memory, its lock, and who speaks for the rank.

use crate::locks::{Holder, Locks};
use crate::memory::WindowMemory;
use motet_comm::{Delegate, Plain};
use motet_sync::Mutex;
use std::sync::Arc;

pub(crate) struct Region<T> {
    /// Whose it is, in the communicator.
    pub(crate) rank: usize,
    /// Empty where the processes share memory. A region may last as long as its run.
    pub(crate) memory: WindowMemory<T>,
    locks: Mutex<Locks>,
    /// Speaks for the rank.
    delegate: Mutex<Option<Arc<Delegate>>>,
}

impl<T: Plain> Region<T> {
    pub(crate) fn new(rank: usize, memory: WindowMemory<T>) -> Self {
        Region {
            rank,
            memory,
            locks: Mutex::default(),
            delegate: Mutex::default(),
        }
    }

    pub(crate) fn speak_by(&self, delegate: Arc<Delegate>) {
        *self.delegate.lock() = Some(delegate);
    }

    /// Nobody speaks for the rank any more.
    pub(crate) fn fall_silent(&self) {
        let delegate = self.delegate.lock().take();
        drop(delegate);
    }

    /// Who speaks for the rank.
    pub(crate) fn delegate(&self) -> Option<Arc<Delegate>> {
        self.delegate.lock().clone()
    }

    /// Asks for the lock; whether it is given at once. If not, the holder is told once: that it has
    /// it, or that it does not wait any more.
    pub(crate) fn lock(&self, holder: Holder) -> bool {
        self.locks.lock().ask(holder)
    }

    /// Gives the lock back, or does not want it any more; tells who has got it, and who waited.
    pub(crate) fn release(&self, rank: usize, tag: u32) {
        let (waited, next) = self.locks.lock().release(rank, tag);
        if !waited && next.is_empty() {
            return;
        }
        let Some(delegate) = self.delegate() else {
            return;
        };
        // Who cannot be reached is not there any more, and the run ends.
        if waited {
            let _ = delegate.send(rank, tag, false);
        }
        for holder in next {
            let _ = delegate.send(holder.rank, holder.tag, true);
        }
    }
}
