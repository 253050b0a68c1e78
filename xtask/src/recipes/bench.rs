//! `cargo xtask bench`: the experiments, in release.

use super::project::Project;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// Becomes `motet bench` with the rest of the command line, so that its progress and Ctrl-C are
/// those of the program itself.
///
/// # Errors
/// The reason when the program cannot be started.
pub(crate) fn bench(rest: &[OsString]) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let mut command = project.cargo(&["run", "--release", "--package", "motet-cli"]);
    command.args(["--features", "bench", "--", "bench"]);
    let error = command.args(rest).exec();
    Err(format!("cannot start cargo: {error}"))
}
