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

use super::project::{Project, runner};
use crate::args::Options;
use crate::needs::TestMachine;
use crate::runner::Runner;
use crate::source::Workspace;
use folder::Folder;
pub(super) use packages::step;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The sums of the artefacts' bytes, in the form that `sha256sum --check` reads.
const SUMS: &str = "SHA256SUMS";

/// Makes the artefacts, or with a version only sets it.
///
/// # Errors
/// What keeps the recipe from starting.
pub(super) fn release(options: &Options) -> Result<ExitCode, String> {
    let project = Project::find()?;
    let workspace = project.workspace()?;
    let mut runner = runner(options.keep_going)?;
    if let Some(version) = &options.version {
        versions::set(&mut runner, &project, version);
        return Ok(runner.finish());
    }
    let machine = TestMachine::of_environment(&project.root, &project.target);
    let folder = Folder::begin(&project.target)?;
    ready(&mut runner, &project, &workspace, options.trial);
    oldest(&mut runner, &project, &workspace.rust);
    packages::steps(&mut runner, &project, &folder, options.trial);
    notices::steps(&mut runner, &project, &folder);
    program::steps(&mut runner, &project, &folder);
    wheel::steps(&mut runner, &project, &machine, &folder);
    lists::steps(&mut runner, &project, &folder);
    finish(&mut runner, folder);
    Ok(runner.finish())
}

/// What is given to others is what is committed, under a version that has its heading.
fn ready(runner: &mut Runner, project: &Project, workspace: &Workspace, trial: bool) {
    let mut faults = versions::faults(project, workspace);
    faults.extend(uncommitted(&project.root));
    if trial {
        for fault in faults.drain(..) {
            runner.leave_out(format!("for a release: {fault}"));
        }
    }
    let says = format!("version {}, heading, what is committed", workspace.version);
    runner.check("ready", &says, || match faults.is_empty() {
        true => Ok(Vec::new()),
        false => Err(faults),
    });
}

/// A fault when there are changes that are not committed.
fn uncommitted(root: &Path) -> Option<String> {
    let mut git = Command::new("git");
    let said = git
        .args(["status", "--porcelain"])
        .current_dir(root)
        .output();
    match said {
        Ok(said) if said.status.success() => {
            let changed = String::from_utf8_lossy(&said.stdout).lines().count();
            (changed > 0).then(|| format!("{changed} files are not committed; `git status`"))
        }
        _ => Some("git does not say what is committed here".to_owned()),
    }
}

/// The project is built by the oldest compiler that it promises. Where that is the one in use, the
/// other steps show it.
fn oldest(runner: &mut Runner, project: &Project, rust: &str) {
    let name = "rust-version";
    let full = match rust.matches('.').count() {
        1 => format!("{rust}.0"),
        _ => rust.to_owned(),
    };
    if said("rustc", &["--version"]).starts_with(&format!("rustc {full} ")) {
        let line = format!("the compiler in use is {full}: it builds all that follows");
        runner.check(name, &full, || Ok(vec![line]));
        return;
    }
    let there = said("rustup", &["toolchain", "list"]);
    if !there.lines().any(|line| line.starts_with(&full)) {
        let install = format!("rustup toolchain install {full} --profile minimal");
        runner.skip(name, &format!("there is no Rust {full}; run `{install}`"));
        return;
    }
    let mut check = Command::new("rustup");
    check
        .args(["run", &full, "cargo", "check", "--workspace"])
        .env("CARGO_TARGET_DIR", project.target.join("oldest"))
        .current_dir(&project.root);
    // Set by the Cargo that runs this program, for its own toolchain.
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        check.env_remove(name);
    }
    runner.command(name, &mut check, None);
}

/// What a program writes; nothing when it does not run.
fn said(program: &str, words: &[&str]) -> String {
    let mut command = Command::new(program);
    let said = command.args(words).stderr(Stdio::null()).output();
    said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned())
        .unwrap_or_default()
}

/// Sums of all artefacts; then the draft is what it is called, unless a step has failed.
fn finish(runner: &mut Runner, folder: Folder) {
    let failed = runner.has_failed();
    let says = "sha256sum; then the folder gets its name";
    runner.check("artefacts", says, || {
        if failed {
            return Err(vec!["a step has failed: nothing is kept".to_owned()]);
        }
        sums(&folder).map_err(|fault| vec![fault])?;
        let files = folder.files().map_err(|fault| vec![fault])?;
        let place = folder.publish().map_err(|fault| vec![fault])?;
        let mut lines = vec![format!("{}:", place.display())];
        lines.extend(
            files
                .iter()
                .map(|(name, bytes)| format!("{bytes:>11}  {name}")),
        );
        Ok(lines)
    });
}

fn sums(folder: &Folder) -> Result<(), String> {
    let mut command = Command::new("sha256sum");
    command.arg("--").current_dir(folder.draft());
    let files = folder.files()?;
    if files.is_empty() {
        return Err("every artefact was left out".to_owned());
    }
    command.args(files.iter().map(|(name, _)| name));
    let done = command.output();
    let done = done.map_err(|fault| format!("`sha256sum` (coreutils): {fault}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("`sha256sum`: {}", said.trim()));
    }
    let path = folder.draft().join(SUMS);
    std::fs::write(&path, done.stdout).map_err(|fault| format!("`{}`: {fault}", path.display()))
}
