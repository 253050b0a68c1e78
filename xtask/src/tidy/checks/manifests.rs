//! Every package says what it is, under which licence, and takes the workspace's lints. What is
//! published has nothing that a registry would refuse. It stands on no package that is not, and all
//! versions agree.

use crate::source::{PackageManifest, ProjectTree, Workspace};
use crate::tidy::{Finding, HouseRule};

const ROOT: &str = "Cargo.toml";

/// What a published package takes from the workspace.
const INHERITED: [&str; 3] = ["version", "rust-version", "exclude"];

const FIELD: HouseRule = HouseRule(
    "registries and readers ask for it",
    "add it to [package]; the licence is `license.workspace = true`",
);
const LINTS: HouseRule = HouseRule(
    "the same rules hold everywhere",
    "add `[lints]` with `workspace = true`",
);
const STATED: HouseRule = HouseRule("packages inherit it", "add it");
const SAME: HouseRule = HouseRule(
    "all published packages have the same",
    "add `….workspace = true`, or `publish = false`, to [package]",
);
const HIDDEN: HouseRule = HouseRule(
    "a registry takes no package whose dependencies it does not have",
    "publish both or neither",
);
const FOUND: HouseRule = HouseRule(
    "packages are published under one version, and find each other by it",
    "write it, or let `cargo xtask release` set it",
);
const UNFOUND: HouseRule = HouseRule(
    "it is not published, and so what names its version cannot be",
    "leave out its version",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = whole(tree);
    if let Some(text) = tree.text(ROOT) {
        match Workspace::parse(text) {
            Ok(workspace) => findings.extend(publishing(tree, &workspace)),
            Err(fault) => findings.push(STATED.at(ROOT, 1, fault)),
        }
    }
    findings
}

/// What any package lacks.
fn whole(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in tree.manifests() {
        let (path, name) = (&manifest.path, &manifest.name);
        for field in ["license", "description"] {
            if !manifest.has_field(field) {
                findings.push(FIELD.at(path, 1, format!("`{name}` has no {field}")));
            }
        }
        if manifest.says("lints.workspace") != Some(true) {
            let what = format!("`{name}` does not take the workspace's lints");
            findings.push(LINTS.at(path, 1, what));
        }
    }
    findings
}

/// What a registry would refuse. A dependency inside the project has a version where it is
/// published, and only there. Cargo drops a test's dependency that has none, and refuses to publish
/// what needs one that has none.
fn publishing(tree: &ProjectTree, workspace: &Workspace) -> Vec<Finding> {
    let named = |name: &str| tree.manifests().iter().find(|one| one.name == name);
    let is_published = |name: &str| named(name).is_some_and(PackageManifest::is_published);
    let mut findings = Vec::new();
    for (name, version) in &workspace.own {
        let (what, wanted) = (
            format!("`{name}` of [workspace.dependencies]"),
            &workspace.version,
        );
        match (is_published(name), version) {
            (true, version) if version.as_ref() != Some(wanted) => {
                findings.push(FOUND.at(ROOT, 1, format!("{what} has not the version {wanted}")));
            }
            (false, Some(_)) => findings.push(UNFOUND.at(ROOT, 1, format!("{what} has a version"))),
            _ => {}
        }
    }
    for manifest in tree.manifests().iter().filter(|one| one.is_published()) {
        let (path, name) = (&manifest.path, &manifest.name);
        for field in INHERITED.iter().filter(|field| !manifest.inherits(field)) {
            let what = format!("`{name}` does not take the workspace's {field}");
            findings.push(SAME.at(path, 1, what));
        }
        for needed in manifest.dependencies.iter().filter(|needed| !needed.is_dev) {
            let needed = &needed.package;
            if named(needed).is_some() && !is_published(needed) {
                let what = format!("`{name}` needs `{needed}`, which is not published");
                findings.push(HIDDEN.at(path, 1, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_manifest_is_well_and_each_gap_is_found() {
        let all = "[package]\nname = 'x'\nlicense.workspace = true\ndescription = 'it'\n[lints]\nworkspace = true\n";
        assert!(whole(&ProjectTree::of(&[("x/Cargo.toml", all)])).is_empty());
        assert_eq!(
            whole(&ProjectTree::of(&[(
                "x/Cargo.toml",
                "[package]\nname = 'x'\n"
            )]))
            .len(),
            3
        );
    }

    const ROOT_TEXT: &str = "[workspace.package]\nversion = '0.2.0'\nrust-version = '1.95'\n\
                             [workspace.dependencies]\n";
    const OPEN: &str = "version.workspace = true\nrust-version.workspace = true\n\
                        exclude.workspace = true\n";

    fn found(own: &str, a: &str, b: &str) -> Vec<String> {
        let root = format!("{ROOT_TEXT}{own}");
        let a = format!("[package]\nname = 'a'\n{a}");
        let b = format!("[package]\nname = 'b'\n{b}");
        let files = [
            ("Cargo.toml", &*root),
            ("a/Cargo.toml", &*a),
            ("b/Cargo.toml", &*b),
        ];
        let workspace = Workspace::parse(&root).unwrap();
        let findings = publishing(&ProjectTree::of(&files), &workspace);
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_published_package_and_a_helper_of_its_tests_are_well() {
        let a = format!("{OPEN}[dev-dependencies]\nb.workspace = true\n");
        let own = "a = { path = 'a', version = '0.2.0' }\nb = { path = 'b' }\n";
        assert!(found(own, &a, "publish = false\n").is_empty());
    }

    #[test]
    fn a_version_is_where_it_is_published_and_nowhere_else() {
        let own = "a = { path = 'a', version = '0.1.0' }\nb = { path = 'b', version = '0.2.0' }\n";
        let wanted = [
            "`a` of [workspace.dependencies] has not the version 0.2.0",
            "`b` of [workspace.dependencies] has a version",
        ];
        assert_eq!(found(own, OPEN, "publish = false\n"), wanted);
    }

    #[test]
    fn what_is_published_needs_nothing_that_is_not() {
        let a = format!("{OPEN}[dependencies]\nb.workspace = true\n");
        let wanted = ["`a` needs `b`, which is not published"];
        assert_eq!(found("", &a, "publish = false\n"), wanted);
    }

    #[test]
    fn a_field_of_its_own_is_found() {
        let found = found("", "version = '1.0.0'\n", "publish = false\n");
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn a_root_without_a_version_is_found() {
        let tree = ProjectTree::of(&[("Cargo.toml", "[workspace]\n")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
