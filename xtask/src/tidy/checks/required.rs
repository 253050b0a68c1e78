//! The files that must exist.
//!
//! Some are due only once another is there: a promise list once tests name promises, an index once
//! there is something to list.

use crate::source::ProjectTree;
use crate::tidy::{Finding, HouseRule};

/// A file on each line, the path whose presence makes it due, and what it is for.
const REQUIRED: &str = include_str!("../../../required.txt");

const WRITTEN: HouseRule = HouseRule("readers look for it", "write it");

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for line in REQUIRED.lines().filter(|line| !line.starts_with('#')) {
        let [path, due, why] = line.splitn(3, "  ").collect::<Vec<_>>()[..] else {
            panic!("xtask/required.txt: `{line}`");
        };
        if tree.has(due.trim_start_matches('.')) && tree.file(path).is_none() {
            findings.push(WRITTEN.at(path, 1, format!("this file is missing: {why}")));
        }
    }
    findings
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
