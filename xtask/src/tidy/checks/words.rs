//! Words that do not belong in the project: paths of one machine, notes, drawers; nothing half done
//! and nothing switched off.
//!
//! Read this file as the list; it is the one file that the check leaves out.

use crate::source::{ProjectTree, SourceFile};
use crate::tidy::{Finding, HouseRule};
use regex_lite::Regex;

/// This file.
const SELF: &str = "xtask/src/tidy/checks/words.rs";

/// Where a word is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// In every text.
    Text,
    /// In every text but in tests.
    Product,
    /// In Rust outside of comments and literals.
    Code,
}
use Where::{Code, Product, Text};

const UNFINISHED: &str = "it is not meant for the user's hands";
const FINISHED: &str = "write it, leave the function out, or delete it";
const SWITCHED_OFF: &str = "a test that does not run proves nothing";
const MENDED: &str = "mend the test, delete it, or, if it takes long, call it `deep_…`";

/// Where, what, why not, and what to do.
const WORDS: &[(Where, &str, &str, &str)] = &[
    (
        Product,
        r#"(?m)(?:^|[\s"'`(=:<])/(?:work|root|tmp|home|Users)/[\w.]"#,
        "a path of one machine means nothing on another",
        "use a path from the project's root, a temporary folder of the system, or an option",
    ),
    (
        Text,
        r"\b(?:TODO|FIXME|XXX|HACK)\b",
        "a note to oneself is not the reader's business",
        "do it, or write it where work is planned",
    ),
    (
        Text,
        r"(?i)\b(?:issue|pull request|pr|bug)\s*#\d+",
        "a number sends the reader away",
        "say the reason itself",
    ),
    (
        Product,
        r"\bmod\s+(?:utils?|helpers?|misc|common)\b\s*[;{]",
        "a drawer for anything fills with anything",
        "name it after what it is about; a helper lives beside its user until it has two",
    ),
    (
        Text,
        r"(?m)^\s*//[/!]\s*```(?:.*\b)?ignore\b",
        "nothing keeps an example true that is not compiled",
        "let it run, mark it `no_run` or `compile_fail`, or `text` when it is no code",
    ),
    (Code, r"\b(?:todo|unimplemented|dbg)!", UNFINISHED, FINISHED),
    (
        Code,
        r"#\[\s*ignore\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async\s+)?fn\s+\w+",
        SWITCHED_OFF,
        MENDED,
    ),
    (
        Code,
        r"\bcfg_attr\s*\([^)]*\bignore\b",
        SWITCHED_OFF,
        MENDED,
    ),
];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (place, pattern, why, remedy) in WORDS {
        let pattern = Regex::new(pattern).expect("it compiles");
        for file in tree.files().filter(|file| file.path != SELF) {
            let text = text(file, *place).unwrap_or_default();
            for found in pattern.find_iter(text) {
                let word = found.as_str().trim();
                let at = found.start() + found.as_str().find(word).unwrap_or(0);
                let is_free = *place == Product && file.rust.is_some() && tree.is_test(file, at);
                if !is_free && !word.contains("fn deep_") {
                    let line = text[..at].matches('\n').count() + 1;
                    let what = word.lines().next().unwrap_or_default();
                    findings.push(HouseRule(why, remedy).at(&file.path, line, format!("`{what}`")));
                }
            }
        }
    }
    findings
}

fn text(file: &SourceFile, place: Where) -> Option<&str> {
    match place {
        Text | Product => file.text.as_deref(),
        Code => file.rust.as_ref().map(|rust| rust.code.as_str()),
    }
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
        assert_eq!(lines("docs/x.md", "see\n`/work/data` or /home/me"), [2, 2]);
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

    #[test]
    fn leftovers_are_found_where_they_stand() {
        assert_eq!(
            leftovers("fn f() {\n todo!()\n}\nfn g() { unimplemented!() }\nfn h() { dbg!(1); }"),
            [2, 4, 5]
        );
        assert_eq!(
            leftovers(
                "#[test]\n#[ignore = \"slow\"]\nfn t() {}\n#[cfg_attr(x, ignore)]\nfn u() {}"
            ),
            [2, 4]
        );
        assert_eq!(
            leftovers("/// A.\n///\n/// ```rust,ignore\n/// f();\n/// ```\nfn f() {}"),
            [3]
        );
    }

    #[test]
    fn mere_mention_is_well() {
        assert!(leftovers("#[test]\n#[ignore = \"slow\"]\nfn deep_t() {}").is_empty());
        assert!(leftovers("// todo!() once\nconst A: &str = \"dbg!\";\nfn ignore() {}\n/// ```text\n/// x\n/// ```\nfn f() {}").is_empty());
    }

    fn leftovers(text: &str) -> Vec<usize> {
        lines("a/src/lib.rs", text)
    }
}
