//! Several calls of which each may panic, and all are made.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// The first panic of several calls, of which none keeps the others from being made.
#[derive(Default)]
pub(crate) struct FirstPanic(Option<Box<dyn Any + Send>>);

impl FirstPanic {
    /// Makes a call; `None` if it panics.
    pub(crate) fn catch<R>(&mut self, call: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.0.get_or_insert(payload);
                None
            }
        }
    }

    /// Goes on with it, unless the thread panics already.
    pub(crate) fn resume(self) {
        if let Some(payload) = self.0
            && !thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}
