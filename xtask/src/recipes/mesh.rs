//! `cargo xtask mesh`: links of a mesh between processes, which the gate does not build.

use super::project::{Project, runner};
use crate::args::Options;
use std::process::ExitCode;

/// What is built: the links, and the program with them.
const WORDS: [&str; 6] = [
    "--package",
    "motet-mesh-zenoh",
    "--package",
    "motet-cli",
    "--features",
    "motet-cli/mesh",
];

/// Lints, tests and documents the links and `motet mesh`. zenoh takes minutes to build, once.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn mesh(options: &Options) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let mut runner = runner(options.keep_going)?;
    let mut clippy = project.cargo(&["clippy", "--all-targets"]);
    clippy.args(WORDS).args(["--", "-D", "warnings"]);
    runner.command("clippy", &mut clippy, None);
    let mut links = project.cargo(&["test", "--package", "motet-mesh-zenoh"]);
    runner.command("links", &mut links, None);
    let mut program = project.cargo(&["test", "--package", "motet-cli", "--features", "mesh"]);
    // Each starts processes, and some of them wait for others to be missed.
    program.args(["--test", "it", "mesh::", "--", "--test-threads", "2"]);
    runner.command("program", &mut program, None);
    let mut docs = project.cargo(&["doc", "--no-deps", "--package", "motet-mesh-zenoh"]);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    runner.command("docs", &mut docs, None);
    Ok(runner.finish())
}
