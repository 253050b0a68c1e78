//! `cargo xtask bench`: the experiments, in release.

use super::project::Project;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// Becomes `motet bench` with the rest of the command line, so that its progress and Ctrl-C are
/// those of the program itself.
///
/// # Errors
/// The reason when the program cannot be started.
pub(super) fn bench(project: &Project, rest: &[OsString]) -> Result<ExitCode> {
    let mut command = project.cargo("run --release --package motet-cli");
    command.args(["--features", "bench", "--", "bench"]);
    Err(command.args(rest).exec()).context("cannot start cargo")
}
