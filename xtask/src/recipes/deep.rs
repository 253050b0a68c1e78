//! `cargo xtask deep`: what takes longer than the gate may.

use super::models::Checker;
use super::project::Project;
use super::{python, stress};
use crate::runner::Runner;

/// The part of a test's name that says that it is for this recipe. Such a test is `#[ignore]`d, so
/// that the gate passes it.
const MARKER: &str = "deep_";

/// The part of a test's name that says that it needs an environment with schemathesis.
const SCHEMATHESIS: &str = "by_schemathesis";

/// Switches of thread in a loom model; the gate has two.
const PREEMPTIONS: usize = 3;

/// Random schedules of a shuttle program; the gate has a thousand.
const SCHEDULES: usize = 10_000;

/// How long the stress tests of one package, or of all, go on.
const STRESS_SECONDS: u32 = 600;

/// Runs the long tests, all of mpi4py's, the models with more schedules, and the stress tests for
/// ten minutes.
pub(super) fn steps(runner: &mut Runner, project: &Project) {
    let missing = project.missing();
    for need in &missing {
        runner.leave_out(format!("tests that need {}: {}", need.name, need.missing));
    }
    if project.tests_named(MARKER).is_empty() {
        runner.skip("long tests", "there are none here");
    } else {
        let mut command = project.cargo("test --tests");
        project.machine.tell(&mut command).args(project.words());
        // One after the other: each may take all cores and much memory.
        command.args(["--", "--ignored", MARKER, "--test-threads", "1"]);
        if !project.tests_named(SCHEMATHESIS).is_empty() {
            match python::schemathesis(project) {
                Ok(python) => drop(command.env("MOTET_SCHEMATHESIS", python)),
                Err(why) => runner.leave_out(format!("tests by schemathesis: {why:#}")),
            }
        }
        command.args(missing.iter().flat_map(|need| ["--skip", need.marker]));
        runner.command("long tests", &mut command);
    }
    python::deep(runner, project);
    Checker::Loom.steps(runner, project, PREEMPTIONS);
    Checker::Shuttle.steps(runner, project, SCHEDULES);
    stress::step(runner, project, STRESS_SECONDS);
}
