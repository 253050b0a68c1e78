//! `cargo xtask targets`: the project's types hold on other systems too. Nothing is linked, so no
//! other machine's tools are needed.

use super::project::{Project, runner};
use crate::runner::Runner;
use std::process::{Command, ExitCode};

/// The systems beside the one that tests run on.
const TARGETS: [&str; 3] = [
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-gnu",
];

/// What is checked: what a program that uses motet may be built from.
const PACKAGES: [&str; 10] = [
    "motet-sync",
    "motet-dispatch",
    "motet-ports",
    "motet-comm",
    "motet-mpi",
    "motet-mining",
    "motet-search",
    "motet-sim",
    "motet-window",
    "motet-files",
];

/// Checks the packages for each system.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn targets(keep_going: bool) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let mut runner = runner(keep_going)?;
    steps(&mut runner, &project);
    Ok(runner.finish())
}

/// The checks as steps of a larger recipe.
pub(super) fn steps(runner: &mut Runner, project: &Project) {
    let installed = installed();
    for target in TARGETS {
        let name = format!("check {target}");
        if !installed.lines().any(|line| line == target) {
            let reason = format!("it is not installed; run `rustup target add {target}`");
            runner.skip(&name, &reason);
            continue;
        }
        let mut command = project.cargo(&["check", "--target", target]);
        command.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
        runner.command(&name, &mut command, None);
    }
}

/// The systems that the toolchain has a library for, one to a line.
pub(super) fn installed() -> String {
    let mut command = Command::new("rustup");
    let said = command.args(["target", "list", "--installed"]).output();
    said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned())
        .unwrap_or_default()
}
