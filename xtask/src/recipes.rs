//! One file per recipe, and what they share.

mod bench;
mod counts;
mod deep;
mod docs;
mod mesh;
mod models;
mod preflight;
mod project;
mod python;
mod release;
mod sanitize;
mod stress;
mod targets;
mod test;

use crate::args::{Command, Recipe};
use crate::runner::{Children, Runner};
use anyhow::Result;
use models::Checker;
use project::Project;
use std::process::ExitCode;

/// Runs a recipe, and prints its table.
///
/// # Errors
/// What keeps it from starting.
pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    let recipe = &command.recipe;
    let project = Project::find(recipe.package())?;
    if let Recipe::Bench { args } = recipe {
        return bench::bench(&project, args);
    }
    let mut runner = Runner::new(Children::watched()?, command.keep_going);
    let run = &mut runner;
    match recipe {
        Recipe::Test(options) => test::steps(run, &project, options),
        Recipe::Preflight => preflight::steps(run, &project, false),
        Recipe::Tidy => preflight::tidy(run, &project),
        Recipe::Loom { preemptions, .. } => Checker::Loom.steps(run, &project, *preemptions),
        Recipe::Shuttle { schedules, .. } => Checker::Shuttle.steps(run, &project, *schedules),
        Recipe::Stress { seconds, .. } => stress::step(run, &project, *seconds),
        Recipe::Deep(_) => deep::steps(run, &project),
        Recipe::Mesh => mesh::steps(run, &project),
        Recipe::Counts { bless } => counts::steps(run, &project, *bless),
        Recipe::Sanitize(_) => sanitize::steps(run, &project)?,
        Recipe::Targets => targets::steps(run, &project),
        Recipe::Docs { open } => docs::step(run, &project, *open),
        Recipe::Release { version, trial } => {
            release::steps(run, &project, version.as_ref(), *trial)?
        }
        Recipe::Bench { .. } => {}
    }
    Ok(runner.finish())
}
