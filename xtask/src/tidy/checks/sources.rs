//! Every Rust source is part of some crate, and opens with what it is about.

use crate::source::ProjectTree;
use crate::tidy::{Finding, HouseRule};

const DEAD: HouseRule = HouseRule(
    "nothing compiles it, so it rots",
    "declare it in its parent module, or delete it",
);
const MUTE: HouseRule = HouseRule(
    "a reader asks first what a file is for",
    "say it in one line",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.rust() {
        if !tree.modules().reaches(&file.path) && !is_included(tree, &file.path) {
            findings.push(DEAD.at(&file.path, 1, "no `mod` leads to this file"));
        }
        if !opens_with_docs(file.text.as_deref().unwrap_or_default()) {
            findings.push(MUTE.at(&file.path, 1, "no `//!` at the top"));
        }
    }
    findings
}

/// Whether a source of the same folder includes the file as text.
fn is_included(tree: &ProjectTree, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let wanted = format!("include!(\"{name}\")");
    let mut beside = tree.rust().filter(|(file, _)| {
        let (other, _) = file.path.rsplit_once('/').unwrap_or_default();
        other == folder
    });
    beside.any(|(file, _)| {
        file.text
            .as_ref()
            .is_some_and(|text| text.contains(&wanted))
    })
}

fn opens_with_docs(text: &str) -> bool {
    let is_other =
        |line: &&str| line.is_empty() || (line.starts_with("#!") && !line.starts_with("#![doc"));
    let first = text.lines().map(str::trim).find(|line| !is_other(line));
    let marks = ["//!", "/*!", "#![doc"];
    first.is_some_and(|line| marks.iter().any(|mark| line.starts_with(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_nothing_reaches_is_dead() {
        let tree = ProjectTree::of(&[
            ("a/Cargo.toml", "[package]\nname = 'a'\n"),
            ("a/src/lib.rs", "mod x; // mod lost;"),
            ("a/src/x.rs", "include!(\"table.rs\");"),
            ("a/src/table.rs", ""),
            ("a/src/lost.rs", ""),
            ("a/tests/t.rs", ""),
        ]);
        let mut found = check(&tree);
        found.retain(|one| *one == DEAD.at(&one.path, 1, &*one.what));
        assert_eq!(
            found.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(),
            ["a/src/lost.rs"]
        );
    }

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
