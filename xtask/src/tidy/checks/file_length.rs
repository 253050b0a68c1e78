//! A file fits a sitting: 400 lines without its tests, 600 in all.

use crate::source::ProjectTree;
use crate::tidy::Finding;

const WITHOUT_TESTS: usize = 400;
const IN_ALL: usize = 600;

/// Programs; documents may be as long as their subject.
const KINDS: [&str; 3] = [".rs", ".py", ".sh"];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .files()
        .filter(|file| KINDS.iter().any(|kind| file.path.ends_with(kind)))
    {
        let lines = file.text.as_deref().unwrap_or_default().lines().count();
        let tests = match &file.rust {
            _ if tree.modules().is_test_only(&file.path) => lines,
            Some(rust) => rust.test_lines(),
            None => 0,
        };
        let (what, first_over) = if lines > IN_ALL {
            (format!("{lines} lines, more than {IN_ALL}"), IN_ALL + 1)
        } else if lines - tests > WITHOUT_TESTS {
            (
                format!(
                    "{} lines without tests, more than {WITHOUT_TESTS}",
                    lines - tests
                ),
                WITHOUT_TESTS + 1,
            )
        } else {
            continue;
        };
        let why = "a file should be read in one sitting";
        findings.push(Finding::new(
            &file.path,
            first_over,
            what,
            why,
            "split it by what it is about",
        ));
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
}
