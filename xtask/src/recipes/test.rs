//! `cargo xtask test`: the gate.

use super::models::{Checker, PLAIN};
use super::project::{LEFT_OUT, Project};
use super::{counts, docs, preflight, python, release, stress, targets};
use crate::args::Test;
use crate::needs::Need;
use crate::runner::Runner;
use crate::source::ProjectTree;
use std::process::Command;
use std::time::Duration;

/// An example shows something; it does not work for minutes.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(600);

/// How long the stress tests go on in the gate.
const STRESS_SECONDS: u32 = 15;

/// What `--quick` leaves out.
const SLOW: [&str; 10] = [
    "stress",
    "doc tests",
    "examples",
    "loom",
    "shuttle",
    "counts",
    "docs",
    "python",
    "targets",
    "packages",
];

/// Runs everything that must hold before a change is merged.
pub(super) fn steps(runner: &mut Runner, project: &Project, options: &Test) {
    let strict = options.ci || std::env::var("CI").is_ok_and(|ci| ci == "1" || ci == "true");
    let missing = project.missing();
    needs(runner, &missing, strict, &options.optional);
    preflight::steps(runner, project, strict);
    let examples = build(runner, project);
    tests(runner, project, &missing);
    if options.quick {
        return SLOW.iter().for_each(|step| runner.skip(step, "--quick"));
    }
    stress::step(runner, project, STRESS_SECONDS);
    // Each row has long times on one core. They share no folder of what is built for long.
    runner.beside(
        |runner| {
            doc_tests(runner, project);
            run_examples(runner, project, &examples);
            docs::step(runner, project, false);
            python::step(runner, project, strict);
        },
        |runner| {
            Checker::Loom.steps(runner, project, options.preemptions);
            Checker::Shuttle.steps(runner, project, options.schedules);
            counts::step(runner, project, strict);
            if project.package.is_none() {
                targets::steps(runner, project);
                release::step(runner, project);
            }
        },
    );
}

/// Every example in the documentation.
fn doc_tests(runner: &mut Runner, project: &Project) {
    let has_some = project.package.as_ref().is_none_or(|package| {
        let library = format!("{}/src/lib.rs", package.folder);
        project.tree.has(&library) && package.says("lib.doctest") != Some(false)
    });
    if !has_some {
        return runner.skip("doc tests", "the package has no library with such tests");
    }
    let mut command = project.cargo(&["test", "--doc"]);
    project.machine.tell(&mut command).args(project.words());
    runner.command("doc tests", &mut command);
}

/// Says what is missing: as a failure when it must be there, else as left out.
fn needs(runner: &mut Runner, missing: &[Need], strict: bool, optional: &[String]) {
    let is_fault = |need: &&Need| strict && !optional.iter().any(|name| name == need.name);
    let (faults, left_out): (Vec<_>, Vec<_>) = missing.iter().partition(is_fault);
    left_out
        .into_iter()
        .for_each(|need| runner.leave_out(said(need)));
    if strict {
        let faults = faults.into_iter().map(said).collect();
        runner.faults("needs", "what tests need of the machine", || Ok(faults));
    }
}

fn said(need: &Need) -> String {
    let tests = need.tests.join(", ");
    format!("tests that need {} ({tests}): {}", need.name, need.missing)
}

/// Unit and integration tests; the ones whose needs are missing are left out.
fn tests(runner: &mut Runner, project: &Project, missing: &[Need]) {
    // `--tests` is what `--lib --bins --tests` is, also for a package without a library.
    let mut command = project.cargo(&["test", "--tests", "--no-fail-fast"]);
    project.machine.tell(&mut command).args(project.words());
    if project.concerns("motet-c") {
        command.env("MOTET_C_LIBRARY", project.target.join("debug"));
    }
    command
        .arg("--")
        .args(missing.iter().flat_map(|need| ["--skip", need.marker]));
    runner.command("tests", &mut command);
    // What an optional feature adds is tested as well; others hand it on to this package.
    let traced = "motet-dispatch";
    if project.concerns(traced) {
        let mut command = project.cargo(&["test", "--package", traced, "--features", "tracing"]);
        // Other features of the libraries than the tests': they are built once more.
        command.args(["--config", PLAIN, "--test", "it", "tracing::"]);
        runner.command("tests with tracing", &mut command);
    }
}

/// Builds tests and examples together, so that no core waits for the last of the one; some tests
/// start examples. The examples that there are.
fn build(runner: &mut Runner, project: &Project) -> Vec<Example> {
    let mut build = project.cargo(&["build", "--profile", "test", "--tests"]);
    let examples = examples(&project.tree, &project.folder());
    if !examples.is_empty() {
        build.arg("--examples");
    }
    if project.concerns("motet-c") {
        // By itself it would be built with other features, and all below it once more.
        build.arg("--lib");
    }
    match runner.command("build", build.args(project.words())) {
        true => examples,
        // There may be programs of an earlier build.
        false => Vec::new(),
    }
}

/// An example of a package.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    name: String,
    /// What it needs that the gate does not build.
    lacks: Option<String>,
}

/// Runs each example that has been built.
fn run_examples(runner: &mut Runner, project: &Project, examples: &[Example]) {
    if examples.is_empty() {
        runner.skip("examples", "none has been built here");
    }
    for Example { name, lacks } in examples {
        let step = format!("example {name}");
        if let Some(lacks) = lacks {
            runner.skip(&step, &format!("needs {lacks}"));
            continue;
        }
        let mut command = Command::new(project.target.join("debug/examples").join(name));
        runner.command_within(&step, command.current_dir(&project.root), EXAMPLE_LIMIT);
    }
}

/// The examples below `folder`.
fn examples(tree: &ProjectTree, folder: &str) -> Vec<Example> {
    let roots = tree.modules().roots();
    let roots = roots.filter(|module| module.root.starts_with(folder));
    let examples = roots.filter_map(|module| {
        let (package, name) = module.root.rsplit_once("/examples/")?;
        let name = name.trim_end_matches("/main.rs").trim_end_matches(".rs");
        let manifest = tree.manifests().iter().find(|one| one.folder == package)?;
        let features = manifest.example_features(name).join(", ");
        let lacks = match () {
            () if manifest.name == LEFT_OUT => Some(format!("{LEFT_OUT}: cargo xtask mesh")),
            () if features.is_empty() => None,
            () => Some(format!("the feature {features}")),
        };
        let name = name.to_owned();
        Some(Example { name, lacks })
    });
    examples.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_known_by_file_or_folder_with_the_features_they_need() {
        let tree = ProjectTree::of(&[
            (
                "crates/a/Cargo.toml",
                "[package]\nname = 'a'\n[[example]]\nname = 'big'\nrequired-features = ['f']\n",
            ),
            ("crates/a/examples/hello.rs", ""),
            ("crates/a/examples/big/main.rs", "mod part;"),
            ("crates/a/examples/big/part.rs", ""),
            ("crates/a/src/lib.rs", ""),
            (
                "crates/z/Cargo.toml",
                "[package]\nname = 'motet-mesh-zenoh'\n",
            ),
            ("crates/z/examples/far.rs", ""),
        ]);
        let example = |name: &str, lacks: Option<&str>| Example {
            name: name.to_owned(),
            lacks: lacks.map(str::to_owned),
        };
        let wanted = [
            example("big", Some("the feature f")),
            example("hello", None),
            example("far", Some("motet-mesh-zenoh: cargo xtask mesh")),
        ];
        assert_eq!(examples(&tree, ""), wanted);
        assert_eq!(examples(&tree, "crates/a/"), wanted[..2]);
        assert!(examples(&tree, "crates/b/").is_empty());
    }

    #[test]
    fn a_need_is_said_with_its_tests_and_its_remedy() {
        let need = Need {
            name: "data",
            marker: "needs_data",
            missing: "there is no folder x; set MOTET_DATA".to_owned(),
            tests: vec!["a_needs_data".to_owned()],
        };
        assert_eq!(
            said(&need),
            "tests that need data (a_needs_data): there is no folder x; set MOTET_DATA"
        );
    }
}
