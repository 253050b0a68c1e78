//! A type that a whole crate sees has a name that no other crate gives to another type.

use crate::source::ProjectTree;
use crate::tidy::allow_list::excuse;
use crate::tidy::{Finding, HouseRule};
use regex_lite::Regex;
use std::collections::BTreeMap;

const LIST: &str = "xtask/allow-type-names.txt";

const MEANT: HouseRule = HouseRule(
    "a name that means two things has to be looked up each time",
    "rename one, or say in xtask/allow-type-names.txt why both mean the same",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let declared = Regex::new(
        r"(?m)^\s*pub(?:\(crate\))?\s+(?:unsafe\s+)?(?:struct|enum|union|trait|type)\s+(\w+)",
    );
    let declared = declared.expect("it compiles");
    let mut first: BTreeMap<String, &str> = BTreeMap::new();
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        let Some((package, _)) = file.path.split_once("/src/") else {
            continue;
        };
        for found in declared.captures_iter(&rust.code) {
            let (at, name) = (found.get(0).expect("it is the match"), &found[1]);
            if tree.is_test(file, at.start()) {
                continue;
            }
            let other = *first.entry(name.to_owned()).or_insert(package);
            if other != package {
                let what = format!("`{name}` is a type of {other}, too");
                findings.push(MEANT.at(&file.path, rust.line(at.end()), what));
            }
        }
    }
    excuse(tree, LIST, findings, |finding| {
        finding.what.split('`').nth(1).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_two_packages_is_found_unless_it_is_listed_private_or_of_tests() {
        let tree = ProjectTree::of(&[
            (LIST, "Known  the same thing\nGone  it was there\n"),
            (
                "a/src/x.rs",
                "pub struct Same;\npub enum Known {}\nenum Own {}\n",
            ),
            ("a/src/y.rs", "pub(crate) trait Same {}\n"),
            (
                "b/src/x.rs",
                "\n/// pub struct Own;\npub(crate) type Same<T> = T;\npub struct Known;\n\
                 pub(super) struct Own;\n#[cfg(test)]\nmod tests { pub struct Same; }\n",
            ),
            ("b/tests/x.rs", "pub struct Same;\n"),
        ]);
        let found: Vec<_> = check(&tree)
            .iter()
            .map(|f| (f.path.clone(), f.line))
            .collect();
        assert_eq!(found, [("b/src/x.rs".to_owned(), 3), (LIST.to_owned(), 2)]);
    }
}
