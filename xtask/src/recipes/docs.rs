//! `cargo xtask docs`: the API documentation.

use super::project::Project;
use crate::runner::Runner;

/// Builds the documentation; `open` shows it.
pub(super) fn step(runner: &mut Runner, project: &Project, open: bool) {
    let mut docs = project.cargo("doc --no-deps");
    docs.args(project.all_words())
        .args(open.then_some("--open"));
    runner.command("docs", docs.env("RUSTDOCFLAGS", "-D warnings"));
}
