//! `cargo xtask preflight`: what takes seconds, before each commit.

use super::project::{Project, Scope, runner};
use super::tidy;
use crate::runner::Runner;
use std::io::IsTerminal;
use std::process::ExitCode;

/// Form, lints and house rules of the whole project.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn preflight(keep_going: bool) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let mut runner = runner(keep_going)?;
    steps(&mut runner, &project, Scope::Workspace, false);
    Ok(runner.finish())
}

/// Form, lints and house rules as steps of a larger recipe; a missing tool is a failure when
/// `strict`.
pub(super) fn steps(runner: &mut Runner, project: &Project, scope: Scope<'_>, strict: bool) {
    let mut fmt = project.cargo(&["fmt", "--check"]);
    match scope {
        Scope::Workspace => fmt.arg("--all"),
        Scope::Package(manifest) => fmt.args(["--package", &manifest.name]),
    };
    if !std::io::stdout().is_terminal() {
        // Unlike Cargo, rustfmt colours whatever it writes to.
        fmt.args(["--", "--color", "never"]);
    }
    let mut clippy = project.cargo(&["clippy", "--all-targets"]);
    clippy
        .args(scope.all_words())
        .args(["--", "-D", "warnings"]);
    for (name, component, mut command) in [("fmt", "rustfmt", fmt), ("clippy", "clippy", clippy)] {
        if strict || project.has_cargo(name) {
            runner.command(name, &mut command, None);
        } else {
            runner.skip(
                name,
                &format!("it is not installed; run `rustup component add {component}`"),
            );
        }
    }
    tidy::step(runner, &project.tree);
}
