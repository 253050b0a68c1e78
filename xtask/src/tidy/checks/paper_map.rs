//! Every path that the map of the papers names exists.

use crate::source::ProjectTree;
use crate::tidy::Finding;
use crate::tidy::markdown::code_spans;
use regex_lite::Regex;

const MAP: &str = "docs/PAPER-MAP.md";

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    // A path may be followed by `::item`, `:line` or a function's name after a space.
    let path =
        Regex::new(r"^((?:crates|bench|docs|examples|python|xtask|fuzz)/[\w./-]*)(?:$|:|\s|#)")
            .expect("it compiles");
    let spans = code_spans(tree.text(MAP).unwrap_or_default());
    let mut findings = Vec::new();
    for span in spans {
        let Some(found) = path.captures(&span.text) else {
            continue;
        };
        if !tree.has(&found[1]) {
            findings.push(Finding::new(
                MAP,
                span.line,
                format!("`{}` does not exist", &found[1]),
                "the map is how a reader gets from a paper's result to the code",
                "correct the path",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(map: &str) -> Vec<usize> {
        let tree = ProjectTree::of(&[(MAP, map), ("crates/comm/src/ring.rs", "")]);
        check(&tree).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn paths_that_exist_are_well_and_other_code_is_no_path() {
        assert!(lines("`crates/comm/src/ring.rs` `crates/comm/` `crates/comm/src/ring.rs::shift` `f/g` `docs/PAPER-MAP.md`").is_empty());
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        assert_eq!(
            lines("a\n| `crates/comm/src/lost.rs` |\n`bench/src/ring.rs:12`"),
            [2, 3]
        );
    }
}
