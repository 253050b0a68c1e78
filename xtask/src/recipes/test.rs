//! `cargo xtask test`: the gate.

use super::models::{Checker, PLAIN};
use super::project::{LEFT_OUT, Project};
use super::{counts, docs, preflight, python, release, stress, targets};
use crate::args::Test;
use crate::needs::Need;
use crate::runner::Runner;
use serde_json::Value;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// An example shows something; it does not work for minutes.
const EXAMPLE_LIMIT: Duration = Duration::from_secs(600);

/// How many tests of a program run at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// How long the stress tests go on in the gate.
const STRESS_SECONDS: u32 = 15;

/// What `--quick` leaves out.
const SLOW: &str = "--quick: stress, doc tests, examples, models, counts, docs, python, targets, \
                    packages";

/// Runs everything that must hold before a change is merged.
pub(super) fn steps(runner: &mut Runner, project: &Project, options: &Test) {
    let strict = options.ci || std::env::var("CI").is_ok_and(|ci| ci == "1" || ci == "true");
    let missing = project.missing();
    needs(runner, &missing, strict, &options.optional);
    preflight::steps(runner, project, strict);
    let built = build(runner, project);
    tests(runner, project, &missing);
    if options.quick {
        return runner.skip("the rest", SLOW);
    }
    stress::step(runner, project, STRESS_SECONDS);
    // Each row has long times on one core. They share no folder of what is built for long. The
    // tests of Python, which mostly wait, run beside the documentation.
    runner.beside(
        |runner| {
            doc_tests(runner, project);
            match built {
                true => run_examples(runner, project),
                // There may be programs of an earlier build.
                false => runner.skip("examples", "not all has been built"),
            }
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
            docs::step(runner, project, false);
        },
    );
}

/// Every example in the documentation.
fn doc_tests(runner: &mut Runner, project: &Project) {
    if !project.targets().any(|target| target["doctest"] == true) {
        return runner.skip("doc tests", "the package has no library with such tests");
    }
    let mut command = project.cargo("test --doc");
    project.machine.tell(&mut command).args(project.words());
    runner.command("doc tests", &mut command);
}

/// Says what is missing: as a failure when it must be there, else as left out.
fn needs(runner: &mut Runner, missing: &[Need], strict: bool, optional: &[String]) {
    let is_fault = |need: &&Need| strict && !optional.iter().any(|name| name == need.name);
    let (faults, left_out): (Vec<_>, Vec<_>) = missing.iter().partition(is_fault);
    for need in left_out {
        runner.leave_out(said(need));
    }
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
    let mut command = project.cargo("test --tests --no-fail-fast");
    project.machine.tell(&mut command).args(project.words());
    if project.concerns("motet-c") {
        command.env("MOTET_C_LIBRARY", project.target.join("debug"));
    }
    // Many a test waits for the end of a process: another one has its core meanwhile.
    if let (None, Ok(cores)) = (std::env::var_os(THREADS), thread::available_parallelism()) {
        command.env(THREADS, (cores.get() + 1).to_string());
    }
    let skipped = missing.iter().flat_map(|need| ["--skip", need.marker]);
    command.arg("--").args(skipped);
    runner.command("tests", &mut command);
    // What an optional feature adds is tested as well; others hand it on to this package.
    let traced = "motet-dispatch";
    if project.concerns(traced) {
        let mut command = project.cargo("test --features tracing --package");
        // Other features of the libraries than the tests': they are built once more.
        command.args([traced, "--config", PLAIN, "--test", "it", "tracing::"]);
        runner.command("tests with tracing", &mut command);
    }
}

/// Builds tests and examples together, so that no core waits for the last of the one; some tests
/// start examples. Whether all is built.
fn build(runner: &mut Runner, project: &Project) -> bool {
    let mut build = project.cargo("build --profile test --tests");
    if project.targets().any(is_example) {
        build.arg("--examples");
    }
    if project.concerns("motet-c") {
        // By itself it would be built with other features, and all below it once more.
        build.arg("--lib");
    }
    runner.command("build", build.args(project.words()))
}

fn is_example(target: &Value) -> bool {
    target["kind"][0] == "example"
}

/// Runs each example that has been built.
fn run_examples(runner: &mut Runner, project: &Project) {
    if project.concerns(LEFT_OUT) {
        runner.leave_out(format!("examples of {LEFT_OUT}: run `cargo xtask mesh`"));
    }
    if project
        .package
        .as_ref()
        .is_some_and(|package| package.name == LEFT_OUT)
    {
        return;
    }
    for target in project.targets().filter(|target| is_example(target)) {
        let name = target["name"].as_str().unwrap_or_default();
        let (step, lacks) = (format!("example {name}"), &target["required-features"]);
        if lacks.is_array() {
            runner.skip(&step, &format!("it needs the features {lacks}"));
            continue;
        }
        let mut command = Command::new(project.target.join("debug/examples").join(name));
        runner.command_within(&step, command.current_dir(&project.root), EXAMPLE_LIMIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
