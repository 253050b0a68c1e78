//! A place for something that many share, and that one has alone to change it.

use crate::asymmetric;
use crate::atomic::{AtomicBool, Ordering, fence};
use crate::spin_mutex::{SpinGuard, SpinMutex};
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};

/// Where a `P` lies, a pointer that is cloned to share what it points to. Who changes that takes it
/// out meanwhile, and puts it back. After the end nothing comes in.
///
/// Who may take it out, and when, is the business of others. What the place has is given back, to
/// be dropped where nothing is locked.
///
/// ```
/// use motet_sync::SharedPlace;
/// use std::sync::Arc;
///
/// let place = SharedPlace::default();
/// assert_eq!(place.exchange(Arc::new(1)), None);
/// let mut held = place.hold().unwrap();
/// assert!(place.is_empty());
/// *Arc::get_mut(&mut held).unwrap() += 1;
/// assert_eq!(held.put(), None);
/// assert_eq!(place.read(|number| *number), Some(2));
/// let taken = place.take().unwrap();
/// assert_eq!(place.end(), None);
/// assert_eq!(place.exchange(taken), Some(Arc::new(2)), "it has ended");
/// ```
pub struct SharedPlace<P> {
    value: SpinMutex<Option<P>>,
    /// Who holds the value holds the lock. Others take the place for empty then.
    is_held: AtomicBool,
    has_ended: AtomicBool,
    is_asymmetric: bool,
}

/// A value that somebody has alone where it lies. Unless it is [put back](HeldPlace::put) it is
/// dropped with this, and the place is empty.
#[must_use = "it is lost when this is dropped"]
pub struct HeldPlace<'a, P> {
    place: &'a SharedPlace<P>,
    /// There until it is put back. It has a value.
    value: Option<SpinGuard<'a, Option<P>>>,
}

impl<P> SharedPlace<P> {
    /// Uses what lies there; `None`, for a place that is held.
    #[inline]
    fn with<R>(&self, work: impl FnOnce(&mut Option<P>) -> R) -> Option<R> {
        loop {
            if let Some(mut value) = self.value.try_lock() {
                return Some(work(&mut value));
            }
            // Who has the lock has seen what was done under it before: so does who finds it locked.
            fence(Ordering::Acquire);
            if self.is_held.load(Ordering::Relaxed) {
                return None;
            }
            self.value.spin();
        }
    }

    /// Reads the value where it lies, if it does: a few instructions, as under a [`SpinMutex`].
    #[inline]
    pub fn read<R>(&self, read: impl FnOnce(&P::Target) -> R) -> Option<R>
    where
        P: Deref,
    {
        self.with(|value| value.as_deref().map(read))?
    }

    /// The value, which stays.
    #[inline]
    pub fn shared(&self) -> Option<P>
    where
        P: Clone,
    {
        self.with(|value| value.clone())?
    }

    /// Takes the value out.
    #[inline]
    pub fn take(&self) -> Option<P> {
        self.with(Option::take)?
    }

    /// The value, for who has it alone for as long as a handler runs: that takes one locked
    /// instruction, and to take it out and put it in two.
    #[inline]
    pub fn hold(&self) -> Option<HeldPlace<'_, P>> {
        loop {
            if let Some(value) = self.value.try_lock() {
                value.as_ref()?;
                // Relaxed: who does not see it yet spins until then.
                self.is_held.store(true, Ordering::Relaxed);
                let (place, value) = (self, Some(value));
                return Some(HeldPlace { place, value });
            }
            // Who has the lock has seen what was done under it before: so does who finds it locked.
            fence(Ordering::Acquire);
            if self.is_held.load(Ordering::Relaxed) {
                return None;
            }
            self.value.spin();
        }
    }

    /// Puts a value in: what is not in the place any more. That is the value itself after the end,
    /// and while somebody holds the one that lies there.
    #[inline]
    pub fn exchange(&self, value: P) -> Option<P> {
        let mut value = Some(value);
        let put = |place: &mut Option<P>| {
            // Relaxed: under the lock, which who ends it takes after he has said so.
            if !self.has_ended.load(Ordering::Relaxed) {
                mem::swap(place, &mut value);
            }
        };
        let _is_held = self.with(put).is_none();
        value
    }

    /// Whether no value lies there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.with(|value| value.is_none()).unwrap_or(true)
    }

    /// Takes the value out for good. Who holds it now drops it.
    pub fn end(&self) -> Option<P> {
        self.has_ended.store(true, Ordering::Relaxed);
        // Who puts a value back sees that, or has given the lock back.
        match self.is_asymmetric {
            true => asymmetric::heavy(),
            false => fence(Ordering::SeqCst),
        }
        self.take()
    }
}

impl<P> HeldPlace<'_, P> {
    /// Puts the value back. What is not in the place then: the value, after the end.
    #[inline]
    pub fn put(mut self) -> Option<P> {
        // Relaxed: who finds it held, or not, gives up or spins.
        self.place.is_held.store(false, Ordering::Relaxed);
        drop(self.value.take());
        match self.place.is_asymmetric {
            true => asymmetric::light(),
            false => fence(Ordering::SeqCst),
        }
        match self.place.has_ended.load(Ordering::Relaxed) {
            true => self.place.take(),
            false => None,
        }
    }
}

impl<P> Drop for HeldPlace<'_, P> {
    fn drop(&mut self) {
        if let Some(mut value) = self.value.take() {
            let lost = value.take();
            self.place.is_held.store(false, Ordering::Relaxed);
            drop(value);
            // Nothing is locked.
            drop(lost);
        }
    }
}

impl<P> Deref for HeldPlace<'_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        let value = self.value.as_ref().and_then(|value| value.as_ref());
        value.expect("it is held")
    }
}

impl<P> DerefMut for HeldPlace<'_, P> {
    fn deref_mut(&mut self) -> &mut P {
        let value = self.value.as_mut().and_then(|value| value.as_mut());
        value.expect("it is held")
    }
}

impl<P> Default for SharedPlace<P> {
    fn default() -> Self {
        SharedPlace {
            value: SpinMutex::new(None),
            is_held: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            is_asymmetric: asymmetric::is_available(),
        }
    }
}

impl<P> fmt::Debug for SharedPlace<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPlace").finish_non_exhaustive()
    }
}

impl<P> fmt::Debug for HeldPlace<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldPlace").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use crate::thread;
    use std::sync::Arc;

    #[test]
    fn what_is_held_at_the_end_is_given_to_who_puts_it_back() {
        let place = SharedPlace::default();
        assert_eq!(place.exchange(Arc::new(1)), None);
        let held = place.hold().unwrap();
        assert!(place.hold().is_none() && place.take().is_none() && place.shared().is_none());
        assert_eq!(
            place.exchange(Arc::new(2)),
            Some(Arc::new(2)),
            "one lies there"
        );
        assert_eq!(place.end(), None);
        assert_eq!(held.put(), Some(Arc::new(1)));
        assert!(place.is_empty());
    }

    #[test]
    fn what_is_not_put_back_is_gone() {
        let place = SharedPlace::default();
        assert_eq!(place.exchange(Arc::new(1)), None);
        drop(place.hold());
        assert!(place.hold().is_none());
        assert_eq!(place.exchange(Arc::new(2)), None);
        assert_eq!(place.hold().map(|held| **held), Some(2));
    }

    #[test]
    fn one_of_who_ends_and_who_holds_gets_it() {
        for _ in 0..200 {
            let place = Arc::new(SharedPlace::default());
            place.exchange(Arc::new(1));
            let ends = Arc::clone(&place);
            let ender = thread::spawn(move || ends.end());
            let mut got = 0;
            while let Some(held) = place.hold() {
                got += usize::from(held.put().is_some());
            }
            got += usize::from(ender.join().unwrap().is_some());
            assert_eq!(got, 1);
            assert!(place.is_empty());
        }
    }
}
