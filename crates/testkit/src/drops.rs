//! Values that are counted: none lost, none dropped twice.

use motet_sync::Arc;
use motet_sync::atomic::{AtomicUsize, Ordering};

/// Counts the values it has made and those that have been dropped.
///
/// ```
/// use motet_testkit::Drops;
///
/// let drops = Drops::new();
/// let value = drops.make();
/// assert_eq!((drops.made(), drops.dropped()), (1, 0));
/// drop(value);
/// assert_eq!(drops.dropped(), 1);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Drops {
    counts: Arc<(AtomicUsize, AtomicUsize)>,
}

/// A value that tells its [`Drops`] when it is dropped.
#[derive(Debug)]
pub struct Dropped {
    drops: Drops,
}

impl Drops {
    /// Nothing made yet.
    #[must_use]
    pub fn new() -> Self {
        Drops::default()
    }

    /// Makes a counted value.
    #[must_use]
    pub fn make(&self) -> Dropped {
        self.counts.0.fetch_add(1, Ordering::SeqCst);
        Dropped {
            drops: self.clone(),
        }
    }

    /// Values made.
    #[must_use]
    pub fn made(&self) -> usize {
        self.counts.0.load(Ordering::SeqCst)
    }

    /// Values dropped.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.counts.1.load(Ordering::SeqCst)
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.drops.counts.1.fetch_add(1, Ordering::SeqCst);
    }
}
