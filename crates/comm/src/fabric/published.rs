//! What a collective has come to, where all its ranks look for it and read it.
//!
//! The last to come writes it, and then shows the number of the collective; the others read it
//! after they saw that. It is written again only after all ranks have come again, which each does
//! after it has read.

use super::any_cell::AnyCell;
use crate::CommError;
use motet_sync::atomic::{AtomicU32, Ordering};
use motet_sync::cell::UnsafeCell;

/// In this order: a small total comes in the same cache line as the news of it.
#[repr(C)]
pub(crate) struct PublishedTotal {
    /// The number of the collective.
    number: AtomicU32,
    /// Why it failed, if it did.
    failed: UnsafeCell<Option<Box<CommError>>>,
    total: UnsafeCell<AnyCell>,
}

// SAFETY: the module doc says who touches it when; the number orders it.
unsafe impl Sync for PublishedTotal {}

impl PublishedTotal {
    pub(super) fn new() -> Self {
        PublishedTotal {
            number: AtomicU32::new(0),
            failed: UnsafeCell::new(None),
            total: UnsafeCell::new(AnyCell::new()),
        }
    }

    /// Publishes what was made of what the ranks of this collective have brought: it has taken
    /// place. The caller must wake those who sleep until then.
    ///
    /// # Safety
    /// For the rank that was the last to come, once per collective.
    pub(super) unsafe fn publish(&self, number: u32, total: Result<AnyCell, Box<CommError>>) {
        let (total, failed) = match total {
            Ok(total) => (total, None),
            Err(failed) => (AnyCell::new(), Some(failed)),
        };
        // SAFETY: nobody reads the total between the arrival of all ranks and its publication; the
        // same holds for `failed`.
        self.total.with_mut(|place| unsafe { *place = total });
        // SAFETY: as above.
        self.failed.with_mut(|place| unsafe { *place = failed });
        // Release: shows the total.
        self.number.store(number, Ordering::Release);
    }

    /// As [`PublishedTotal::publish`], of the collective after the one that was published last.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn publish_next(&self, total: Result<AnyCell, Box<CommError>>) {
        // Relaxed: one rank publishes at a time, and has seen the last collective.
        let last = self.number.load(Ordering::Relaxed);
        // SAFETY: the caller promises it.
        unsafe { self.publish(last.wrapping_add(1), total) };
    }

    /// Whether the collective with this number is the last that was published.
    #[inline]
    pub(super) fn is(&self, number: u32) -> bool {
        // Collectives cannot run ahead of a rank, so this is equality in spite of the wrap-around.
        self.number.load(Ordering::Acquire) == number
    }

    /// Shows the total that was published last.
    ///
    /// # Errors
    /// Why there is none.
    ///
    /// # Safety
    /// The calling rank saw that the collective has taken place and has not come to the next.
    pub(super) unsafe fn read(&self, read: &mut dyn FnMut(&AnyCell)) -> Result<(), CommError> {
        // SAFETY: nobody writes it, or the total, before all ranks have come again.
        let failed = self
            .failed
            .with(|failed| unsafe { (*failed).as_deref().cloned() });
        if let Some(failed) = failed {
            return Err(failed);
        }
        // SAFETY: as above.
        self.total.with(|total| read(unsafe { &*total }));
        Ok(())
    }
}
