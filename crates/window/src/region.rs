//! The memory of one rank's window, and who may use it.

use crate::WindowError;
use crate::locks::{Holder, Locks};
use motet_comm::{Delegate, Plain};
use motet_sync::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Every access holds the lock of the memory as long as it copies, so each is whole, and none waits
/// for long.
pub(crate) struct Region<T> {
    /// Whose it is, in the communicator.
    pub(crate) rank: usize,
    /// `None`: it was freed, or dropped.
    memory: Mutex<Option<Vec<T>>>,
    locks: Mutex<Locks>,
    /// Speaks for the rank.
    delegate: Mutex<Option<Arc<Delegate>>>,
}

impl<T: Plain> Region<T> {
    pub(crate) fn new(rank: usize, memory: Vec<T>) -> Self {
        Region {
            rank,
            memory: Mutex::new(Some(memory)),
            locks: Mutex::default(),
            delegate: Mutex::default(),
        }
    }

    /// Has `use_it` use the memory, which must not use a window.
    pub(crate) fn with<R>(&self, use_it: impl FnOnce(&mut Vec<T>) -> R) -> Result<R, WindowError> {
        let mut memory = self.memory.lock();
        let memory = memory.as_mut();
        memory
            .map(use_it)
            .ok_or(WindowError::Closed { rank: self.rank })
    }

    /// The same with a part of it.
    #[inline]
    pub(crate) fn with_part<R>(
        &self,
        offset: usize,
        length: usize,
        use_it: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, WindowError> {
        self.with(|memory| {
            let part = part(self.rank, memory.len(), offset, length)?;
            Ok(use_it(&mut memory[part]))
        })?
    }

    /// Nobody uses it any more.
    pub(crate) fn close(&self) -> Option<Vec<T>> {
        self.memory.lock().take()
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

    /// Asks for the lock; whether it is given at once.
    pub(crate) fn lock(&self, holder: Holder) -> bool {
        self.locks.lock().ask(holder)
    }

    /// Gives the lock back, or does not want it any more; tells who has got it.
    pub(crate) fn release(&self, rank: usize, tag: u32) {
        let next = self.locks.lock().release(rank, tag);
        if let Some(delegate) = self.delegate().filter(|_| !next.is_empty()) {
            for holder in next {
                // Who cannot be reached is not there any more, and the run ends.
                let _ = delegate.send(holder.rank, holder.tag, true);
            }
        }
    }
}

/// Where an access lies in a window of so many elements.
#[inline]
pub(crate) fn part(
    rank: usize,
    window: usize,
    offset: usize,
    length: usize,
) -> Result<Range<usize>, WindowError> {
    match offset.checked_add(length).filter(|&end| end <= window) {
        Some(end) => Ok(offset..end),
        None => Err(WindowError::Beyond {
            rank,
            offset,
            length,
            window,
        }),
    }
}
