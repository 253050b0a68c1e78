//! Every package says what it is, under which licence, and takes the workspace's lints.

use crate::source::ProjectTree;
use crate::tidy::Finding;

const FIELDS: [(&str, &str); 2] = [
    ("license", "license.workspace = true"),
    ("description", "description = \"…\""),
];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree
        .broken_manifests()
        .iter()
        .map(|(path, message)| {
            Finding::new(path, 1, message.clone(), "Cargo cannot read it", "mend it")
        })
        .collect();
    for manifest in tree.manifests() {
        for (field, line) in FIELDS {
            if !manifest.has_field(field) {
                findings.push(Finding::new(
                    &manifest.path,
                    1,
                    format!("`{}` has no {field}", manifest.name),
                    "registries and readers ask for it",
                    format!("add `{line}` to [package]"),
                ));
            }
        }
        if manifest.says("lints.workspace") != Some(true) {
            findings.push(Finding::new(
                &manifest.path,
                1,
                format!("`{}` does not take the workspace's lints", manifest.name),
                "the same rules hold everywhere",
                "add `[lints]` with `workspace = true`",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_manifest_is_well_and_each_gap_is_found() {
        let whole = "[package]\nname = 'x'\nlicense.workspace = true\ndescription = 'it'\n[lints]\nworkspace = true\n";
        assert!(check(&ProjectTree::of(&[("x/Cargo.toml", whole)])).is_empty());
        assert_eq!(
            check(&ProjectTree::of(&[(
                "x/Cargo.toml",
                "[package]\nname = 'x'\n"
            )]))
            .len(),
            3
        );
    }

    #[test]
    fn a_manifest_that_does_not_parse_is_found() {
        assert_eq!(
            check(&ProjectTree::of(&[("x/Cargo.toml", "[package")]))[0].path,
            "x/Cargo.toml"
        );
    }
}
