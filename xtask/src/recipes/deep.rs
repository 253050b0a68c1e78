//! `cargo xtask deep`: what takes longer than the gate may.

use super::project::{Project, runner};
use super::{models, python, schemathesis, stress};
use crate::args::Options;
use crate::needs::{TestMachine, tests_named};
use std::process::ExitCode;

/// The part of a test's name that says that it is for this recipe. Such a test is `#[ignore]`d, so
/// that the gate passes it.
const MARKER: &str = "deep_";

/// Switches of thread in a loom model; the gate has two.
const PREEMPTIONS: usize = 3;

/// Random schedules of a shuttle program; the gate has a thousand.
const SCHEDULES: usize = 10_000;

/// How long the stress tests of one package, or of all, go on.
const STRESS_SECONDS: f64 = 600.0;

/// Runs the long tests, all of mpi4py's, the models with more schedules, and the stress tests for
/// ten minutes.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn deep(options: &Options) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let scope = project.scope(options.package.as_deref())?;
    let machine = TestMachine::of_environment(&project.root, &project.target);
    let mut runner = runner(options.keep_going)?;
    let missing = machine.missing(&project.tree, &scope.folder());
    for need in &missing {
        runner.leave_out(format!("tests that need {}: {}", need.name, need.missing));
    }
    if tests_named(&project.tree, &scope.folder(), MARKER).is_empty() {
        runner.skip("long tests", "there are none here");
    } else {
        let mut command = project.cargo(&["test", "--tests"]);
        command
            .args(scope.words())
            .env("MOTET_PYTHON", machine.python())
            .env("MOTET_MPI", machine.mpi())
            .env("MOTET_CHROMIUM", machine.chromium())
            // One after the other: each may take all cores and much memory.
            .args(["--", "--ignored", MARKER, "--test-threads", "1"]);
        if !tests_named(&project.tree, &scope.folder(), schemathesis::MARKER).is_empty() {
            match schemathesis::python(&project) {
                Ok(python) => drop(command.env("MOTET_SCHEMATHESIS", python)),
                Err(why) => runner.leave_out(format!("tests by schemathesis: {why}")),
            }
        }
        command.args(missing.iter().flat_map(|need| ["--skip", need.marker]));
        runner.command("long tests", &mut command, None);
    }
    python::deep(&mut runner, &project, scope, &machine);
    let models = Options {
        preemptions: PREEMPTIONS,
        schedules: SCHEDULES,
        ..options.clone()
    };
    models::steps(&mut runner, &project, scope, &models);
    stress::step(&mut runner, &project, scope, STRESS_SECONDS);
    Ok(runner.finish())
}
