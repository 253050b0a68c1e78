//! Passive targets: locks and flushes, without the target.

use crate::answers::WindowAnswer;
use crate::head::{Act, Head};
use crate::locks::{Holder, Lock};
use crate::{Window, WindowError};
use motet_comm::{Plain, Tag};
use std::fmt;
use std::future::Future;
use std::mem;

/// A lock that this rank holds on the window of a rank. Made by [`Window::lock`].
///
/// Dropping it gives it back without waiting for that.
#[must_use = "a lock that is dropped is given back"]
pub struct Locked<'w, T: Plain> {
    window: &'w Window<T>,
    rank: usize,
    tag: Tag,
    is_held: bool,
}

/// Shared locks on the windows of all ranks. Made by [`Window::lock_all`].
#[must_use = "locks that are dropped are given back"]
#[derive(Debug)]
pub struct LockedAll<'w, T: Plain>(Vec<Locked<'w, T>>);

/// # Without the target
///
/// The rank whose window it is does nothing for it: it may compute, or wait for something else.
impl<T: Plain> Window<T> {
    /// Waits for the lock on the window of a rank (MPI_WIN_LOCK). Who asks first gets it first. It
    /// keeps away those only that lock, too.
    ///
    /// # Errors
    /// [`WindowError::Locked`] when this rank has it already; [`WindowError::Comm`].
    ///
    /// # Cancellation
    /// A lock that is not waited for any more is not taken.
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_window::{Lock, Window, WindowError};
    ///
    /// // What several calls do to rank 0 belongs together.
    /// let sums = World::threads(4)
    ///     .run(async |comm| -> Result<_, WindowError> {
    ///         let window = Window::create(&comm, vec![0, 0]).await?;
    ///         let lock = window.lock(0, Lock::Exclusive).await?;
    ///         let old = window.get(0, 0, 2).await?;
    ///         window.put(0, 0, &[old[0] + 1, old[1] + comm.rank()]).await?;
    ///         lock.unlock().await?;
    ///         window.free().await
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums[0], [4, 6]);
    /// ```
    #[track_caller]
    pub fn lock(
        &self,
        rank: usize,
        lock: Lock,
    ) -> impl Future<Output = Result<Locked<'_, T>, WindowError>> {
        let tag = self.next_tag();
        let given = self.comm.recv::<bool>(rank, tag);
        async move {
            self.part(rank, 0, 0)?;
            if !self.locked.borrow_mut().insert(rank) {
                return Err(WindowError::Locked { rank });
            }
            // From here on it is given back, whatever happens.
            let locked = Locked {
                window: self,
                rank,
                tag,
                is_held: true,
            };
            if let Some(region) = self.site.region(rank) {
                let holder = Holder {
                    rank: self.rank(),
                    tag,
                    lock,
                };
                if region.lock(holder) {
                    return Ok(locked);
                }
            } else {
                let op = u8::from(lock == Lock::Exclusive);
                let head = self.head(Act::Lock, 0);
                self.ask(rank, Head { op, tag, ..head }, &[])?;
            }
            let given = self.left.or_leave(WindowAnswer::word(rank, tag), given);
            given.await?;
            Ok(locked)
        }
    }

    /// Waits for shared locks on the windows of all ranks (MPI_WIN_LOCK_ALL).
    ///
    /// # Errors
    /// As [`Window::lock`].
    #[track_caller]
    pub fn lock_all(&self) -> impl Future<Output = Result<LockedAll<'_, T>, WindowError>> {
        let mut locks = Vec::with_capacity(self.size());
        // Not in a closure: that does not know the caller.
        for rank in 0..self.size() {
            locks.push(self.lock(rank, Lock::Shared));
        }
        async move {
            let mut all = Vec::with_capacity(locks.len());
            for lock in locks {
                all.push(lock.await?);
            }
            Ok(LockedAll(all))
        }
    }

    /// Waits until all that this rank has done to the window of a rank is done there
    /// (MPI_WIN_FLUSH).
    ///
    /// # Errors
    /// [`WindowError::Closed`]; [`WindowError::Comm`].
    #[track_caller]
    pub fn flush(&self, rank: usize) -> impl Future<Output = Result<(), WindowError>> {
        let tag = self.next_tag();
        let done = self.comm.recv::<bool>(rank, tag);
        async move {
            self.part(rank, 0, 0)?;
            if !self.pending.is_pending(rank) {
                return Ok(());
            }
            // What is asked from here on is not waited for.
            let asked = self.pending.asked(rank);
            let head = self.head(Act::Flush, 0);
            self.ask(rank, Head { tag, ..head }, &[])?;
            let done = self.left.or_leave(WindowAnswer::word(rank, tag), done);
            let is_open = done.await?;
            self.pending.are_done(rank, asked);
            match is_open {
                true => Ok(()),
                false => Err(WindowError::Closed { rank }),
            }
        }
    }

    /// As [`Window::flush`], of all ranks (MPI_WIN_FLUSH_ALL).
    ///
    /// # Errors
    /// As [`Window::flush`].
    #[track_caller]
    pub fn flush_all(&self) -> impl Future<Output = Result<(), WindowError>> {
        let mut flushes = Vec::new();
        for rank in self.pending.ranks() {
            flushes.push(self.flush(rank));
        }
        async move {
            for flush in flushes {
                flush.await?;
            }
            Ok(())
        }
    }

    /// Gives a lock back, or the wish for it.
    fn release(&self, rank: usize, tag: Tag) -> Result<(), WindowError> {
        self.locked.borrow_mut().remove(&rank);
        match self.site.region(rank) {
            Some(region) => {
                region.release(self.rank(), tag);
                Ok(())
            }
            None => {
                let head = self.head(Act::Unlock, 0);
                self.ask(rank, Head { tag, ..head }, &[])
            }
        }
    }
}

impl<T: Plain> Locked<'_, T> {
    /// The rank whose window it is.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Gives it back when all that was done under it is done there (MPI_WIN_UNLOCK).
    ///
    /// # Errors
    /// As [`Window::flush`].
    #[track_caller]
    pub fn unlock(self) -> impl Future<Output = Result<(), WindowError>> {
        let flushed = self.window.flush(self.rank);
        async move {
            let mut locked = self;
            flushed.await?;
            locked.is_held = false;
            locked.window.release(locked.rank, locked.tag)
        }
    }
}

impl<T: Plain> LockedAll<'_, T> {
    /// Gives all of them back when all that was done under them is done (MPI_WIN_UNLOCK_ALL).
    ///
    /// # Errors
    /// As [`Window::flush`].
    #[track_caller]
    pub fn unlock_all(self) -> impl Future<Output = Result<(), WindowError>> {
        let mut unlocks = Vec::with_capacity(self.0.len());
        // Not in a closure: that does not know the caller.
        for lock in self.0 {
            unlocks.push(lock.unlock());
        }
        async move {
            for unlock in unlocks {
                unlock.await?;
            }
            Ok(())
        }
    }
}

impl<T: Plain> Drop for Locked<'_, T> {
    fn drop(&mut self) {
        if mem::take(&mut self.is_held) {
            // It fails only where the run is over.
            let _ = self.window.release(self.rank, self.tag);
        }
    }
}

impl<T: Plain> fmt::Debug for Locked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locked")
            .field("rank", &self.rank)
            .finish_non_exhaustive()
    }
}
