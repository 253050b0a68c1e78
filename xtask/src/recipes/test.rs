//! `cargo xtask test`: the gate.

use super::project::{LEFT_OUT, Project, Scope, runner};
use super::{counts, docs, models, preflight, python, release, stress, targets};
use crate::args::Options;
use crate::needs::{Need, TestMachine, is_known};
use crate::runner::Runner;
use crate::source::ProjectTree;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// An example shows something; it does not work for minutes.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(600);

/// How long the stress tests go on in the gate.
const STRESS_SECONDS: f64 = 15.0;

/// Runs everything that must hold before a change is merged.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn test(options: &Options) -> Result<ExitCode, String> {
    if let Some(name) = options.optional.iter().find(|name| !is_known(name)) {
        return Err(format!(
            "test: `--optional {name}` is not one of data, python, scikit-learn, mpi, hosts, chromium, cc"
        ));
    }
    let project = Project::find()?;
    let scope = project.scope(options.package.as_deref())?;
    let strict =
        options.ci || std::env::var_os("CI").is_some_and(|value| value == "1" || value == "true");
    let machine = TestMachine::of_environment(&project.root, &project.target);
    let missing = machine.missing(&project.tree, &scope.folder());
    let mut runner = runner(options.keep_going)?;
    needs(&mut runner, &missing, strict, &options.optional);
    preflight::steps(&mut runner, &project, scope, strict);
    let examples = build(&mut runner, &project, scope);
    tests(&mut runner, &project, scope, &machine, &missing);
    if options.quick {
        for step in [
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
        ] {
            runner.skip(step, "--quick");
        }
        return Ok(runner.finish());
    }
    stress::step(&mut runner, &project, scope, STRESS_SECONDS);
    // Each row has long times on one core. They share no folder of what is built for long.
    runner.beside(
        |runner| {
            doc_tests(runner, &project, scope, &machine);
            run_examples(runner, &project, &examples);
            docs::step(runner, &project, scope);
            python::step(runner, &project, scope, &machine, strict);
        },
        |runner| {
            models::steps(runner, &project, scope, options);
            counts::step(runner, &project, scope, strict);
            if matches!(scope, Scope::Workspace) {
                targets::steps(runner, &project);
                release::step(runner, &project);
            }
        },
    );
    Ok(runner.finish())
}

/// Every example in the documentation.
fn doc_tests(runner: &mut Runner, project: &Project, scope: Scope<'_>, machine: &TestMachine) {
    if !scope.has_library(&project.tree) {
        runner.skip("doc tests", "the package has no library with such tests");
        return;
    }
    let mut command = project.cargo(&["test", "--doc"]);
    let python = machine.python();
    command.args(scope.words()).env("MOTET_PYTHON", python);
    runner.command("doc tests", &mut command, None);
}

/// Says what is missing: as a failure when it must be there, else as left out.
fn needs(runner: &mut Runner, missing: &[Need], strict: bool, optional: &[String]) {
    let faults: Vec<String> = missing
        .iter()
        .filter(|need| strict && !optional.iter().any(|name| name == need.name))
        .map(said)
        .collect();
    for need in missing.iter().filter(|need| !faults.contains(&said(need))) {
        runner.leave_out(said(need));
    }
    if strict {
        runner.check("needs", "what tests need of the machine", || {
            if faults.is_empty() {
                Ok(Vec::new())
            } else {
                Err(faults)
            }
        });
    }
}

fn said(need: &Need) -> String {
    let tests = need.tests.join(", ");
    format!("tests that need {} ({tests}): {}", need.name, need.missing)
}

/// Unit and integration tests; the ones whose needs are missing are left out.
fn tests(
    runner: &mut Runner,
    project: &Project,
    scope: Scope<'_>,
    machine: &TestMachine,
    missing: &[Need],
) {
    // `--tests` is what `--lib --bins --tests` is, also for a package without a library.
    let mut command = project.cargo(&["test", "--tests", "--no-fail-fast"]);
    command
        .args(scope.words())
        .env("MOTET_PYTHON", machine.python())
        .env("MOTET_MPI", machine.mpi())
        .env("MOTET_CHROMIUM", machine.chromium());
    if scope.has_c_library() {
        command.env("MOTET_C_LIBRARY", project.target.join("debug"));
    }
    if !missing.is_empty() {
        command.arg("--");
        command.args(missing.iter().flat_map(|need| ["--skip", need.marker]));
    }
    runner.command("tests", &mut command, None);
    traced(runner, project, scope);
}

/// What an optional feature adds is built and tested as well.
fn traced(runner: &mut Runner, project: &Project, scope: Scope<'_>) {
    /// The package whose feature `tracing` the others hand on to.
    const PACKAGE: &str = "motet-dispatch";
    if let Scope::Package(manifest) = scope
        && manifest.name != PACKAGE
    {
        return;
    }
    let mut command = project.cargo(&["test", "--package", PACKAGE, "--features", "tracing"]);
    // Other features of the libraries than the tests': they are built once more.
    command.args(["--config", models::PLAIN]);
    command.args(["--test", "it", "tracing::"]);
    runner.command("tests with tracing", &mut command, None);
}

/// Builds tests and examples together, so that no core waits for the last of the one; some tests
/// start examples. The examples that there are.
fn build(runner: &mut Runner, project: &Project, scope: Scope<'_>) -> Vec<Example> {
    let mut build = project.cargo(&["build", "--profile", "test", "--tests"]);
    let examples = examples(&project.tree, &scope.folder());
    if !examples.is_empty() {
        build.arg("--examples");
    }
    if scope.has_c_library() {
        // By itself it would be built with other features, and all below it once more.
        build.arg("--lib");
    }
    match runner.command("build", build.args(scope.words()), None) {
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
        runner.command(
            &step,
            command.current_dir(&project.root),
            Some(EXAMPLE_LIMIT),
        );
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
