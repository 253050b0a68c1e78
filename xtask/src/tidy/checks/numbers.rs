//! Every numbered promise has a test that bears its number, and the reverse. Every case of CCR and
//! of DSS has such a test, or a line that says how motet differs.
//!
//! A promise is a line of the semantics that begins `**Gnn**` or `| Gnn |`. Its test is a function
//! with `#[test]` whose name contains `sem_gNN`, or one of Python whose name begins `test_sem_gNN`.
//!
//! The cases are numbered from 1. The name of a test contains `ccr_NNN`, several of them as in
//! `dss_003_007` and `dss_003_to_007`. A line is a row of the semantics' table of cases, which
//! begins with their numbers: `| 7 |`, `| 61, 62 |`, `| 64 to 66 |`.

use crate::source::{ProjectTree, RustFunction};
use crate::tidy::{Finding, HouseRule};
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};

const LIST: &str = "docs/SEMANTICS.md";

/// Cases of one origin: how tests name it, the heading of its table, and the last case.
const CASES: [(&str, &str, u32); 2] = [
    ("ccr", "## The cases of CCR", 124),
    ("dss", "## The behaviours of DSS", 107),
];

const READ: HouseRule = HouseRule(
    "tests and promises are read side by side",
    "correct the number, or write the promise in docs/SEMANTICS.md",
);
const HOPED: HouseRule = HouseRule(
    "a promise without a test is a hope",
    "name a `#[test]` function `sem_gNN_…` with its number",
);
const KEPT: HouseRule = HouseRule(
    "what the original did is kept, or the difference is said",
    "name a `#[test]` function with its number of three digits, or add a row that begins with it",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let text = tree.text(LIST).unwrap_or_default();
    let mut findings = promises(tree, text);
    for (prefix, heading, last) in CASES {
        if let Some((before, rest)) = text.split_once(heading) {
            let table = rest.split("\n## ").next().unwrap_or_default();
            let mut known = explained(table);
            let pattern = format!(r"{prefix}_(\d{{3}}(?:_(?:to_)?\d{{3}})*)(?:_|$)");
            let tests = bearing(tree, &pattern).into_iter();
            known.extend(
                tests
                    .filter(|(_, test, _)| test.is_test)
                    .flat_map(|(.., text)| numbers(&text)),
            );
            let line = before.lines().count() + 1;
            let missing = (1..=last).filter(|case| !known.contains(case));
            let missing = missing
                .map(|case| format!("case {case} of {prefix} has neither a test nor a line"));
            findings.extend(missing.map(|what| KEPT.at(LIST, line, what)));
        }
    }
    findings
}

/// Promises without a test, and tests without a promise.
fn promises(tree: &ProjectTree, text: &str) -> Vec<Finding> {
    let promised = promised(text);
    let (mut findings, mut tested) = (Vec::new(), BTreeSet::new());
    for (path, function, digits) in bearing(tree, r"sem_g(\d{2,4})(?:_|$)") {
        let number = digits.parse().expect("at most four digits");
        if !promised.contains_key(&number) {
            let name = &function.name;
            let what = format!("`{name}` tests a promise G{digits} that does not exist");
            findings.push(READ.at(path, function.line, what));
        } else if function.is_test {
            tested.insert(number);
        }
    }
    let in_python = Regex::new(r"(?m)^def test_sem_g(\d{2,4})_").expect("it compiles");
    for file in tree.files().filter(|file| file.path.ends_with(".py")) {
        let found = in_python.captures_iter(file.text.as_deref().unwrap_or_default());
        tested.extend(found.map(|found| found[1].parse::<u32>().expect("at most four digits")));
    }
    let untested = promised
        .iter()
        .filter(|(number, _)| !tested.contains(number));
    findings.extend(untested.map(|(number, line)| {
        HOPED.at(
            LIST,
            *line,
            format!("no test bears the number of G{number:02}"),
        )
    }));
    findings
}

/// The numbers of the promises with the lines where they stand.
fn promised(text: &str) -> BTreeMap<u32, usize> {
    let promise = r"^\s*(?:[-*]\s+)?(?:\*\*|\|\s*\**)G(\d{1,4})\b";
    let promise = Regex::new(promise).expect("it compiles");
    let mut promises = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(found) = promise.captures(line) {
            let number = found[1].parse().expect("at most four digits");
            promises.entry(number).or_insert(at + 1);
        }
    }
    promises
}

/// The functions whose names fit the pattern: their files, and what its group holds.
fn bearing<'a>(tree: &'a ProjectTree, pattern: &str) -> Vec<(&'a str, &'a RustFunction, String)> {
    let pattern = Regex::new(pattern).expect("it compiles");
    let mut bearing = Vec::new();
    for (file, rust) in tree.rust() {
        for function in &rust.functions {
            let found = pattern.captures_iter(&function.name);
            bearing.extend(found.map(|found| (file.path.as_str(), function, found[1].to_owned())));
        }
    }
    bearing
}

/// The numbers with which the rows of the table begin.
fn explained(table: &str) -> BTreeSet<u32> {
    let row = Regex::new(r"(?m)^\|\s*([\d, to]+?)\s*\|").expect("it compiles");
    row.captures_iter(table)
        .flat_map(|row| numbers(&row[1]))
        .collect()
}

/// What `3`, `9, 12 to 14` and `003_to_007` hold.
fn numbers(text: &str) -> BTreeSet<u32> {
    let (mut numbers, mut from) = (BTreeSet::new(), None);
    for part in text.split([' ', ',', '_']).filter(|part| !part.is_empty()) {
        match part.parse() {
            Ok(number) => numbers.extend(from.take().unwrap_or(number)..=number),
            // A range begins after what was before it.
            Err(_) => from = numbers.last().copied(),
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(promises: &str, code: &str) -> Vec<(String, usize)> {
        let tree = ProjectTree::of(&[(LIST, promises), ("a/tests/t.rs", code)]);
        check(&tree)
            .into_iter()
            .map(|finding| (finding.path, finding.line))
            .collect()
    }

    #[test]
    fn promise_and_test_meet_by_number() {
        let promises =
            "**G01** Order.\n\n| G2 | Loss |\n- **G103 Rare.** It may be.\n**G1030** Late.";
        let code = "#[test]\nfn sem_g01_order() {}\n#[test]\nfn loom_sem_g02() {}\n#[test]\nfn sem_g103_rare() {}\n#[test]\nfn sem_g1030_late() {}";
        assert!(found(promises, code).is_empty());
    }

    #[test]
    fn a_promise_without_test_and_a_test_without_promise_are_found() {
        let code = "#[test]\nfn sem_g07_x() {}";
        assert_eq!(
            found("\n**G01** Order.", code),
            [("a/tests/t.rs".to_owned(), 2), (LIST.to_owned(), 2)]
        );
    }

    #[test]
    fn tests_in_python_count() {
        let python = ("p/test_x.py", "def test_sem_g07_rows(groups):\n    pass\n");
        assert!(check(&ProjectTree::of(&[(LIST, "**G07** Rows."), python])).is_empty());
        assert_eq!(
            check(&ProjectTree::of(&[(LIST, "**G08** Rows."), python])).len(),
            1
        );
    }

    #[test]
    fn a_function_that_is_no_test_keeps_no_promise() {
        assert_eq!(found("**G01** Order.", "fn sem_g01_order() {}").len(), 1);
        assert_eq!(
            found("**G10** Order.", "#[test]\nfn sem_g100_other() {}").len(),
            2
        );
    }

    #[test]
    fn tests_of_promises_need_the_list_of_promises() {
        assert_eq!(
            check(&ProjectTree::of(&[("t.rs", "#[test]\nfn sem_g01_a() {}")])).len(),
            1
        );
        assert!(check(&ProjectTree::of(&[])).is_empty());
    }

    const LAST: u32 = CASES[0].2;

    fn missing(table: &str, code: &str) -> usize {
        missing_of(CASES[0], table, code)
    }

    fn missing_of(cases: (&str, &str, u32), table: &str, code: &str) -> usize {
        let text = format!("# Title\n\n{}\n\n{table}\n\n## More\n\n| 1 |", cases.1);
        let files = [(LIST, text.as_str()), ("a/tests/t.rs", code)];
        let findings = check(&ProjectTree::of(&files)).into_iter();
        findings.filter(|one| one.what.starts_with("case ")).count()
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
        let dss = CASES[1];
        let all = dss.2 as usize;
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
