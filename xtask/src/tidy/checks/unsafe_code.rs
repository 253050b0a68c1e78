//! `unsafe` stands in named files only.

use crate::source::ProjectTree;
use crate::tidy::allow_list::excuse;
use crate::tidy::{Finding, HouseRule};
use regex_lite::Regex;

const LIST: &str = "xtask/allow-unsafe.txt";

const AUDITED: HouseRule = HouseRule(
    "what must be audited should be few files that everyone knows",
    "use a safe way, or name the file and the reason in xtask/allow-unsafe.txt",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let word = Regex::new(r"\bunsafe\b").expect("it compiles");
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        let line = word.find(&rust.code).map(|found| rust.line(found.start()));
        let what = "`unsafe` outside of the named files";
        findings.extend(line.map(|line| AUDITED.at(&file.path, line, what)));
    }
    excuse(tree, LIST, findings, |finding| &finding.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unsafe_code_in_other_files_is_found() {
        let tree = ProjectTree::of(&[
            (LIST, "a.rs  the node's layout\ngone.rs  it was needed\n"),
            ("a.rs", "unsafe fn f() {}"),
            ("b.rs", "\nfn g() { unsafe { f() } }"),
            (
                "c.rs",
                "#![forbid(unsafe_code)]\n// unsafe\nconst X: &str = \"unsafe\";",
            ),
        ]);
        let found: Vec<_> = check(&tree)
            .iter()
            .map(|f| (f.path.clone(), f.line))
            .collect();
        assert_eq!(found, [("b.rs".to_owned(), 2), (LIST.to_owned(), 2)]);
    }
}
