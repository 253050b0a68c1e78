//! Lists of named exceptions: one path and its reason per line, `#` for comments.
//!
//! An entry that ends in `/` stands for a folder. An entry without a reason and an entry that
//! allows nothing any more are findings, so that a list never grows stale.

use super::{Finding, HouseRule};
use crate::source::ProjectTree;
use std::cell::Cell;

const JUDGED: HouseRule = HouseRule(
    "an exception nobody can judge stays for ever",
    "write the reason after the path",
);
const STALE: HouseRule = HouseRule(
    "a stale exception hides the next real one",
    "delete the line",
);

/// A list of named exceptions.
#[derive(Debug)]
pub(crate) struct AllowList {
    path: &'static str,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    line: usize,
    allows: String,
    has_reason: bool,
    used: Cell<bool>,
}

impl AllowList {
    /// The list at `path`; empty when there is no such file.
    pub(crate) fn read(tree: &ProjectTree, path: &'static str) -> AllowList {
        let lines = tree.text(path).unwrap_or_default().lines().enumerate();
        let entries = lines.filter_map(|(at, line)| {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                return None;
            }
            let (allows, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            Some(Entry {
                line: at + 1,
                allows: allows.to_owned(),
                has_reason: !reason.trim().is_empty(),
                used: Cell::new(false),
            })
        });
        AllowList {
            path,
            entries: entries.collect(),
        }
    }

    /// Whether an entry allows the file; that entry counts as used.
    pub(crate) fn allows(&self, file: &str) -> bool {
        let covers = |Entry { allows, .. }: &&Entry| {
            allows == file || (allows.ends_with('/') && file.starts_with(allows))
        };
        let entry = self.entries.iter().find(covers);
        entry.is_some_and(|entry| {
            entry.used.set(true);
            true
        })
    }

    /// What is wrong with the list itself, once every file was asked about.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for entry in &self.entries {
            let mut find = |rule: HouseRule, what| {
                let what = format!("`{}` {what}", entry.allows);
                findings.push(rule.at(self.path, entry.line, what));
            };
            if !entry.has_reason {
                find(JUDGED, "has no reason");
            }
            if !entry.used.get() {
                find(STALE, "allows nothing that is there");
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> AllowList {
        AllowList::read(&ProjectTree::of(&[("list.txt", text)]), "list.txt")
    }

    #[test]
    fn files_and_folders_are_allowed_by_name() {
        let list = list("# comment\n\na/b.rs  the reason\nc/  another\n");
        assert!(list.allows("a/b.rs") && list.allows("c/d/e.rs"));
        assert!(!list.allows("a/b.rs.old") && !list.allows("a/c.rs") && !list.allows("cc/d.rs"));
        assert!(list.findings().is_empty());
    }

    #[test]
    fn an_unused_entry_and_one_without_reason_are_findings() {
        let list = list("a.rs because\nb.rs\n");
        assert!(list.allows("b.rs"));
        let lines: Vec<usize> = list.findings().iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2]);
    }

    #[test]
    fn a_missing_list_allows_nothing() {
        assert!(!AllowList::read(&ProjectTree::of(&[]), "list.txt").allows("a.rs"));
    }
}
