//! `cargo xtask docs`: the API documentation.

use super::project::{Project, Scope, runner};
use crate::runner::Runner;
use std::process::{Command, ExitCode};

/// Builds the documentation of every crate; `open` shows it.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn docs(open: bool) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let mut runner = runner(false)?;
    runner.command(
        "docs",
        command(&project, Scope::Workspace).args(open.then_some("--open")),
        None,
    );
    Ok(runner.finish())
}

/// The documentation as a step of a larger recipe.
pub(super) fn step(runner: &mut Runner, project: &Project, scope: Scope<'_>) {
    runner.command("docs", &mut command(project, scope), None);
}

fn command(project: &Project, scope: Scope<'_>) -> Command {
    let mut command = project.cargo(&["doc", "--no-deps"]);
    command
        .args(scope.all_words())
        .env("RUSTDOCFLAGS", "-D warnings");
    command
}
