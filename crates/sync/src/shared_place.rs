//! A place for something that many share, and that one takes out to change it.

use crate::SpinMutex;
use std::fmt;
use std::ops::Deref;

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
/// let mut taken = place.take().unwrap();
/// assert!(place.is_empty());
/// *Arc::get_mut(&mut taken).unwrap() += 1;
/// place.exchange(taken);
/// assert_eq!(place.read(|number| *number), Some(2));
/// assert_eq!(place.end(), Some(Arc::new(2)));
/// assert_eq!(place.exchange(Arc::new(3)), Some(Arc::new(3)), "it has ended");
/// ```
pub struct SharedPlace<P>(SpinMutex<Held<P>>);

struct Held<P> {
    value: Option<P>,
    has_ended: bool,
}

impl<P> SharedPlace<P> {
    /// Reads the value where it lies, if it does: a few instructions, as under a [`SpinMutex`].
    #[inline]
    pub fn read<R>(&self, read: impl FnOnce(&P::Target) -> R) -> Option<R>
    where
        P: Deref,
    {
        self.0.with(|held| held.value.as_deref().map(read))
    }

    /// The value, which stays.
    #[inline]
    pub fn shared(&self) -> Option<P>
    where
        P: Clone,
    {
        self.0.with(|held| held.value.clone())
    }

    /// Takes the value out.
    #[inline]
    pub fn take(&self) -> Option<P> {
        self.0.with(|held| held.value.take())
    }

    /// Puts a value in: what is not in the place any more. That is the value itself after the end.
    #[inline]
    pub fn exchange(&self, value: P) -> Option<P> {
        self.0.with(|held| match held.has_ended {
            false => held.value.replace(value),
            true => Some(value),
        })
    }

    /// Whether no value lies there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.with(|held| held.value.is_none())
    }

    /// Takes the value out for good.
    pub fn end(&self) -> Option<P> {
        self.0.with(|held| {
            held.has_ended = true;
            held.value.take()
        })
    }
}

impl<P> Default for SharedPlace<P> {
    fn default() -> Self {
        SharedPlace(SpinMutex::new(Held {
            value: None,
            has_ended: false,
        }))
    }
}

impl<P> fmt::Debug for SharedPlace<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPlace").finish_non_exhaustive()
    }
}
