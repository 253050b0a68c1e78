//! Lists of named exceptions: one path and its reason per line, `#` for comments.
//!
//! An entry that ends in `/` stands for a folder. An entry without a reason and an entry that
//! allows nothing any more are findings, so that a list never grows stale.

use super::{Finding, HouseRule};
use crate::source::ProjectTree;

const JUDGED: HouseRule = HouseRule(
    "an exception nobody can judge stays for ever",
    "write the reason after the path",
);
const STALE: HouseRule = HouseRule(
    "a stale exception hides the next real one",
    "delete the line",
);

/// The findings that the list at `path` does not allow by what they are `about`, and what is wrong
/// with the list itself. Without such a file nothing is allowed.
pub(crate) fn excuse(
    tree: &ProjectTree,
    path: &str,
    mut findings: Vec<Finding>,
    about: impl Fn(&Finding) -> &str,
) -> Vec<Finding> {
    let mut faults = Vec::new();
    let lines = tree.text(path).unwrap_or_default().lines().map(str::trim);
    for (at, line) in lines.enumerate() {
        let (allowed, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if allowed.is_empty() || allowed.starts_with('#') {
            continue;
        }
        if reason.is_empty() {
            faults.push(JUDGED.at(path, at + 1, format!("`{allowed}` has no reason")));
        }
        let before = findings.len();
        findings.retain(|finding| {
            let is_below = allowed.ends_with('/') && about(finding).starts_with(allowed);
            about(finding) != allowed && !is_below
        });
        if findings.len() == before {
            let what = format!("`{allowed}` allows nothing that is there");
            faults.push(STALE.at(path, at + 1, what));
        }
    }
    findings.extend(faults);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: HouseRule = HouseRule("why", "remedy");

    /// What is left of findings in these files.
    fn left(list: &str, files: &[&str]) -> Vec<(String, usize)> {
        let tree = ProjectTree::of(&[("list.txt", list)]);
        let findings = files.iter().map(|file| RULE.at(file, 7, "what"));
        let left = excuse(&tree, "list.txt", findings.collect(), |one| &one.path);
        left.into_iter().map(|one| (one.path, one.line)).collect()
    }

    #[test]
    fn files_and_folders_are_allowed_by_name() {
        let list = "# comment\n\na/b.rs  the reason\nc/  another\n";
        let files = ["a/b.rs", "c/d/e.rs", "a/b.rs.old", "a/c.rs", "cc/d.rs"];
        let wanted = ["a/b.rs.old", "a/c.rs", "cc/d.rs"];
        assert_eq!(left(list, &files), wanted.map(|file| (file.to_owned(), 7)));
    }

    #[test]
    fn an_unused_entry_and_one_without_reason_are_findings() {
        let faults = left("a.rs because\nb.rs\n", &["b.rs"]);
        assert_eq!(faults, [1, 2].map(|line| ("list.txt".to_owned(), line)));
    }

    #[test]
    fn a_missing_list_allows_nothing() {
        let tree = ProjectTree::of(&[]);
        let left = excuse(&tree, "list.txt", vec![RULE.at("a.rs", 1, "")], |one| {
            &one.path
        });
        assert_eq!(left.len(), 1);
    }
}
