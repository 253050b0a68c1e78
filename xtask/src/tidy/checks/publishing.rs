//! What a registry would refuse: a published package that stands on one that is not, and versions
//! that do not agree.

use crate::source::{PackageManifest, ProjectTree, Workspace};
use crate::tidy::Finding;

const ROOT: &str = "Cargo.toml";

/// What a published package takes from the workspace.
const INHERITED: [&str; 3] = ["version", "rust-version", "exclude"];

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let Some(text) = tree.text(ROOT) else {
        return Vec::new();
    };
    let workspace = match Workspace::parse(text) {
        Ok(workspace) => workspace,
        Err(fault) => {
            return vec![Finding::new(
                ROOT,
                1,
                fault,
                "packages inherit it",
                "add it",
            )];
        }
    };
    let mut findings = versions(tree, &workspace);
    for manifest in tree.manifests().iter().filter(|one| one.is_published()) {
        findings.extend(package(tree, manifest));
    }
    findings
}

/// A dependency inside the project has a version where it is published, and only there: Cargo drops
/// a test's dependency that has none, and refuses to publish what needs one that has none.
fn versions(tree: &ProjectTree, workspace: &Workspace) -> Vec<Finding> {
    let at = |what: String, why: &'static str, remedy: String| {
        vec![Finding::new(ROOT, 1, what, why, remedy)]
    };
    let own = workspace.own.iter().flat_map(|(name, version)| {
        let wanted = named(tree, name)
            .is_some_and(PackageManifest::is_published)
            .then_some(&workspace.version);
        match (wanted, version) {
            (wanted, version) if wanted == version.as_ref() => Vec::new(),
            (Some(wanted), _) => at(
                format!("`{name}` of [workspace.dependencies] has not the version {wanted}"),
                "packages are published under one version, and find each other by it",
                format!("write `version = \"{wanted}\"`, or let `cargo xtask release` set it"),
            ),
            (None, _) => at(
                format!("`{name}` of [workspace.dependencies] has a version"),
                "it is not published, and so what names its version cannot be",
                "leave out its version".to_owned(),
            ),
        }
    });
    own.collect()
}

fn package(tree: &ProjectTree, manifest: &PackageManifest) -> Vec<Finding> {
    let at = |what: String, why: &'static str, remedy: String| {
        Finding::new(&manifest.path, 1, what, why, remedy)
    };
    let lacking = INHERITED.iter().filter(|field| !manifest.inherits(field));
    let mut findings: Vec<Finding> = lacking
        .map(|field| {
            at(
                format!("`{}` does not take the workspace's {field}", manifest.name),
                "all published packages have the same",
                format!("add `{field}.workspace = true`, or `publish = false`, to [package]"),
            )
        })
        .collect();
    let needed = manifest.dependencies.iter();
    let needed = needed.filter(|one| !one.is_dev);
    let hidden = needed
        .filter(|one| named(tree, &one.package).is_some_and(|manifest| !manifest.is_published()));
    findings.extend(hidden.map(|one| {
        at(
            format!(
                "`{}` needs `{}`, which is not published",
                manifest.name, one.package
            ),
            "a registry takes no package whose dependencies it does not have",
            "publish both or neither".to_owned(),
        )
    }));
    findings
}

fn named<'a>(tree: &'a ProjectTree, name: &str) -> Option<&'a PackageManifest> {
    tree.manifests().iter().find(|one| one.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let findings = check(&ProjectTree::of(&files));
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
