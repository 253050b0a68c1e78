//! `cargo xtask tidy`: the house rules.

use super::project::{Project, runner};
use crate::runner::Runner;
use crate::source::ProjectTree;
use crate::tidy;
use std::process::ExitCode;

/// Checks the project's files; every finding is a line.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn tidy() -> Result<ExitCode, String> {
    let project = Project::find()?;
    let mut runner = runner(false)?;
    step(&mut runner, &project.tree);
    Ok(runner.finish())
}

/// The house rules as a step of a larger recipe.
pub(super) fn step(runner: &mut Runner, tree: &ProjectTree) {
    runner.check("tidy", "the house rules", || {
        let findings = tidy::run(tree);
        if findings.is_empty() {
            return Ok(Vec::new());
        }
        let mut lines: Vec<String> = findings
            .iter()
            .map(|(check, finding)| format!("{finding} [{check}]"))
            .collect();
        lines.push(format!("{} findings", findings.len()));
        Err(lines)
    });
}
