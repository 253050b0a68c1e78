//! Every relative link of a Markdown file leads to a file, and its anchor to a heading.

use crate::source::{ProjectTree, resolve};
use crate::tidy::Finding;
use crate::tidy::markdown::{anchors, links};

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.markdown() {
        for link in links(text) {
            if let Some(what) = fault(tree, &file.path, &link.text) {
                findings.push(Finding::new(
                    &file.path,
                    link.line,
                    what,
                    "a reader who follows it gets lost",
                    "correct the link, or write what it promises",
                ));
            }
        }
    }
    findings
}

/// What is wrong with a link of the file at `from`.
fn fault(tree: &ProjectTree, from: &str, link: &str) -> Option<String> {
    let is_address = link.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.len() > 1
            && scheme.chars().all(|c| c.is_ascii_alphanumeric())
            && !rest.starts_with(':')
    });
    if is_address || is_item(from, link) {
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

/// Whether the link names a Rust item: such files are part of the documentation that rustdoc
/// checks.
fn is_item(from: &str, link: &str) -> bool {
    link.contains("::") && from.split('/').any(|folder| folder == "src")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let tree = ProjectTree::of(&[
            ("docs/b.md", "# Two words\n"),
            ("crates/x/src/lib.rs", ""),
            (path, text),
        ]);
        check(&tree).iter().map(|finding| finding.line).collect()
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
}
