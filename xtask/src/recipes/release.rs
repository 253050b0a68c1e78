//! `cargo xtask release`: what is given to others, made and checked from what is committed.
//!
//! ```text
//!  checks ─► packages ─► notices ─► program ─► wheel ─► lists ─► sums ─► target/release-artefacts
//!               │ each step writes into a draft; it gets its name when every step has ended well
//! ```
//!
//! Nothing is sent anywhere: CONTRIBUTING.md says what people do with the artefacts.

mod folder;
mod lists;
mod notices;
mod packages;
mod paths;
mod program;
mod versions;
mod wheel;

use super::project::Project;
use crate::runner::Runner;
use crate::said::said;
use crate::source::Workspace;
use anyhow::{Result, ensure};
use folder::Folder;
use fs_err as fs;
pub(super) use packages::step;
use std::process::Command;

/// The sums of the artefacts' bytes, in the form that `sha256sum --check` reads.
const SUMS: &str = "SHA256SUMS";

/// Makes the artefacts, or with a version only sets it.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn steps(
    runner: &mut Runner,
    project: &Project,
    version: Option<&semver::Version>,
    trial: bool,
) -> Result<()> {
    let workspace = project.workspace()?;
    if let Some(version) = version {
        versions::set(runner, project, &version.to_string());
        return Ok(());
    }
    let folder = Folder::begin(&project.target)?;
    ready(runner, project, &workspace, trial);
    oldest(runner, project, &workspace.rust);
    packages::steps(runner, project, &folder, trial);
    notices::steps(runner, project, &folder);
    program::steps(runner, project, &folder);
    wheel::steps(runner, project, &folder);
    lists::steps(runner, project, &folder);
    finish(runner, folder);
    Ok(())
}

/// What is given to others is what is committed, under a version that has its heading.
fn ready(runner: &mut Runner, project: &Project, workspace: &Workspace, trial: bool) {
    let mut faults = versions::faults(project, workspace);
    let mut git = Command::new("git");
    match said(
        git.args(["status", "--porcelain"])
            .current_dir(&project.root),
    ) {
        Ok(changed) if changed.is_empty() => {}
        Ok(changed) => {
            let count = changed.lines().count();
            faults.push(format!("{count} files are not committed; `git status`"));
        }
        Err(_) => faults.push("git does not say what is committed here".to_owned()),
    }
    if trial {
        for fault in faults.drain(..) {
            runner.leave_out(format!("for a release: {fault}"));
        }
    }
    let says = format!("version {}, heading, what is committed", workspace.version);
    runner.faults("ready", &says, || Ok(faults));
}

/// The project is built by the oldest compiler that it promises. Where that is the one in use, the
/// other steps show it.
fn oldest(runner: &mut Runner, project: &Project, rust: &str) {
    let name = "rust-version";
    let full = match rust.matches('.').count() {
        1 => format!("{rust}.0"),
        _ => rust.to_owned(),
    };
    let in_use = said(Command::new("rustc").arg("--version")).unwrap_or_default();
    if in_use.starts_with(&format!("rustc {full} ")) {
        let line = format!("the compiler in use is {full}: it builds all that follows");
        runner.check(name, &full, || Ok(vec![line]));
        return;
    }
    let there = said(Command::new("rustup").args(["toolchain", "list"])).unwrap_or_default();
    if !there.lines().any(|line| line.starts_with(&full)) {
        let install = format!("rustup toolchain install {full} --profile minimal");
        return runner.skip(name, &format!("there is no Rust {full}; run `{install}`"));
    }
    let mut check = project.cargo_of(&full, "check --workspace");
    runner.command(
        name,
        check.env("CARGO_TARGET_DIR", project.target.join("oldest")),
    );
}

/// Sums of all artefacts; then the draft is what it is called, unless a step has failed.
fn finish(runner: &mut Runner, folder: Folder) {
    let failed = runner.has_failed();
    let says = "sha256sum; then the folder gets its name";
    runner.check("artefacts", says, || {
        ensure!(!failed, "a step has failed: nothing is kept");
        let files = folder.files()?;
        ensure!(!files.is_empty(), "every artefact was left out");
        let mut sums = Command::new("sha256sum");
        sums.arg("--").args(files.iter().map(|(name, _)| name));
        let sums = said(sums.current_dir(&folder.draft))?;
        fs::write(folder.draft.join(SUMS), sums + "\n")?;
        let shown = folder.files()?;
        let shown = shown
            .iter()
            .map(|(name, bytes)| format!("{bytes:>11}  {name}"));
        let mut lines: Vec<String> = shown.collect();
        lines.insert(0, format!("{}:", folder.publish()?.display()));
        Ok(lines)
    });
}
