//! Lines fit a screen: at most 100 columns, in Rust and in Markdown.
//!
//! A line of a table and one that holds a link may be longer: neither can be broken. So may a line
//! of code that is one literal.

use crate::source::Tree;
use crate::tidy::Finding;
use crate::tidy::allow_list::AllowList;

const LIST: &str = "xtask/allow-columns.txt";
const LIMIT: usize = 100;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let allowed = AllowList::read(tree, LIST);
    let kinds = [".rs", ".md"];
    let files = tree.files();
    let mut findings = Vec::new();
    for file in files.filter(|file| kinds.iter().any(|kind| file.path.ends_with(kind))) {
        let lines = file.text.as_deref().unwrap_or_default().lines();
        let long = lines.enumerate().filter(|(_, line)| is_too_long(line));
        let mut long = long.peekable();
        if long.peek().is_none() || allowed.allows(&file.path) {
            continue;
        }
        findings.extend(long.map(|(at, line)| {
            Finding::new(
                &file.path,
                at + 1,
                format!("{} columns, more than {LIMIT}", line.chars().count()),
                "two files beside each other should fit a screen",
                "break the line, or the sentence",
            )
        }));
    }
    findings.extend(allowed.findings());
    findings
}

fn is_too_long(line: &str) -> bool {
    let text = line
        .trim_start()
        .trim_start_matches(['/', '!'])
        .trim_start();
    let whole = text.starts_with('|') || text.contains("](") || text.contains("://");
    // rustfmt breaks code; what it leaves is a literal.
    let literal = text.contains('"') && !line.trim_start().starts_with("//");
    line.chars().count() > LIMIT && !whole && !literal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&Tree::of(&[(path, text)]));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_limit_itself_is_well_and_one_more_is_not() {
        let (well, long) = ("é".repeat(100), "é".repeat(101));
        assert_eq!(lines("a.md", &format!("{well}\n{long}")), [2]);
        assert_eq!(lines("a.rs", &format!("// {well}")), [1]);
        assert!(lines("a.txt", &long).is_empty());
    }

    #[test]
    fn what_cannot_be_broken_may_be_longer() {
        let long = "x".repeat(101);
        for line in [
            format!("| {long} |"),
            format!("[a]({long})"),
            format!("//! | {long} |"),
            format!("<https://{long}>"),
        ] {
            assert!(lines("a.md", &line).is_empty(), "{line}");
        }
        assert!(lines("a.rs", &format!("f(\"{long}\")")).is_empty());
    }
}
