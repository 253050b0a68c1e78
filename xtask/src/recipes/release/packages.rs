//! The packages for crates.io.

use super::super::project::Project;
use super::folder::Folder;
use crate::runner::Runner;
use crate::source::PackageManifest;
use std::process::Command;

/// The texts of the licences that manifests name; each package has both.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// Cargo packs every published crate, and looks at what crates.io asks for. It takes seconds:
/// nothing is built, and what is not committed is packed as well.
pub(in crate::recipes) fn step(runner: &mut Runner, project: &Project) {
    let mut command = packing(project);
    // The list of versions asks the registry; verification has it.
    command.args(["--no-verify", "--allow-dirty", "--exclude-lockfile"]);
    runner.command("packages", &mut command);
    licences(runner, project);
}

/// Packs every published crate from what is committed, builds each from its package alone, and
/// takes the packages.
pub(super) fn steps(runner: &mut Runner, project: &Project, folder: &Folder, allow_dirty: bool) {
    // Cargo takes what it has built of a version for that version: each time it is built anew.
    let name = format!("packages-{}", std::process::id());
    let place = project.target.join(name);
    let mut command = packing(project);
    command.arg("--target-dir").arg(&place);
    command.args(allow_dirty.then_some("--allow-dirty"));
    let verified = runner.command("packages", &mut command);
    licences(runner, project);
    if verified {
        runner.check("take packages", "each `.crate`", || {
            let version = project.workspace()?.version;
            let (mut count, mut bytes) = (0, 0);
            for manifest in published(project) {
                let file = format!("package/{}-{version}.crate", manifest.name);
                bytes += folder.take(&place.join(file))?;
                count += 1;
            }
            Ok(vec![format!("{count} packages, {bytes} bytes")])
        });
    }
    let _ = std::fs::remove_dir_all(&place);
}

/// Cargo packs the published crates. Those that are not published need each other without versions,
/// so Cargo must not be asked for the whole workspace.
fn packing(project: &Project) -> Command {
    let mut command = project.cargo("package");
    command.args(published(project).flat_map(|manifest| ["--package", &manifest.name]));
    command
}

fn published(project: &Project) -> impl Iterator<Item = &PackageManifest> {
    let all = project.tree.manifests().iter();
    all.filter(|manifest| manifest.is_published())
}

fn licences(runner: &mut Runner, project: &Project) {
    runner.faults("licence texts", "beside each published manifest", || {
        let texts = published(project).flat_map(|one| LICENCES.map(|name| (&one.folder, name)));
        let missing =
            texts.filter(|(folder, name)| !project.root.join(folder).join(name).is_file());
        let faults = missing.map(|(folder, name)| {
            format!("{folder} has no {name}: `ln -s ../../{name} {folder}/{name}`")
        });
        Ok(faults.collect())
    });
}
