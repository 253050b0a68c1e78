//! Every numbered promise has a test that bears its number, and the reverse.
//!
//! A promise is a line of the semantics that begins `**Gnn**` or `| Gnn |`; its test is a function
//! with `#[test]` whose name contains `sem_gNN`, or one of Python whose name begins `test_sem_gNN`.

use crate::source::ProjectTree;
use crate::tidy::Finding;
use regex_lite::Regex;
use std::collections::BTreeMap;

const PROMISES: &str = "docs/SEMANTICS.md";

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let promises = promises(tree.text(PROMISES).unwrap_or_default());
    let (mut findings, mut tested) = (Vec::new(), Vec::new());
    let numbered = Regex::new(r"sem_g(\d{2,4})(?:_|$)").expect("it compiles");
    for (file, rust) in tree.rust() {
        for function in &rust.functions {
            for found in numbered.captures_iter(&function.name) {
                let number = found[1].parse::<u32>().expect("at most four digits");
                if !promises.contains_key(&number) {
                    findings.push(Finding::new(
                        &file.path,
                        function.line,
                        format!(
                            "`{}` tests a promise G{} that does not exist",
                            function.name, &found[1]
                        ),
                        "tests and promises are read side by side",
                        format!("correct the number, or write the promise in {PROMISES}"),
                    ));
                } else if function.is_test {
                    tested.push(number);
                }
            }
        }
    }
    let in_python = Regex::new(r"(?m)^def test_sem_g(\d{2,4})_").expect("it compiles");
    for file in tree.files().filter(|file| file.path.ends_with(".py")) {
        let numbers = in_python.captures_iter(tree.text(&file.path).unwrap_or_default());
        tested.extend(numbers.filter_map(|found| found[1].parse::<u32>().ok()));
    }
    let untested = promises
        .into_iter()
        .filter(|(number, _)| !tested.contains(number));
    findings.extend(untested.map(|(number, line)| {
        Finding::new(
            PROMISES,
            line,
            format!("no test bears the number of G{number:02}"),
            "a promise without a test is a hope",
            format!("name a `#[test]` function `sem_g{number:02}_…`"),
        )
    }));
    findings
}

/// The numbers of the promises with the lines where they stand.
fn promises(text: &str) -> BTreeMap<u32, usize> {
    let promise =
        Regex::new(r"^\s*(?:[-*]\s+)?(?:\*\*|\|\s*\**)G(\d{1,4})\b").expect("it compiles");
    let mut promises = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(found) = promise.captures(line) {
            let number = found[1].parse().expect("at most four digits");
            promises.entry(number).or_insert(at + 1);
        }
    }
    promises
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(promises: &str, code: &str) -> Vec<(String, usize)> {
        let tree = ProjectTree::of(&[(PROMISES, promises), ("a/tests/t.rs", code)]);
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
            [("a/tests/t.rs".to_owned(), 2), (PROMISES.to_owned(), 2)]
        );
    }

    #[test]
    fn tests_in_python_count() {
        let python = ("p/test_x.py", "def test_sem_g07_rows(groups):\n    pass\n");
        assert!(check(&ProjectTree::of(&[(PROMISES, "**G07** Rows."), python])).is_empty());
        assert_eq!(
            check(&ProjectTree::of(&[(PROMISES, "**G08** Rows."), python])).len(),
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
}
