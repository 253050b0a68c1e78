//! Errors of others, as the reasons that rows hold.

use std::fmt::Display;

/// A result whose error can be put in words.
pub(crate) trait Said<T> {
    /// The same with these words.
    fn said(self) -> Result<T, String>;
}

impl<T, E: Display> Said<T> for Result<T, E> {
    fn said(self) -> Result<T, String> {
        self.map_err(|error| error.to_string())
    }
}
