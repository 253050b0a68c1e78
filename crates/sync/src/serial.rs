//! Numbers that are given out once.

use std::sync::atomic::{AtomicU64, Ordering};

/// Gives out 1, 2, 3, … to any thread, each number once. May be a `static`; in a model it is not
/// part of what is checked.
///
/// ```
/// static NUMBERS: motet_sync::Serial = motet_sync::Serial::new();
/// assert_ne!(NUMBERS.next(), NUMBERS.next());
/// ```
#[derive(Debug)]
pub struct Serial(AtomicU64);

impl Serial {
    /// Begins with 1.
    #[must_use]
    pub const fn new() -> Self {
        Serial(AtomicU64::new(1))
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

impl Default for Serial {
    fn default() -> Self {
        Serial::new()
    }
}
