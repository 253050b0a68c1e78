//! Words that do not belong in the project.
//!
//! Read this file as the list; it is the one file that the check leaves out.

use crate::source::{ProjectTree, SourceFile};
use crate::tidy::Finding;
use regex_lite::Regex;

/// This file.
const SELF: &str = "xtask/src/tidy/checks/words.rs";

struct Word {
    pattern: &'static str,
    why: &'static str,
    remedy: &'static str,
    in_tests: bool,
}

const WORDS: &[Word] = &[
    Word {
        pattern: r#"(?:^|[\s"'`(=:<])/(?:work|root|tmp|home|Users)/[\w.]"#,
        why: "a path of one machine means nothing on another",
        remedy: "use a path from the project's root, a temporary folder of the system, or an option",
        in_tests: false,
    },
    Word {
        pattern: r"\b(?:TODO|FIXME|XXX|HACK)\b",
        why: "a note to oneself is not the reader's business",
        remedy: "do it, or write it where work is planned",
        in_tests: true,
    },
    Word {
        pattern: r"(?i)\b(?:issue|pull request|pr|bug)\s*#\d+",
        why: "a number sends the reader away",
        remedy: "say the reason itself",
        in_tests: true,
    },
    Word {
        pattern: r"\bmod\s+(?:utils?|helpers?|misc|common)\b\s*[;{]",
        why: "a drawer for anything fills with anything",
        remedy: "name it after what it is about; a helper lives beside its user until it has two",
        in_tests: false,
    },
];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for word in WORDS {
        let pattern = Regex::new(word.pattern).expect("it compiles");
        for file in tree.files().filter(|file| file.path != SELF) {
            let lines = file.text.as_deref().unwrap_or_default().lines().enumerate();
            for (at, line) in lines {
                let found = pattern
                    .find(line)
                    .filter(|_| word.in_tests || !is_test_line(tree, file, at));
                if let Some(found) = found {
                    let what = format!("`{}`", found.as_str().trim());
                    findings.push(Finding::new(
                        &file.path,
                        at + 1,
                        what,
                        word.why,
                        word.remedy,
                    ));
                }
            }
        }
    }
    findings
}

fn is_test_line(tree: &ProjectTree, file: &SourceFile, at: usize) -> bool {
    let Some(text) = &file.text else { return false };
    let offset = text.split_inclusive('\n').take(at).map(str::len).sum();
    file.rust.is_some() && tree.is_test(file, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let root = ("a/Cargo.toml", "[package]\nname = 'a'\n");
        check(&ProjectTree::of(&[root, (path, text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn each_word_is_found_in_any_text() {
        assert_eq!(lines("docs/x.md", "see\n`/work/data` or /home/me"), [2]);
        assert_eq!(lines("x.toml", "a = \"/tmp/x\" # TODO: b"), [1, 1]);
        assert_eq!(
            lines("a/src/lib.rs", "// as in issue #12\nmod util;"),
            [1, 2]
        );
    }

    #[test]
    fn addresses_and_relative_paths_are_well() {
        assert!(
            lines(
                "x.md",
                "https://x.org/work/a ../tmp/b target/tmp/c mod utilities"
            )
            .is_empty()
        );
    }

    #[test]
    fn tests_may_name_places_but_not_leave_notes() {
        let text = "#[cfg(test)]\nmod tests {\n const P: &str = \"/tmp/x\"; // FIXME\n}";
        assert_eq!(lines("a/src/lib.rs", text), [3]);
        assert!(lines("a/tests/t.rs", "const P: &str = \"/tmp/x\";").is_empty());
    }
}
