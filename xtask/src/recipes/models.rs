//! `cargo xtask loom`: the models of concurrent code, every schedule of them.
//! `cargo xtask shuttle`: whole programs, under many random schedules of each.

use super::project::{Project, Scope, runner};
use crate::args::Options;
use crate::runner::Runner;
use crate::source::ProjectTree;
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};

/// Who decides, in a model, which thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checker {
    Loom,
    Shuttle,
}

/// Libraries are built without optimisation too.
pub(super) const PLAIN: &str = "profile.dev.package.\"*\".opt-level=0";

/// Runs the models of one package or of all.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn models(checker: Checker, options: &Options) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let scope = project.scope(options.package.as_deref())?;
    let mut runner = runner(options.keep_going)?;
    checker.steps(&mut runner, &project, scope, options);
    Ok(runner.finish())
}

/// The models of every checker as steps of a larger recipe.
pub(super) fn steps(runner: &mut Runner, project: &Project, scope: Scope<'_>, options: &Options) {
    for checker in [Checker::Loom, Checker::Shuttle] {
        checker.steps(runner, project, scope, options);
    }
}

impl Checker {
    fn name(self) -> &'static str {
        match self {
            Checker::Loom => "loom",
            Checker::Shuttle => "shuttle",
        }
    }

    /// The `cfg` that its models are built with, and under which the whole project uses it.
    fn cfg(self) -> String {
        format!("motet_{}", self.name())
    }

    /// One step for the packages that have models in the same targets: what they share is built
    /// once.
    fn steps(self, runner: &mut Runner, project: &Project, scope: Scope<'_>, options: &Options) {
        let models = packages(self, &project.tree, &scope.folder());
        if models.is_empty() {
            runner.skip(self.name(), "there are no models here");
        }
        for (targets, packages) in models {
            let mut command = self.command(project, &packages, &targets);
            command.env("LOOM_MAX_PREEMPTIONS", options.preemptions.to_string());
            command.env("MOTET_SCHEDULES", options.schedules.to_string());
            runner.command(self.name(), &mut command, None);
        }
    }

    /// Models are built with a `cfg` of their own, so in a folder of their own: switching back and
    /// forth would build everything anew each time. They carry the checker's name.
    fn command(self, project: &Project, packages: &[&str], targets: &BTreeSet<String>) -> Command {
        let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        flags = format!("{flags} --cfg {}", self.cfg())
            .trim_start()
            .to_owned();
        // What the models take to run is little beside what they take to be optimised.
        let mut command = project.cargo(&["test", "--no-fail-fast", "--config", PLAIN]);
        command.args(packages.iter().flat_map(|name| ["--package", name]));
        for target in targets {
            match target.as_str() {
                "" => command.arg("--lib"),
                test => command.args(["--test", test]),
            };
        }
        command
            .arg(format!("{}_", self.name()))
            .env("RUSTFLAGS", flags)
            .env("CARGO_TARGET_DIR", project.target.join(self.name()));
        command
    }
}

/// The packages with models below `folder`, by their targets: empty for the library, else the name
/// of an integration test.
fn packages<'a>(
    checker: Checker,
    tree: &'a ProjectTree,
    folder: &str,
) -> BTreeMap<BTreeSet<String>, Vec<&'a str>> {
    let cfg = checker.cfg();
    let not = format!("not({cfg}");
    let attribute = format!(r"#!?\[\s*cfg\s*\([^\]]*\b{cfg}\b");
    let attribute = Regex::new(&attribute).expect("it compiles");
    let mut models = BTreeMap::<_, Vec<_>>::new();
    for manifest in tree
        .manifests()
        .iter()
        .filter(|m| format!("{}/", m.folder).starts_with(folder))
    {
        let below = format!("{}/", manifest.folder);
        let mut targets = BTreeSet::new();
        for (file, rust) in tree
            .rust()
            .filter(|(file, _)| file.path.starts_with(&below))
        {
            let mut found = attribute.find_iter(&rust.code);
            let is_model = |at: usize, text: &str| !text.contains(&not) && tree.is_test(file, at);
            if !found.any(|found| is_model(found.start(), found.as_str())) {
                continue;
            }
            match file.path[below.len()..].strip_prefix("tests/") {
                None => targets.insert(String::new()),
                Some(test) => targets.insert(
                    test.split('/')
                        .next()
                        .unwrap_or(test)
                        .trim_end_matches(".rs")
                        .to_owned(),
                ),
            };
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
