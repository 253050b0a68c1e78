//! One file of the project.

use super::rust::Rust;

/// A file of the project.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Its path from the project's root, with `/`.
    pub(crate) path: String,
    /// Its text; `None` when it is not text.
    pub(crate) text: Option<String>,
    /// Its code when it is Rust.
    pub(crate) rust: Option<Rust>,
}
