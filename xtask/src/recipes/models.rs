//! `cargo xtask loom`: the models of concurrent code, every schedule of them.
//! `cargo xtask shuttle`: whole programs, under many random schedules of each.

use super::project::{Project, give_flags};
use crate::runner::Runner;
use crate::source::ProjectTree;
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// Who decides, in a model, which thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checker {
    Loom,
    Shuttle,
}

/// Libraries are built without optimisation too.
pub(super) const PLAIN: &str = "profile.dev.package.\"*\".opt-level=0";

impl Checker {
    /// Its name, and the variable that says how much it tries.
    fn name(self) -> (&'static str, &'static str) {
        match self {
            Checker::Loom => ("loom", "LOOM_MAX_PREEMPTIONS"),
            Checker::Shuttle => ("shuttle", "MOTET_SCHEDULES"),
        }
    }

    /// One step for the packages that have models in the same targets: what they share is built
    /// once. `tries` are preemptions of a model, or schedules of a program.
    ///
    /// Models are built with a `cfg` of their own, so in a folder of their own. Switching back and
    /// forth would build everything anew each time. They carry the checker's name.
    pub(super) fn steps(self, runner: &mut Runner, project: &Project, tries: usize) {
        let (name, variable) = self.name();
        let models = packages(self, &project.tree, &project.folder());
        if models.is_empty() {
            runner.skip(name, "there are no models here");
        }
        let cfg = format!("motet_{name}");
        for (targets, packages) in models {
            // What the models take to run is little beside what they take to be optimised.
            let mut command = project.cargo("test --no-fail-fast --config");
            command.arg(PLAIN);
            command.args(packages.iter().flat_map(|name| ["--package", name]));
            for target in &targets {
                match target.as_str() {
                    "" => command.arg("--lib"),
                    test => command.args(["--test", test]),
                };
            }
            give_flags(&mut command, ["--cfg", &cfg]);
            command
                .arg(format!("{name}_"))
                .env("CARGO_TARGET_DIR", project.target.join(name))
                .env(variable, tries.to_string());
            runner.command(name, &mut command);
        }
    }
}

/// The packages with models below `folder`, by their targets: empty for the library, else the name
/// of an integration test.
fn packages<'a>(
    checker: Checker,
    tree: &'a ProjectTree,
    folder: &str,
) -> BTreeMap<BTreeSet<String>, Vec<&'a str>> {
    let (name, _) = checker.name();
    let attribute = format!(r"#!?\[\s*cfg\s*\([^\]]*\bmotet_{name}\b");
    let attribute = Regex::new(&attribute).expect("it compiles");
    let not = format!("not(motet_{name}");
    let mut models = BTreeMap::<_, Vec<_>>::new();
    let manifests = tree.manifests().iter();
    for manifest in manifests.filter(|one| format!("{}/", one.folder).starts_with(folder)) {
        let mut targets = BTreeSet::new();
        for (file, rust) in tree.rust() {
            let Some(inside) = manifest.inside(&file.path) else {
                continue;
            };
            let mut found = attribute.find_iter(&rust.code);
            if found.any(|at| !at.as_str().contains(&not) && tree.is_test(file, at.start())) {
                let test = inside.strip_prefix("tests/").unwrap_or_default();
                let test = test.split('/').next().unwrap_or_default();
                targets.insert(test.trim_end_matches(".rs").to_owned());
            }
        }
        if !targets.is_empty() {
            models
                .entry(targets)
                .or_default()
                .push(manifest.name.as_str());
        }
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![
            ("crates/a/Cargo.toml", "[package]\nname = 'a'\n"),
            ("crates/b/Cargo.toml", "[package]\nname = 'b'\n"),
        ];
        all.extend(files);
        let tree = ProjectTree::of(&all);
        let models = packages(Checker::Loom, &tree, "");
        models
            .iter()
            .map(|(targets, packages)| format!("{packages:?} {targets:?}"))
            .collect()
    }

    #[test]
    fn models_in_the_library_and_beside_it_are_found() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "#[cfg(all(test, motet_loom))]\nmod models {}",
            ),
            ("crates/a/tests/loom_port.rs", "#![cfg(motet_loom)]"),
            ("crates/b/tests/it/main.rs", "#[cfg(motet_loom)]\nmod m {}"),
        ];
        let wanted = [r#"["a"] {"", "loom_port"}"#, r#"["b"] {"it"}"#];
        assert_eq!(found(&files), wanted);
    }

    #[test]
    fn packages_with_the_same_targets_are_built_together() {
        let model = "#[cfg(all(test, motet_loom))]\nmod models {}";
        let files = [
            ("crates/a/src/lib.rs", model),
            ("crates/b/src/lib.rs", model),
        ];
        assert_eq!(found(&files), [r#"["a", "b"] {""}"#]);
    }

    #[test]
    fn facades_and_ordinary_tests_are_no_models() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "#[cfg(motet_loom)]\npub use loom::thread;",
            ),
            (
                "crates/b/src/lib.rs",
                "#[cfg(all(test, not(motet_loom)))]\nmod tests {}",
            ),
        ];
        assert!(found(&files).is_empty());
    }
}
