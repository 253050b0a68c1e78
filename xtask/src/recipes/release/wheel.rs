//! The Python package, compiled as it is given to others.

use super::super::project::Project;
use super::folder::Folder;
use super::notices::{LIBRARY, NOTICES};
use super::paths::Paths;
use crate::runner::Runner;
use crate::said::said;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::path::{Path, PathBuf};

/// Packs the wheels in a folder again.
const PACK: &str = include_str!("pack_wheel.py");

/// More is a failure: whoever installs it waits for it. In bytes.
const LIMIT: u64 = 8_000_000;

/// Builds the wheel into the draft, with its profile.
pub(super) fn steps(runner: &mut Runner, project: &Project, folder: &Folder) {
    if !project.machine.has("import maturin") {
        let python = project.machine.python.display();
        let reason = format!("`{python}` has no maturin; run `.ci/run` once, which installs it");
        return runner.skip("wheel", &reason);
    }
    let mut build = project.python("-m maturin build --locked --profile wheel");
    build
        .args(["--compression-level", "9", "--out"])
        .arg(&folder.draft)
        .current_dir(project.root.join("python"));
    let paths = Paths::of(project);
    paths.hide(&mut build);
    let mut lent = Lent(Vec::new());
    let says = "into the folder of the package, while the wheel is built";
    let taken = runner.check("notices for the wheel", says, || {
        lent.take(folder, &project.root.join("python/motet"))
    });
    let built = taken && runner.command("wheel", &mut build);
    drop(lent);
    if !built {
        return;
    }
    // Maturin packs by zlib.
    match project.machine.has("import zopfli") {
        true => {
            let mut pack = project.python("-c");
            runner.command("wheel packed", pack.arg(PACK).arg(&folder.draft));
        }
        false => runner.skip("wheel packed", "there is no zopfli; run `.ci/run` once"),
    }
    let says = format!("at most {} MB", LIMIT / 1_000_000);
    runner.check("size of the wheel", &says, || {
        let (name, bytes) = wheel(folder)?;
        ensure!(
            bytes <= LIMIT,
            "{name} has {bytes} bytes, more than {LIMIT}"
        );
        Ok(vec![format!("{name}: {bytes} bytes")])
    });
    let place = project.target.join("release-wheel");
    let says = "the notices, and no folder of this machine";
    runner.faults("contents of the wheel", says, || {
        contents(project, folder, &paths, &place)
    });
    // Of interest only while it is looked at.
    let _ = fs::remove_dir_all(&place);
}

/// The wheel in the draft, and its bytes.
fn wheel(folder: &Folder) -> Result<(String, u64)> {
    let mut files = folder.files()?.into_iter();
    files
        .find(|(name, _)| name.ends_with(".whl"))
        .context("maturin made no wheel")
}

/// What is wrong with the wheel, which is unpacked: it holds the notices, and no folder of this
/// machine.
fn contents(
    project: &Project,
    folder: &Folder,
    paths: &Paths,
    place: &Path,
) -> Result<Vec<String>> {
    let (wheel, _) = wheel(folder)?;
    // There may be one of an earlier run.
    let _ = fs::remove_dir_all(place);
    let mut zip = project.python("-m zipfile -e");
    said(zip.arg(folder.draft.join(wheel)).arg(place))?;
    let mut faults = paths.faults(place)?;
    let missing = [NOTICES, LIBRARY]
        .into_iter()
        .filter(|file| !place.join("motet").join(file).is_file());
    faults.extend(missing.map(|file| format!("it has no motet/{file}")));
    Ok(faults)
}

/// Copies of the notices in the folder of the package, which go when this is dropped.
#[derive(Debug)]
struct Lent(Vec<PathBuf>);

impl Lent {
    fn take(&mut self, folder: &Folder, package: &Path) -> Result<Vec<String>> {
        for file in [NOTICES, LIBRARY] {
            fs::copy(folder.draft.join(file), package.join(file))?;
            self.0.push(package.join(file));
        }
        Ok(Vec::new())
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
