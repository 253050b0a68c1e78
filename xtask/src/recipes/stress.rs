//! `cargo xtask stress`: the tests that repeat themselves, for as long as one likes.

use super::project::Project;
use crate::runner::Runner;

/// The part of a test's name that says that it goes on for `MOTET_STRESS` seconds.
const MARKER: &str = "stress_";

/// Runs the stress tests; `seconds` is about what they take in all, beyond the rounds that they
/// always do.
pub(super) fn step(runner: &mut Runner, project: &Project, seconds: u32) {
    let tests = project.tests_named(MARKER).len();
    if tests == 0 {
        return runner.skip("stress", "there are no stress tests here");
    }
    // One after the other: each is meant to have the machine to itself.
    let each = f64::from(seconds) / tests as f64;
    let mut command = project.cargo("test --tests");
    command
        .args(project.words())
        .args(["--", MARKER, "--test-threads", "1"]);
    runner.command("stress", command.env("MOTET_STRESS", each.to_string()));
}
