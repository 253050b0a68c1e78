//! An example proves what it shows: it ends in an assertion.

use crate::source::ProjectTree;
use crate::tidy::Finding;
use regex_lite::Regex;

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let assertion = Regex::new(r"\b(?:debug_)?assert(?:_eq|_ne|_matches)?!").expect("it compiles");
    let mut findings = Vec::new();
    let roots = tree.modules().roots();
    for root in roots.filter(|module| is_example(&module.root)) {
        let mut parts = tree
            .modules()
            .all()
            .iter()
            .filter(|module| module.root == root.root);
        let asserts = parts.any(|part| {
            let rust = tree.file(&part.file).and_then(|file| file.rust.as_ref());
            rust.is_some_and(|rust| assertion.is_match(&rust.code))
        });
        if !asserts {
            findings.push(Finding::new(
                &root.file,
                1,
                "an example without an assertion",
                "examples are run as tests, and a test must be able to fail",
                "end it with `assert!` on what it shows",
            ));
        }
    }
    findings
}

fn is_example(root: &str) -> bool {
    root.split('/').any(|folder| folder == "examples")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_example_that_asserts_nothing_is_found() {
        let tree = ProjectTree::of(&[
            ("a/Cargo.toml", "[package]\nname = 'a'\n"),
            ("a/src/lib.rs", ""),
            ("a/examples/good.rs", "fn main() { assert_eq!(1, 1); }"),
            ("a/examples/parts/main.rs", "mod part; fn main() {}"),
            ("a/examples/parts/part.rs", "fn f() { assert!(true); }"),
            ("a/examples/mute.rs", "fn main() { /* assert!(x) */ }"),
        ]);
        let found: Vec<_> = check(&tree)
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        assert_eq!(found, ["a/examples/mute.rs"]);
    }
}
