//! Every case of CCR and of DSS has a test that bears its number, or a line that says how motet
//! differs.
//!
//! The cases are numbered from 1. A test is a function with `#[test]` whose name contains
//! `ccr_NNN`, several of them as in `dss_003_007` and `dss_003_to_007`; a line is a row of the
//! semantics' table of cases, which begins with their numbers: `| 7 |`, `| 61, 62 |`, `| 64 to 66
//! |`.

use crate::source::ProjectTree;
use crate::tidy::Finding;
use regex_lite::Regex;
use std::collections::BTreeSet;

const CASES: &str = "docs/SEMANTICS.md";

/// Cases of one origin.
struct Cases {
    prefix: &'static str,
    heading: &'static str,
    last: u32,
}

const ALL: [Cases; 2] = [
    Cases {
        prefix: "ccr",
        heading: "## The cases of CCR",
        last: 124,
    },
    Cases {
        prefix: "dss",
        heading: "## The behaviours of DSS",
        last: 107,
    },
];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let text = tree.text(CASES).unwrap_or_default();
    let lacks = |cases: &Cases| cases.check(text, tree);
    ALL.iter().flat_map(lacks).collect()
}

impl Cases {
    fn check(&self, text: &str, tree: &ProjectTree) -> Vec<Finding> {
        let Some((before, rest)) = text.split_once(self.heading) else {
            return Vec::new();
        };
        let table = rest.split("\n## ").next().unwrap_or_default();
        let mut known = explained(table);
        let numbered = format!(r"{}_(\d{{3}}(?:_(?:to_)?\d{{3}})*)(?:_|$)", self.prefix);
        let numbered = Regex::new(&numbered).expect("it compiles");
        for (_, rust) in tree.rust() {
            for function in rust.functions.iter().filter(|function| function.is_test) {
                for found in numbered.captures_iter(&function.name) {
                    known.extend(named(&found[1]));
                }
            }
        }
        let prefix = self.prefix;
        let missing = (1..=self.last).filter(|case| !known.contains(case));
        missing
            .map(|case| {
                Finding::new(
                    CASES,
                    before.lines().count() + 1,
                    format!("case {case} of {prefix} has neither a test nor a line"),
                    "what the original did is kept, or the difference is said",
                    format!(
                        "name a `#[test]` function `{prefix}_{case:03}_…`, or add a row `| {case} |`"
                    ),
                )
            })
            .collect()
    }
}

/// The numbers in the name of a test.
fn named(numbers: &str) -> BTreeSet<u32> {
    let (mut cases, mut last, mut is_range) = (BTreeSet::new(), 0, false);
    for part in numbers.split('_') {
        let Ok(number) = part.parse::<u32>() else {
            is_range = true;
            continue;
        };
        cases.extend(if is_range {
            last..=number
        } else {
            number..=number
        });
        (last, is_range) = (number, false);
    }
    cases
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

    const LAST: u32 = ALL[0].last;

    fn missing(table: &str, code: &str) -> usize {
        missing_of(&ALL[0], table, code)
    }

    fn missing_of(cases: &Cases, table: &str, code: &str) -> usize {
        let text = format!(
            "# Title\n\n{}\n\n{table}\n\n## More\n\n| 1 |",
            cases.heading
        );
        let files = [(CASES, text.as_str()), ("a/tests/t.rs", code)];
        check(&ProjectTree::of(&files)).len()
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
    fn a_name_may_hold_several() {
        let dss = &ALL[1];
        let all = dss.last as usize;
        assert_eq!(missing_of(dss, "", ""), all);
        let code = "#[test]\nfn dss_001_to_003_x() {}\n#[test]\nfn dss_053_054_064_sem_g366_y() {}";
        assert_eq!(missing_of(dss, "", code), all - 6);
        assert_eq!(missing_of(dss, "| 1 |", code), all - 6);
    }

    #[test]
    fn a_function_that_is_no_test_does_not_count() {
        assert_eq!(missing("| 1 to 124 |", "fn ccr_001_x() {}"), 0);
        assert_eq!(missing("", "fn ccr_001_x() {}"), LAST as usize);
    }

    #[test]
    fn without_the_table_nothing_is_asked() {
        assert!(check(&ProjectTree::of(&[])).is_empty());
    }
}
