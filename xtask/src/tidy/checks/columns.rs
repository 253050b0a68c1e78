//! Lines fit a screen: at most 100 columns, in Rust and in Markdown.
//!
//! What cannot be broken may be longer: a line of a table, a line of a drawing or listing between
//! fences. Also a heading, a line that holds a link, and a literal in code.

use crate::source::{ProjectTree, SourceFile};
use crate::tidy::allow_list::excuse;
use crate::tidy::{Finding, HouseRule};

const LIST: &str = "xtask/allow-columns.txt";
const LIMIT: usize = 100;

const BROKEN: HouseRule = HouseRule(
    "two files beside each other should fit a screen",
    "break the line, or the sentence",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .files()
        .filter(|file| file.rust.is_some() || file.path.ends_with(".md"))
    {
        for (line, columns) in long_lines(file) {
            let what = format!("{columns} columns, more than {LIMIT}");
            findings.push(BROKEN.at(&file.path, line, what));
        }
    }
    excuse(tree, LIST, findings, |finding| &finding.path)
}

/// The lines that are too long and could be broken, with their columns.
fn long_lines(file: &SourceFile) -> Vec<(usize, usize)> {
    let text = file.text.as_deref().unwrap_or_default();
    // Literals are blank in it.
    let code = file.rust.as_ref().map_or(text, |rust| &rust.code);
    let (mut long, mut fenced) = (Vec::new(), false);
    for (at, (line, code)) in text.lines().zip(code.lines()).enumerate() {
        let comment = line.trim_start().starts_with("//") || file.rust.is_none();
        let bare = line.trim_start_matches([' ', '/', '!']);
        fenced = comment && fenced != bare.starts_with("```");
        let whole =
            fenced || bare.starts_with(['|', '#']) || bare.contains("](") || bare.contains("://");
        let literal = !comment && code != line && !line.contains(" // ");
        let columns = line.chars().count();
        if columns > LIMIT && !whole && !literal {
            long.push((at + 1, columns));
        }
    }
    long
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&ProjectTree::of(&[(path, text)]));
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
        assert!(lines("a.rs", &format!("f(\"\n{long}\n\")")).is_empty());
        let drawing = format!("//! ```text\n//! {long}\n//! ```\n//! {long}");
        assert_eq!(lines("a.rs", &drawing), [4]);
    }
}
