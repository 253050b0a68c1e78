//! Which crate may depend on which: the arrows of the architecture's drawing, and no others.
//!
//! ```text
//!  sync ◄─ dispatch ◄─ ports ◄─┬─ comm ◄─┬─ mining      comm also on: sums (on nothing), trace and values (on sync)
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
use crate::tidy::{Finding, HouseRule};

/// A package on each line, and the ones directly below it.
const LAYERS: &str = include_str!("../../../layers.txt");

/// Any package may use it in its tests, none elsewhere.
const TESTKIT: &str = "motet-testkit";

/// Any package may use it in its tests and examples.
const PROBLEMS: &str = "motet-problems";

const WHY: &str = "layers are crates, and a layer knows only what is below it";
const PLACED: HouseRule = HouseRule(
    WHY,
    "add it to xtask/layers.txt and to the architecture's drawing",
);
const DOWNWARD: HouseRule = HouseRule(
    WHY,
    "move the code to the layer that may, or turn the dependency round",
);

pub(super) fn check(tree: &ProjectTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in tree.manifests() {
        let (path, name) = (&manifest.path, &manifest.name);
        if below(name).is_none() {
            findings.push(PLACED.at(path, 1, format!("`{name}` is in no layer")));
            continue;
        }
        for dependency in &manifest.dependencies {
            let used = &dependency.package;
            let is_ours = used.starts_with("motet-") || below(used).is_some();
            if is_ours && !may_use(name, dependency) {
                let line = line_of(tree, path, used);
                findings.push(DOWNWARD.at(path, line, format!("`{name}` depends on `{used}`")));
            }
        }
    }
    findings
}

/// The packages directly below one.
fn below(package: &str) -> Option<impl Iterator<Item = &'static str>> {
    let mut layers = LAYERS.lines().filter_map(|line| line.split_once(':'));
    let (_, below) = layers.find(|(name, _)| *name == package)?;
    Some(below.split_whitespace())
}

fn may_use(user: &str, Dependency { package, is_dev }: &Dependency) -> bool {
    match package.as_str() {
        TESTKIT => *is_dev,
        package => (package == PROBLEMS && *is_dev) || is_above(user, package),
    }
}

fn is_above(upper: &str, lower: &str) -> bool {
    let mut below = below(upper).into_iter().flatten();
    below.any(|name| name == lower || is_above(name, lower))
}

fn line_of(tree: &ProjectTree, path: &str, package: &str) -> usize {
    let text = tree.text(path).unwrap_or_default();
    let starts = |line: &str| {
        let rest = line.trim_start().strip_prefix(package);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
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
