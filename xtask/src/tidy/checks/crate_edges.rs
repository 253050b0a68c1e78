//! Which crate may depend on which: the arrows of the architecture's drawing, and no others.
//!
//! ```text
//!  sync ◄─ dispatch ◄─ ports ◄─┬─ comm ◄─┬─ mining      comm also on: sums (on nothing), trace (on sync)
//!                              │         ├─ mpi
//!                              │         ├─ search
//!                              │         ├─ sim
//!                              │         └─ window, files
//!                              └─ service ◄─┬─ http             service is on comm too, and on service-macros
//!                                           └─ mesh ◄─ mesh-zenoh
//!  on top: motet ◄─ c; motet ◄─ cli ◄─ python; cli is on bench and mesh-zenoh too, if it is to have them; machine on sync
//!  aside: testkit (dev only), patterns (on comm; for bench, counts and examples),
//!         problems (on search and sim), xtask and fuzz
//! ```

use crate::source::{Dependency, ProjectTree};
use crate::tidy::Finding;

/// A package and the ones directly below it; what those may use, it may use too.
const BELOW: &[(&str, &[&str])] = &[
    ("motet-sync", &[]),
    ("motet-dispatch", &["motet-sync"]),
    ("motet-ports", &["motet-dispatch"]),
    ("motet-sums", &[]),
    ("motet-trace", &["motet-sync"]),
    ("motet-machine", &["motet-sync"]),
    ("motet-comm", &["motet-ports", "motet-sums", "motet-trace"]),
    ("motet-mining", &["motet-comm"]),
    ("motet-mpi", &["motet-comm"]),
    ("motet-search", &["motet-comm"]),
    ("motet-sim", &["motet-comm"]),
    ("motet-window", &["motet-comm"]),
    ("motet-files", &["motet-comm"]),
    ("motet-service-macros", &[]),
    (
        "motet-service",
        &["motet-comm", "motet-mesh", "motet-service-macros"],
    ),
    ("motet-http", &["motet-service"]),
    ("motet-mesh", &["motet-ports"]),
    ("motet-mesh-zenoh", &["motet-mesh"]),
    (
        "motet",
        &[
            "motet-mining",
            "motet-mpi",
            "motet-search",
            "motet-sim",
            "motet-window",
            "motet-files",
            "motet-service",
            "motet-http",
            "motet-mesh",
            "motet-patterns",
        ],
    ),
    (
        "motet-python",
        &["motet", "motet-service", "motet-http", "motet-cli"],
    ),
    ("motet-c", &["motet"]),
    ("motet-patterns", &["motet-comm"]),
    ("motet-problems", &["motet-search", "motet-sim"]),
    (
        "motet-bench",
        &["motet", "motet-machine", "motet-patterns", "motet-problems"],
    ),
    (
        "motet-cli",
        &["motet-bench", "motet-machine", "motet-mesh-zenoh"],
    ),
    ("motet-counts", &["motet-patterns"]),
    (TESTKIT, &["motet-comm"]),
    ("motet-fuzz", &["motet"]),
    ("xtask", &[]),
];

/// Any package may use it in its tests, none elsewhere.
const TESTKIT: &str = "motet-testkit";

/// Any package may use it in its tests and examples.
const PROBLEMS: &str = "motet-problems";

const WHY: &str = "layers are crates, and a layer knows only what is below it";

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in tree.manifests() {
        if !BELOW.iter().any(|(name, _)| *name == manifest.name) {
            findings.push(Finding::new(
                &manifest.path,
                1,
                format!("`{}` is in no layer", manifest.name),
                WHY,
                "add it to the table in xtask/src/tidy/checks/crate_edges.rs and to the architecture's drawing",
            ));
            continue;
        }
        for dependency in &manifest.dependencies {
            if is_ours(&dependency.package) && !may_use(&manifest.name, dependency) {
                findings.push(Finding::new(
                    &manifest.path,
                    line_of(tree, &manifest.path, &dependency.package),
                    format!("`{}` depends on `{}`", manifest.name, dependency.package),
                    WHY,
                    "move the code to the layer that may, or turn the dependency round",
                ));
            }
        }
    }
    findings
}

fn is_ours(package: &str) -> bool {
    package == "xtask" || package == "motet" || package.starts_with("motet-")
}

fn may_use(user: &str, used: &Dependency) -> bool {
    if used.package == TESTKIT {
        return used.is_dev;
    }
    let in_tests = used.package == PROBLEMS && used.is_dev;
    in_tests || is_above(user, &used.package)
}

fn is_above(upper: &str, lower: &str) -> bool {
    let below = BELOW
        .iter()
        .find(|(name, _)| *name == upper)
        .map_or(&[][..], |(_, below)| below);
    below
        .iter()
        .any(|name| *name == lower || is_above(name, lower))
}

fn line_of(tree: &ProjectTree, path: &str, package: &str) -> usize {
    let text = tree.text(path).unwrap_or_default();
    let starts = |line: &str| {
        line.trim_start()
            .strip_prefix(package)
            .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    text.lines().position(starts).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, rest: &str) -> Vec<Finding> {
        check(&ProjectTree::of(&[(
            "x/Cargo.toml",
            &format!("[package]\nname = '{name}'\n{rest}"),
        )]))
    }

    #[test]
    fn arrows_of_the_drawing_are_allowed_through_any_number_of_layers() {
        for (name, used) in [
            ("motet-mining", "motet-sync"),
            ("motet-comm", "motet-ports"),
            ("motet-http", "motet-dispatch"),
            ("motet-cli", "motet-mining"),
        ] {
            assert!(
                found(name, &format!("[dependencies]\n{used}.workspace = true\n")).is_empty(),
                "{name} {used}"
            );
        }
    }

    #[test]
    fn arrows_up_and_across_are_findings_with_their_line() {
        for (name, used) in [
            ("motet-sync", "motet-dispatch"),
            ("motet-mining", "motet-mpi"),
            ("motet-search", "motet-sim"),
            ("motet-bench", "motet-cli"),
            ("xtask", "motet-sync"),
            ("motet-comm", "motet-comm"),
        ] {
            let findings = found(name, &format!("[dependencies]\n{used}.workspace = true\n"));
            assert_eq!(
                findings.iter().map(|f| f.line).collect::<Vec<_>>(),
                [4],
                "{name} {used}"
            );
        }
    }

    #[test]
    fn the_test_kit_serves_tests_only() {
        assert!(
            found(
                "motet-ports",
                "[dev-dependencies]\nmotet-testkit.workspace = true\n"
            )
            .is_empty()
        );
        assert_eq!(
            found(
                "motet-ports",
                "[dependencies]\nmotet-testkit.workspace = true\n"
            )
            .len(),
            1
        );
    }

    #[test]
    fn a_package_that_no_layer_has_is_a_finding() {
        assert_eq!(found("motet-odd", "").len(), 1);
        assert!(found("motet-sync", "[dependencies]\nserde = '1'\n").is_empty());
    }
}
