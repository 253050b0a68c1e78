//! Every Rust source opens with what it is about.

use crate::source::ProjectTree;
use crate::tidy::Finding;

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mute = tree
        .rust()
        .filter(|(file, _)| !opens_with_docs(file.text.as_deref().unwrap_or_default()));
    mute.map(|(file, _)| {
        Finding::new(
            &file.path,
            1,
            "no `//!` at the top",
            "a reader asks first what a file is for",
            "say it in one line",
        )
    })
    .collect()
}

fn opens_with_docs(text: &str) -> bool {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && (!line.starts_with("#!") || line.starts_with("#![doc")));
    first.is_some_and(|line| {
        ["//!", "/*!", "#![doc"]
            .iter()
            .any(|mark| line.starts_with(mark))
    })
}

#[cfg(test)]
mod tests {
    use super::opens_with_docs;

    #[test]
    fn docs_come_first_but_for_inner_attributes() {
        for yes in [
            "//! A.",
            "\n#![no_std]\n//! A.",
            "#![doc = include_str!(\"../README.md\")]",
            "/*! A. */",
        ] {
            assert!(opens_with_docs(yes), "{yes}");
        }
        for no in ["", "use a;\n//! A.", "/// A.\nfn f() {}", "// A."] {
            assert!(!opens_with_docs(no), "{no}");
        }
    }
}
