//! `cargo xtask stress`: the tests that repeat themselves, for as long as one likes.

use super::project::{Project, Scope, runner};
use crate::args::Options;
use crate::needs::tests_named;
use crate::runner::Runner;
use std::process::ExitCode;

/// The part of a test's name that says that it goes on for `MOTET_STRESS` seconds.
const MARKER: &str = "stress_";

/// Runs the stress tests of one package or of all for about so many seconds.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn stress(options: &Options) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let scope = project.scope(options.package.as_deref())?;
    let mut runner = runner(false)?;
    step(&mut runner, &project, scope, options.seconds);
    Ok(runner.finish())
}

/// The stress tests as a step of a larger recipe; `seconds` is what they take in all, beyond the
/// rounds that they always do.
pub(super) fn step(runner: &mut Runner, project: &Project, scope: Scope<'_>, seconds: f64) {
    let tests = tests_named(&project.tree, &scope.folder(), MARKER).len();
    if tests == 0 {
        runner.skip("stress", "there are no stress tests here");
        return;
    }
    // One after the other: each is meant to have the machine to itself.
    let each = seconds / tests as f64;
    let mut command = project.cargo(&["test", "--tests"]);
    command
        .args(scope.words())
        .args(["--", MARKER, "--test-threads", "1"])
        .env("MOTET_STRESS", each.to_string());
    runner.command("stress", &mut command, None);
}
