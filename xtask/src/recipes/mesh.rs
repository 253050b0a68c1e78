//! `cargo xtask mesh`: links of a mesh between processes, which the gate does not build.

use super::project::{Project, runner};
use crate::args::Options;
use std::process::ExitCode;

/// What is built: the links, and the program with them. Always the same, so that it is built once.
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
    let mut clippy = project.cargo(&["clippy", "--all-targets", "--no-deps"]);
    clippy.args(WORDS).args(["--", "-D", "warnings"]);
    runner.command("clippy", &mut clippy, None);
    // Tests start them.
    let mut examples = project.cargo(&["build", "--profile", "test", "--examples"]);
    examples.args(WORDS);
    runner.command("examples", &mut examples, None);
    let mut links = project.cargo(&["test", "--lib", "--test", "it"]);
    // By the names of their modules: other tests of the program are the gate's.
    links
        .args(WORDS)
        .args(["--", "doors::", "laws::", "link", "mesh::", "mesh_run::"]);
    // Each starts nodes or processes, and some wait for others to be missed.
    links.args(["--test-threads", "2"]);
    runner.command("tests", &mut links, None);
    let mut docs = project.cargo(&["doc", "--no-deps"]);
    docs.args(WORDS).env("RUSTDOCFLAGS", "-D warnings");
    runner.command("docs", &mut docs, None);
    Ok(runner.finish())
}
