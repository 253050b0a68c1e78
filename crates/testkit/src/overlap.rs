//! How many were inside at one time.

use motet_sync::Arc;
use motet_sync::atomic::{AtomicUsize, Ordering};

/// Measures how many threads are inside a stretch of code at once; clones measure together.
///
/// ```
/// use motet_testkit::Overlap;
///
/// let overlap = Overlap::new();
/// overlap.during(|| overlap.during(|| ()));
/// assert_eq!(overlap.most(), 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Overlap {
    counts: Arc<(AtomicUsize, AtomicUsize)>,
}

impl Overlap {
    /// Nobody inside yet.
    #[must_use]
    pub fn new() -> Self {
        Overlap::default()
    }

    /// Runs `body` inside.
    pub fn during<R>(&self, body: impl FnOnce() -> R) -> R {
        let inside = self.counts.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.counts.1.fetch_max(inside, Ordering::SeqCst);
        let result = body();
        self.counts.0.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// The most that were inside at one time.
    #[must_use]
    pub fn most(&self) -> usize {
        self.counts.1.load(Ordering::SeqCst)
    }
}
