//! The Python package, compiled as it is given to others.

use super::super::project::Project;
use super::folder::Folder;
use crate::needs::Machine;
use crate::runner::Runner;
use std::process::{Command, Stdio};

/// More is a failure: whoever installs it waits for it. In bytes.
const LIMIT: u64 = 10_000_000;

/// Builds the wheel into the draft, with its profile.
pub(super) fn steps(runner: &mut Runner, project: &Project, machine: &Machine, folder: &Folder) {
    let there = Command::new(machine.python())
        .args(["-c", "import maturin"])
        .stderr(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        let python = machine.python().to_string_lossy().into_owned();
        let reason = format!("`{python}` has no maturin; run `.ci/run` once, which installs it");
        return runner.skip("wheel", &reason);
    }
    let mut build = Command::new(machine.python());
    build
        .args(["-m", "maturin", "build", "--locked", "--profile", "wheel"])
        .args(["--compression-level", "9", "--out"])
        .arg(folder.draft())
        .current_dir(project.root.join("python"));
    if !runner.command("wheel", &mut build, None) {
        return;
    }
    let says = format!("at most {} MB", LIMIT / 1_000_000);
    runner.check("size of the wheel", &says, || {
        let wheels = folder.files().map_err(|fault| vec![fault])?;
        let wheel = wheels.into_iter().find(|(name, _)| name.ends_with(".whl"));
        match wheel {
            None => Err(vec!["maturin made no wheel".to_owned()]),
            Some((name, bytes)) if bytes > LIMIT => {
                Err(vec![format!("{name} has {bytes} bytes, more than {LIMIT}")])
            }
            Some((name, bytes)) => Ok(vec![format!("{name}: {bytes} bytes")]),
        }
    });
}
