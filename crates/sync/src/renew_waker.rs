//! Wakers that are kept until something comes.

use std::mem;
use std::task::Waker;

/// Keeps this waker from now on. Gives back the one before, if that wakes another.
///
/// Where the waker is kept under a lock, the one before is dropped when the lock is released: its
/// destructor is the program's, and may drop a whole task.
///
/// ```
/// use motet_sync::renew_waker;
/// use std::task::Waker;
///
/// let mut kept = Waker::noop().clone();
/// assert!(renew_waker(&mut kept, Waker::noop()).is_none());
/// ```
#[must_use = "it is dropped when the lock is released"]
pub fn renew_waker(kept: &mut Waker, waker: &Waker) -> Option<Waker> {
    let is_other = !kept.will_wake(waker);
    is_other.then(|| mem::replace(kept, waker.clone()))
}
