//! The files that must exist.
//!
//! Some are due only once another is there: a promise list once tests name promises, an index once
//! there is something to list.

use crate::source::ProjectTree;
use crate::tidy::Finding;

/// A file, the path whose presence makes it due (empty: always) and what it is for.
const REQUIRED: &[(&str, &str, &str)] = &[
    ("LICENSE-MIT", "", "the manifests name this licence"),
    ("LICENSE-APACHE", "", "the manifests name this licence"),
    ("CONTRIBUTING.md", "", "newcomers start there"),
    ("README.md", "crates/motet", "users start there"),
    ("CHANGELOG.md", "crates/motet", "users read what changed"),
    (
        "crates/motet/README.md",
        "crates/motet/examples",
        "the examples are listed there",
    ),
    (
        "bench/README.md",
        "bench",
        "the benchmarks are listed there",
    ),
    ("docs/ARCHITECTURE.md", "docs", "it is the map"),
    (
        "docs/SEMANTICS.md",
        "crates/motet",
        "it numbers what the project promises",
    ),
    (
        "docs/PAPER-MAP.md",
        "bench",
        "it says which result of which paper is where",
    ),
    (
        "docs/adr/README.md",
        "docs/adr",
        "the decisions are listed there",
    ),
];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let missing = REQUIRED
        .iter()
        .filter(|(path, due, _)| tree.has(due) && tree.file(path).is_none());
    missing
        .map(|(path, _, why)| Finding::new(path, 1, "this file is missing", why, "write it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(files: &[(&str, &str)]) -> Vec<String> {
        check(&ProjectTree::of(files))
            .into_iter()
            .map(|finding| finding.path)
            .collect()
    }

    const ALWAYS: [(&str, &str); 3] = [
        ("LICENSE-MIT", ""),
        ("LICENSE-APACHE", ""),
        ("CONTRIBUTING.md", ""),
    ];

    #[test]
    fn what_is_always_due_is_missed_in_an_empty_tree() {
        assert_eq!(
            missing(&[]),
            ["LICENSE-MIT", "LICENSE-APACHE", "CONTRIBUTING.md"]
        );
        assert!(missing(&ALWAYS).is_empty());
    }

    #[test]
    fn the_rest_is_due_once_its_subject_is_there() {
        let mut files = ALWAYS.to_vec();
        files.push(("docs/adr/0001-x.md", ""));
        assert_eq!(
            missing(&files),
            ["docs/ARCHITECTURE.md", "docs/adr/README.md"]
        );
        files.extend([("docs/ARCHITECTURE.md", ""), ("docs/adr/README.md", "")]);
        assert!(missing(&files).is_empty());
    }
}
