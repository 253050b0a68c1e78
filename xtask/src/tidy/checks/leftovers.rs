//! Nothing half done and nothing switched off.

use crate::source::ProjectTree;
use crate::tidy::Finding;
use regex_lite::Regex;

/// What to look for in code, why not, and what to do.
const IN_CODE: &[(&str, &str, &str)] = &[
    (
        r"\btodo!",
        "it panics in the user's hands",
        "write it, or leave the function out",
    ),
    (
        r"\bunimplemented!",
        "it panics in the user's hands",
        "write it, or leave the function out",
    ),
    (r"\bdbg!", "it writes to the user's terminal", "delete it"),
    (
        r"#\[\s*ignore\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async\s+)?fn\s+\w+",
        "a test that does not run proves nothing",
        "mend the test, delete it, or, if it takes long, call it `deep_…`",
    ),
    (
        r"\bcfg_attr\s*\([^)]*\bignore\b",
        "a test that does not run proves nothing",
        "mend the test or delete it",
    ),
];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let patterns: Vec<_> = IN_CODE
        .iter()
        .map(|(pattern, why, remedy)| (Regex::new(pattern).expect("it compiles"), *why, *remedy))
        .collect();
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        for (pattern, why, remedy) in &patterns {
            for found in pattern.find_iter(&rust.code) {
                if found.as_str().contains(" deep_") {
                    continue;
                }
                let what = found.as_str().lines().next().unwrap_or_default();
                let what = format!("`{what}`");
                findings.push(Finding::new(
                    &file.path,
                    rust.line(found.start()),
                    what,
                    why,
                    *remedy,
                ));
            }
        }
        findings.extend(ignored_examples(
            &file.path,
            file.text.as_deref().unwrap_or_default(),
        ));
    }
    findings
}

/// Examples in docs that nothing compiles.
fn ignored_examples(path: &str, text: &str) -> Vec<Finding> {
    let fence = Regex::new(r"^\s*//[/!]\s*```(?:.*\b)?ignore\b").expect("it compiles");
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| fence.is_match(line));
    lines
        .map(|(at, _)| {
            Finding::new(
                path,
                at + 1,
                "an example that is not compiled",
                "nothing keeps it true",
                "let it run, mark it `no_run` or `compile_fail`, or `text` when it is no code",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&ProjectTree::of(&[("a.rs", text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn leftovers_are_found_where_they_stand() {
        assert_eq!(
            lines("fn f() {\n todo!()\n}\nfn g() { unimplemented!() }\nfn h() { dbg!(1); }"),
            [2, 4, 5]
        );
        assert_eq!(
            lines("#[test]\n#[ignore = \"slow\"]\nfn t() {}\n#[cfg_attr(x, ignore)]\nfn u() {}"),
            [2, 4]
        );
        assert_eq!(
            lines("/// A.\n///\n/// ```rust,ignore\n/// f();\n/// ```\nfn f() {}"),
            [3]
        );
    }

    #[test]
    fn mere_mention_is_well() {
        assert!(lines("#[test]\n#[ignore = \"slow\"]\nfn deep_t() {}").is_empty());
        assert!(lines("// todo!() once\nconst A: &str = \"dbg!\";\nfn ignore() {}\n/// ```text\n/// x\n/// ```\nfn f() {}").is_empty());
    }
}
