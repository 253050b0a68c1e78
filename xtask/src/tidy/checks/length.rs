//! A file fits a sitting: 400 lines without its tests, 600 in all. A function fits one screen: 70
//! lines from `fn` to its closing brace.

use crate::source::ProjectTree;
use crate::tidy::{Finding, HouseRule};

const WITHOUT_TESTS: usize = 400;
const IN_ALL: usize = 600;
const FUNCTION: usize = 70;

/// Programs; documents may be as long as their subject.
const KINDS: [&str; 3] = [".rs", ".py", ".sh"];

const SITTING: HouseRule = HouseRule(
    "a file should be read in one sitting",
    "split it by what it is about",
);
const SCREEN: HouseRule = HouseRule(
    "a function should fit one screen",
    "give its steps names of their own",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let programs = tree
        .files()
        .filter(|file| KINDS.iter().any(|kind| file.path.ends_with(kind)));
    for file in programs {
        let lines = file.text.as_deref().unwrap_or_default().lines().count();
        let tests = match &file.rust {
            _ if tree.modules().is_test_only(&file.path) => lines,
            Some(rust) => rust.test_lines(),
            None => 0,
        };
        let rest = lines - tests;
        if lines > IN_ALL {
            let what = format!("{lines} lines, more than {IN_ALL}");
            findings.push(SITTING.at(&file.path, IN_ALL + 1, what));
        } else if rest > WITHOUT_TESTS {
            let what = format!("{rest} lines without tests, more than {WITHOUT_TESTS}");
            findings.push(SITTING.at(&file.path, WITHOUT_TESTS + 1, what));
        }
        let functions = file.rust.iter().flat_map(|rust| &rust.functions);
        for function in functions.filter(|function| function.lines > FUNCTION) {
            let (name, lines) = (&function.name, function.lines);
            let what = format!("`{name}` has {lines} lines, more than {FUNCTION}");
            findings.push(SCREEN.at(&file.path, function.line, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, code: usize, tests: usize) -> usize {
        let mut text = "fn f() {}\n".repeat(code);
        if tests > 0 {
            text += &format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(tests - 3));
        }
        let root = ("a/Cargo.toml", "[package]\nname = 'a'\n");
        check(&ProjectTree::of(&[
            root,
            ("a/src/lib.rs", "mod x;"),
            (path, &text),
        ]))
        .len()
    }

    #[test]
    fn tests_are_counted_out_up_to_the_upper_limit() {
        assert_eq!(found("a/src/x.rs", 400, 200), 0);
        assert_eq!(found("a/src/x.rs", 401, 0), 1);
        assert_eq!(found("a/src/x.rs", 400, 201), 1);
    }

    #[test]
    fn a_file_of_tests_has_only_the_upper_limit() {
        assert_eq!(found("a/tests/t.rs", 600, 0), 0);
        assert_eq!(found("a/tests/t.rs", 601, 0), 1);
    }

    #[test]
    fn scripts_are_counted_and_documents_are_not() {
        assert_eq!(found("a/x.py", 401, 0), 1);
        assert_eq!(found("a/x.md", 900, 0), 0);
    }

    fn functions(lines: usize) -> Vec<usize> {
        let text = format!("\nfn f() {{\n{}}}\n", "\n".repeat(lines - 2));
        check(&ProjectTree::of(&[("a.rs", &text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn the_limit_itself_is_well_and_one_more_is_not() {
        assert!(functions(70).is_empty());
        assert_eq!(functions(71), [2]);
    }
}
