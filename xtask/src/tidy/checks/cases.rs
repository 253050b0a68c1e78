//! Every case of CCR has a test that bears its number, or a line that says how motet differs.
//!
//! The cases are numbered from 1 to 124. A test is a function with `#[test]` whose name contains
//! `ccr_NNN`; a line is a row of the semantics' table of cases, which begins with their numbers:
//! `| 7 |`, `| 61, 62 |`, `| 64 to 66 |`.

use crate::source::Tree;
use crate::tidy::Finding;
use regex_lite::Regex;
use std::collections::BTreeSet;

const CASES: &str = "docs/SEMANTICS.md";
const HEADING: &str = "## The cases of CCR";
const LAST: u32 = 124;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(CASES).unwrap_or_default();
    let Some((before, table)) = text.split_once(HEADING) else {
        return Vec::new();
    };
    let mut known = explained(table);
    let numbered = Regex::new(r"ccr_(\d{3})(?:_|$)").expect("it compiles");
    for (_, rust) in tree.rust() {
        for function in rust.functions().iter().filter(|function| function.is_test) {
            let numbers = numbered.captures_iter(&function.name);
            known.extend(numbers.filter_map(|found| found[1].parse::<u32>().ok()));
        }
    }
    let missing = (1..=LAST).filter(|case| !known.contains(case));
    missing
        .map(|case| {
            Finding::new(
                CASES,
                before.lines().count() + 1,
                format!("case {case} has neither a test nor a line"),
                "what CCR did is kept, or the difference is said",
                format!("name a `#[test]` function `ccr_{case:03}_…`, or add a row `| {case} |`"),
            )
        })
        .collect()
}

/// The numbers with which the rows of the table begin.
fn explained(table: &str) -> BTreeSet<u32> {
    let row = Regex::new(r"^\|\s*([\d, to]+?)\s*\|").expect("it compiles");
    let mut cases = BTreeSet::new();
    for found in table.lines().filter_map(|line| row.captures(line)) {
        for part in found[1].split(',') {
            let ends: Vec<u32> = part
                .split("to")
                .filter_map(|number| number.trim().parse().ok())
                .collect();
            match ends[..] {
                [one] => drop(cases.insert(one)),
                [first, last] => cases.extend(first..=last),
                _ => {}
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(table: &str, code: &str) -> usize {
        let text = format!("# Title\n\n{HEADING}\n\n{table}");
        let files = [(CASES, text.as_str()), ("a/tests/t.rs", code)];
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn tests_and_lines_count() {
        let all = LAST as usize;
        assert_eq!(missing("", ""), all);
        assert_eq!(missing("", "#[test]\nfn ccr_007_x() {}"), all - 1);
        let two = "#[test]\nfn sem_g01_ccr_001_ccr_124() {}";
        assert_eq!(missing("", two), all - 2);
        let rows = "| case | CCR | motet |\n|---|---|---|\n| 3 | a | b |\n| 9, 12 to 14 | a | 5 |";
        assert_eq!(missing(rows, ""), all - 5);
    }

    #[test]
    fn a_function_that_is_no_test_does_not_count() {
        assert_eq!(missing("| 1 to 124 |", "fn ccr_001_x() {}"), 0);
        assert_eq!(missing("", "fn ccr_001_x() {}"), LAST as usize);
    }

    #[test]
    fn without_the_table_nothing_is_asked() {
        assert!(check(&Tree::of(&[])).is_empty());
    }
}
