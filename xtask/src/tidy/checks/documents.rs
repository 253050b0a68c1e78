//! Links lead somewhere, and every document is reached by one:
//! - relative links of Markdown files to files and their headings;
//! - paths in the map of the papers to files;
//! - the list of decisions to each of them.

use crate::source::{ProjectTree, resolve};
use crate::tidy::markdown::{anchors, code_spans, links};
use crate::tidy::{Finding, HouseRule};
use regex_lite::Regex;
use std::collections::BTreeSet;

const MAP: &str = "docs/PAPER-MAP.md";
const DECISIONS: &str = "docs/adr/";
const INDEX: &str = "docs/adr/README.md";

const LOST: HouseRule = HouseRule(
    "a reader who follows it gets lost",
    "correct the link, or write what it promises",
);
const DEAD: HouseRule = HouseRule(
    "nobody finds what no link leads to",
    "link it from where its reader comes from, or delete it",
);
const UNLISTED: HouseRule = HouseRule(
    "the list is how a reader learns what was decided",
    "add a line with a link to docs/adr/README.md",
);
const MOVED: HouseRule = HouseRule(
    "the map is how a reader gets from a paper's result to the code",
    "correct the path",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let (mut findings, mut linked) = (Vec::new(), BTreeSet::new());
    for (file, text) in tree.markdown() {
        for (line, link) in links(text) {
            let fault = fault(tree, &file.path, &link);
            findings.extend(fault.map(|what| LOST.at(&file.path, line, what)));
            let target = resolve(&file.path, link.split('#').next().unwrap_or_default());
            linked.extend(target.map(|target| (file.path.as_str(), target)));
        }
    }
    let documents = tree.markdown().map(|(file, _)| &file.path);
    for path in documents.filter(|path| path.starts_with("docs/")) {
        if !linked.iter().any(|(from, to)| to == path && from != path) {
            findings.push(DEAD.at(path, 1, "no other document links to this one"));
        }
        let is_decision = path.starts_with(DECISIONS) && path != INDEX;
        if is_decision && !linked.contains(&(INDEX, path.clone())) {
            findings.push(UNLISTED.at(path, 1, "this decision is not in the list"));
        }
    }
    findings.extend(moved(tree));
    findings
}

/// What is wrong with a link of the file at `from`.
fn fault(tree: &ProjectTree, from: &str, link: &str) -> Option<String> {
    let address = Regex::new("^[[:alnum:]]{2,}:(?:[^:]|$)").expect("it compiles");
    // Documentation in the sources names Rust's items; rustdoc checks that.
    let is_item = link.contains("::") && from.split('/').any(|folder| folder == "src");
    if address.is_match(link) || is_item {
        return None;
    }
    if link.starts_with('/') {
        return Some(format!("`{link}` starts at the root of a machine"));
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let Some(target) = resolve(from, path) else {
        return Some(format!("`{link}` leads out of the project"));
    };
    if !tree.has(&target) {
        return Some(format!("`{link}` leads nowhere"));
    }
    let text = tree
        .text(&target)
        .filter(|_| target.ends_with(".md") && !anchor.is_empty())?;
    (!anchors(text).contains(anchor)).then(|| format!("`{target}` has no heading `#{anchor}`"))
}

/// Paths that the map of the papers names and that do not exist.
fn moved(tree: &ProjectTree) -> Vec<Finding> {
    // A path may be followed by `::item`, `:line` or a function's name after a space.
    let path = r"^((?:crates|bench|docs|examples|python|xtask|fuzz)/[\w./-]*)(?:$|:|\s|#)";
    let path = Regex::new(path).expect("it compiles");
    let mut findings = Vec::new();
    for (line, span) in code_spans(tree.text(MAP).unwrap_or_default()) {
        if let Some(found) = path.captures(&span).filter(|found| !tree.has(&found[1])) {
            findings.push(MOVED.at(MAP, line, format!("`{}` does not exist", &found[1])));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: HouseRule, files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let findings = check(&ProjectTree::of(files)).into_iter();
        let findings = findings.filter(|one| *one == rule.at(&one.path, one.line, &*one.what));
        findings.map(|one| (one.path, one.line)).collect()
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let files = [
            ("docs/b.md", "# Two words\n"),
            ("crates/x/src/lib.rs", ""),
            (path, text),
        ];
        found(LOST, &files)
            .into_iter()
            .map(|(_, line)| line)
            .collect()
    }

    fn moved_lines(map: &str) -> Vec<usize> {
        let files = [(MAP, map), ("crates/comm/src/ring.rs", "")];
        found(MOVED, &files)
            .into_iter()
            .map(|(_, line)| line)
            .collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_well() {
        let text = "[b](docs/b.md) [w](docs/b.md#two-words) [d](docs/) [own](#top)\n# Top\n[o](https://a.b/c#d) [m](mailto:a@b.c)";
        assert!(lines("README.md", text).is_empty());
        assert!(
            lines(
                "docs/adr/1.md",
                "[b](../b.md) [l](../../crates/x/src/lib.rs#L3)"
            )
            .is_empty()
        );
        assert!(lines("crates/x/src/sleep.md", "[P](crate::Port)").is_empty());
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for wrong in [
            "docs/c.md",
            "docs/b.md#three",
            "#gone",
            "/docs/b.md",
            "../x.md",
            "crate::Port",
        ] {
            assert_eq!(
                lines("README.md", &format!("\n[x]({wrong})")),
                [2],
                "{wrong}"
            );
        }
    }

    #[test]
    fn only_the_document_that_others_link_to_is_alive() {
        let files = [
            ("README.md", "[a](docs/A.md#x)"),
            ("docs/A.md", "[adr](adr/1.md)"),
            ("docs/adr/1.md", ""),
            ("docs/B.md", "[self](B.md) [top](#b)"),
        ];
        assert_eq!(found(DEAD, &files), [("docs/B.md".to_owned(), 1)]);
    }

    #[test]
    fn a_decision_must_be_linked_from_the_list() {
        let files = [
            ("docs/adr/0001-edges.md", ""),
            ("docs/adr/0002-queues.md", ""),
            (INDEX, "- [0001](0001-edges.md)\n- 0002-queues.md"),
        ];
        let wanted = [("docs/adr/0002-queues.md".to_owned(), 1)];
        assert_eq!(found(UNLISTED, &files), wanted);
        assert!(found(UNLISTED, &[(INDEX, "")]).is_empty());
    }

    #[test]
    fn paths_that_exist_are_well_and_other_code_is_no_path() {
        assert!(moved_lines("`crates/comm/src/ring.rs` `crates/comm/` `crates/comm/src/ring.rs::shift` `f/g` `docs/PAPER-MAP.md`").is_empty());
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        assert_eq!(
            moved_lines("a\n| `crates/comm/src/lost.rs` |\n`bench/src/ring.rs:12`"),
            [2, 3]
        );
    }
}
