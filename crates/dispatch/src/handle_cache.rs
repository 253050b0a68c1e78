//! References that a worker keeps for its next messages.
//!
//! Each message on its way holds a reference to the arbiter whose handler it will run. If it were
//! counted each time, two workers that send to the same arbiter would take the count's cache line
//! from each other. They would do so twice for each message. So a worker that has run a handler
//! keeps the message's reference, one for each of some arbiters. Its next message to the same
//! arbiter takes it back, and nothing is counted. The worker lets go what it keeps when it is told
//! that an arbiter has ended ([`Direct::let_go`]). It also does so when it has run a good many
//! tasks, and before it sleeps.
//!
//! [`Direct::let_go`]: crate::Direct::let_go

use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

/// A kept reference.
type Handle = Arc<dyn Any + Send + Sync>;

/// What one worker keeps; nobody else sees it.
pub(crate) struct HandleCache([CachedReference; SLOTS]);

/// Room for one reference.
struct CachedReference {
    /// Where its value is; null when there is none.
    at: Cell<*const ()>,
    handle: Cell<Option<Handle>>,
}

/// A power of two.
const SLOTS: usize = 64;

impl HandleCache {
    pub(crate) fn new() -> Self {
        HandleCache([const { CachedReference::new() }; SLOTS])
    }

    /// Takes out one after the other.
    pub(crate) fn drain(&self) -> impl Iterator<Item = Arc<dyn Any + Send + Sync>> {
        self.0.iter().filter_map(CachedReference::take)
    }

    /// Another reference to the value of `of`: one that is kept, or else a new one.
    #[inline]
    pub(crate) fn another<A: ?Sized>(&self, of: &Arc<A>) -> Arc<A> {
        if !self.take(Arc::as_ptr(of).cast()) {
            return Arc::clone(of);
        }
        // SAFETY: `of` lives, so no other value of an `Arc` is at its address (each has its counts
        // before it). So the reference that `take` has given up was one to this value.
        unsafe { Arc::from_raw(Arc::as_ptr(of)) }
    }

    /// Gives up, uncounted, the reference to what is at that address, if there is one.
    #[inline]
    fn take(&self, at: *const ()) -> bool {
        let slot = self.slot(at);
        let found = slot.at.get() == at;
        if found {
            let _given_up = ManuallyDrop::new(slot.take());
        }
        found
    }

    /// Keeps a reference, unless there is one in its slot already; then it comes back.
    #[inline]
    pub(crate) fn keep<A: Any + Send + Sync>(&self, handle: Arc<A>) -> Option<Arc<A>> {
        let at = Arc::as_ptr(&handle).cast();
        let slot = self.slot(at);
        if !slot.at.get().is_null() {
            return Some(handle);
        }
        slot.at.set(at);
        // Nothing is dropped: there was nothing.
        let _nothing = ManuallyDrop::new(slot.handle.replace(Some(handle)));
        None
    }

    /// The slot of what is at that address.
    #[inline]
    fn slot(&self, at: *const ()) -> &CachedReference {
        // Knuth's multiplicative hash: its upper bits hang on all of the address.
        let hash = (at.addr() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.0[(hash >> (u64::BITS - SLOTS.trailing_zeros())) as usize]
    }
}

impl CachedReference {
    const fn new() -> Self {
        CachedReference {
            at: Cell::new(ptr::null()),
            handle: Cell::new(None),
        }
    }

    #[inline]
    fn take(&self) -> Option<Handle> {
        self.at.set(ptr::null());
        self.handle.take()
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;

    fn at(of: &Arc<u32>) -> *const () {
        Arc::as_ptr(of).cast()
    }

    #[test]
    fn what_is_kept_is_taken_once() {
        let (handles, here, other) = (HandleCache::new(), Arc::new(1_u32), Arc::new(2_u32));
        assert!(handles.keep(Arc::clone(&here)).is_none());
        assert!(handles.keep(Arc::clone(&here)).is_some());
        assert_eq!(Arc::strong_count(&here), 2);
        assert!(!handles.take(at(&other)));
        let taken = handles.another(&here);
        assert_eq!(Arc::strong_count(&here), 2, "not counted");
        let new = handles.another(&here);
        assert_eq!(Arc::strong_count(&here), 3);
        drop((taken, new));
        assert_eq!(Arc::strong_count(&here), 1);
    }

    #[test]
    fn all_of_them_are_given_up() {
        let (handles, values) = (HandleCache::new(), [1, 2, 3].map(Arc::<u32>::new));
        let counts = || {
            values
                .each_ref()
                .map(Arc::strong_count)
                .iter()
                .sum::<usize>()
        };
        let kept = values
            .iter()
            .filter(|of| handles.keep(Arc::clone(of)).is_none());
        let kept = kept.count();
        assert_eq!(counts(), 3 + kept);
        assert_eq!(handles.drain().count(), kept);
        assert_eq!((counts(), handles.drain().count()), (3, 0));
        assert!(values.iter().all(|of| !handles.take(at(of))));
    }
}
