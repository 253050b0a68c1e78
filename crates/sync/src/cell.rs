//! A cell whose accesses a model checks for races.

/// `std::cell::UnsafeCell` with access by closure, so that loom can watch each access.
#[derive(Debug)]
pub struct UnsafeCell<T>(imp::UnsafeCell<T>);

#[cfg(motet_loom)]
use loom::cell as imp;
#[cfg(not(motet_loom))]
use std::cell as imp;

impl<T> UnsafeCell<T> {
    /// A cell around `value`.
    pub fn new(value: T) -> Self {
        UnsafeCell(imp::UnsafeCell::new(value))
    }

    /// Reads through a pointer. The caller answers for there being no writer meanwhile.
    #[inline]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        #[cfg(not(motet_loom))]
        return read(self.0.get());
        #[cfg(motet_loom)]
        return self.0.with(read);
    }

    /// Writes through a pointer. The caller answers for there being no other access meanwhile.
    #[inline]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(not(motet_loom))]
        return write(self.0.get());
        #[cfg(motet_loom)]
        return self.0.with_mut(write);
    }
}
