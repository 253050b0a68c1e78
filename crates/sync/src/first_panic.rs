//! Several calls of which each may panic, and all are made.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// The first panic of several calls, of which none keeps the others from being made.
///
/// ```
/// use motet_sync::FirstPanic;
/// use std::panic::{AssertUnwindSafe, catch_unwind};
///
/// let mut panics = FirstPanic::default();
/// assert_eq!(panics.catch(|| -> u32 { panic!("no") }), None);
/// assert_eq!(panics.catch(|| 7), Some(7));
/// assert!(catch_unwind(AssertUnwindSafe(|| panics.resume())).is_err());
/// ```
#[derive(Debug, Default)]
pub struct FirstPanic(Option<Box<dyn Any + Send>>);

impl FirstPanic {
    /// Makes a call; `None` if it panics.
    pub fn catch<R>(&mut self, call: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.0.get_or_insert(payload);
                None
            }
        }
    }

    /// Goes on with it, unless the thread panics already.
    ///
    /// # Panics
    /// When one of the calls has.
    pub fn resume(self) {
        if let Some(payload) = self.0
            && !thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}
