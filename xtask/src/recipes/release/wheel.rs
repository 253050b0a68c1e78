//! The Python package, compiled as it is given to others.

use super::super::project::Project;
use super::folder::Folder;
use super::notices::{LIBRARY, NOTICES};
use super::paths::Paths;
use crate::needs::TestMachine;
use crate::runner::Runner;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// More is a failure: whoever installs it waits for it. In bytes.
const LIMIT: u64 = 10_000_000;

/// Builds the wheel into the draft, with its profile.
pub(super) fn steps(
    runner: &mut Runner,
    project: &Project,
    machine: &TestMachine,
    folder: &Folder,
) {
    if !machine.python_runs("import maturin") {
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
    let paths = Paths::of(project);
    paths.hide(&mut build);
    let mut lent = None;
    let says = "into the folder of the package, while the wheel is built";
    let taken = runner.check("notices for the wheel", says, || {
        lent = Some(
            Lent::take(folder, &project.root.join("python/motet")).map_err(|fault| vec![fault])?,
        );
        Ok(Vec::new())
    });
    if !taken {
        return;
    }
    let built = runner.command("wheel", &mut build, None);
    drop(lent);
    if !built {
        return;
    }
    pack(runner, machine, folder);
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
    contents(runner, project, machine, folder, &paths);
}

/// Packs the wheel again, in fewer bytes; maturin packs by zlib.
fn pack(runner: &mut Runner, machine: &TestMachine, folder: &Folder) {
    if !machine.python_runs("import zopfli") {
        return runner.skip("wheel packed", "there is no zopfli; run `.ci/run` once");
    }
    let mut pack = Command::new(machine.python());
    pack.args(["-c", include_str!("pack_wheel.py")])
        .arg(folder.draft());
    runner.command("wheel packed", &mut pack, None);
}

/// The wheel holds the notices, and no folder of this machine.
fn contents(
    runner: &mut Runner,
    project: &Project,
    machine: &TestMachine,
    folder: &Folder,
    paths: &Paths,
) {
    let place = project.target.join("release-wheel");
    let says = "the notices, and no folder of this machine";
    runner.check("contents of the wheel", says, || {
        unpack(machine, folder, &place).map_err(|fault| vec![fault])?;
        let mut faults = paths.faults(&place).map_err(|fault| vec![fault])?;
        for file in [NOTICES, LIBRARY] {
            if !place.join("motet").join(file).is_file() {
                faults.push(format!("it has no motet/{file}"));
            }
        }
        match faults.is_empty() {
            true => Ok(Vec::new()),
            false => Err(faults),
        }
    });
    // Of interest only while it is looked at.
    let _ = fs::remove_dir_all(&place);
}

/// Unpacks the wheel in the draft.
fn unpack(machine: &TestMachine, folder: &Folder, place: &Path) -> Result<(), String> {
    let wheels = folder.files()?;
    let wheel = wheels.iter().find(|(name, _)| name.ends_with(".whl"));
    let (wheel, _) = wheel.ok_or("maturin made no wheel")?;
    // There may be none of an earlier run.
    let _ = fs::remove_dir_all(place);
    let mut zip = Command::new(machine.python());
    zip.args(["-m", "zipfile", "-e"])
        .arg(folder.draft().join(wheel))
        .arg(place);
    let done = zip.output().map_err(|fault| fault.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

/// Copies of the notices in the folder of the package, which go when this is dropped.
#[derive(Debug)]
struct Lent(Vec<PathBuf>);

impl Lent {
    fn take(folder: &Folder, package: &Path) -> Result<Lent, String> {
        let mut lent = Lent(Vec::new());
        for file in [NOTICES, LIBRARY] {
            let place = package.join(file);
            let from = folder.draft().join(file);
            fs::copy(&from, &place).map_err(|fault| format!("`{}`: {fault}", from.display()))?;
            lent.0.push(place);
        }
        Ok(lent)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        for place in &self.0 {
            // What is left is not committed: `.gitignore` names it.
            let _ = fs::remove_file(place);
        }
    }
}
