//! `cargo xtask mesh`: links of a mesh between processes, which the gate does not build.

use super::project::Project;
use crate::runner::Runner;

/// What is built: the links, and the program with them. Always the same, so that it is built once.
const WORDS: &str = "--package motet-mesh-zenoh --package motet-cli --features motet-cli/mesh";

/// Lints, tests and documents the links and `motet mesh`. zenoh takes minutes to build, once.
pub(super) fn steps(runner: &mut Runner, project: &Project) {
    let cargo = |words: &str| project.cargo(&format!("{words} {WORDS}"));
    let mut clippy = cargo("clippy --all-targets --no-deps");
    runner.command("clippy", clippy.args(["--", "-D", "warnings"]));
    // Tests start them.
    let mut examples = cargo("build --profile test --examples");
    runner.command("examples", &mut examples);
    let mut links = cargo("test --lib --test it");
    // By the names of their modules: other tests of the program are the gate's.
    links.args([
        "--",
        "doors::",
        "key::tests::",
        "laws::",
        "link",
        "mesh::",
        "mesh_run::",
        "rendezvous::tests::",
    ]);
    // Each starts nodes or processes, and some wait for others to be missed.
    runner.command("tests", links.args(["--test-threads", "2"]));
    let mut docs = cargo("doc --no-deps");
    runner.command("docs", docs.env("RUSTDOCFLAGS", "-D warnings"));
}
