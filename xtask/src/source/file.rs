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

/// The path from the project's root of what the file at `from` calls `path`.
pub(crate) fn resolve(from: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
