//! Where in the program something was called.

use std::fmt;
use std::panic::Location;

/// A place in the program's source: a [`Location`] that may also be of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallSite {
    file: &'static str,
    line: u32,
    column: u32,
}

impl CallSite {
    /// This place of a source file.
    #[must_use]
    pub fn new(file: &'static str, line: u32, column: u32) -> Self {
        CallSite { file, line, column }
    }

    /// The source file.
    #[must_use]
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The column, from 1.
    #[must_use]
    pub fn column(&self) -> u32 {
        self.column
    }
}

impl From<&'static Location<'static>> for CallSite {
    fn from(location: &'static Location<'static>) -> Self {
        CallSite::new(location.file(), location.line(), location.column())
    }
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
