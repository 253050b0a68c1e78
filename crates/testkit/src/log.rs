//! What happened, in order.

use motet_sync::{Arc, Condvar, Mutex};
use std::fmt;

/// A list that many threads append to; clones share it.
///
/// ```
/// use motet_testkit::Log;
///
/// let log = Log::new();
/// log.push(1);
/// log.clone().push(2);
/// log.wait_for(2);
/// assert_eq!(log.take(), [1, 2]);
/// assert!(log.is_empty());
/// ```
pub struct Log<T> {
    entries: Arc<(Mutex<Vec<T>>, Condvar)>,
}

impl<T> Log<T> {
    /// An empty log.
    #[must_use]
    pub fn new() -> Self {
        Log {
            entries: Arc::new((Mutex::new(Vec::new()), Condvar::new())),
        }
    }

    /// Appends an entry.
    pub fn push(&self, entry: T) {
        self.entries.0.lock().push(entry);
        self.entries.1.notify_all();
    }

    /// Takes all entries out.
    #[must_use]
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.entries.0.lock())
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.0.lock().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Blocks this thread until there are `count` entries (see [`within`](crate::within) for a
    /// limit).
    pub fn wait_for(&self, count: usize) {
        let mut entries = self.entries.0.lock();
        while entries.len() < count {
            entries = self.entries.1.wait(entries);
        }
    }
}

impl<T: Clone> Log<T> {
    /// A copy of the entries.
    #[must_use]
    pub fn entries(&self) -> Vec<T> {
        self.entries.0.lock().clone()
    }
}

impl<T: Ord> Log<T> {
    /// Takes all entries out, sorted: for what may happen in any order.
    #[must_use]
    pub fn take_sorted(&self) -> Vec<T> {
        let mut entries = self.take();
        entries.sort();
        entries
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Log {
            entries: Arc::clone(&self.entries),
        }
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Log::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Log<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.entries.0.lock().iter())
            .finish()
    }
}
