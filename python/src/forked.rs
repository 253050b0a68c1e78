//! Objects whose threads a process has that was forked from theirs, and has not.

use crate::errors::MotetError;
use pyo3::prelude::*;
use std::mem::ManuallyDrop;
use std::process;

/// Drops nothing of what another process has made: that is its own.
pub(crate) fn leave<T>(it: T) {
    let _ = ManuallyDrop::new(it);
}

/// The process that has made an object.
#[derive(Clone, Copy)]
pub(crate) struct Maker(u32);

impl Maker {
    pub(crate) fn new() -> Maker {
        Maker(process::id())
    }

    /// Whether this is the process.
    pub(crate) fn is_here(self) -> bool {
        self.0 == process::id()
    }

    /// Raises an error that names the object in another process.
    pub(crate) fn check(self, what: &str) -> PyResult<()> {
        if self.is_here() {
            return Ok(());
        }
        Err(MotetError::new_err(format!(
            "process {} has made this {what}, and process {} was forked from it and has none of \
             its threads: make another {what} here, or start processes by \
             multiprocessing.get_context(\"spawn\")",
            self.0,
            process::id()
        )))
    }
}
