//! The packages for crates.io.

use super::super::project::Project;
use super::folder::Folder;
use crate::runner::Runner;
use crate::source::PackageManifest;
use std::fs;
use std::process::Command;

/// The texts of the licences that manifests name; each package has both.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// What crates.io shows beside the description, and takes a package without.
const WANTED: [&str; 2] = ["repository", "readme"];

/// Cargo packs every published crate, and looks at what crates.io asks for. It takes seconds:
/// nothing is built, and what is not committed is packed as well.
pub(in crate::recipes) fn step(runner: &mut Runner, project: &Project) {
    let mut command = packing(project);
    // The list of versions asks the registry; verification has it.
    command.args(["--no-verify", "--allow-dirty", "--exclude-lockfile"]);
    runner.command("packages", &mut command, None);
    licences(runner, project);
}

/// Packs every published crate from what is committed, builds each from its package alone, and
/// takes the packages.
pub(super) fn steps(runner: &mut Runner, project: &Project, folder: &Folder, allow_dirty: bool) {
    let mut command = packing(project);
    if allow_dirty {
        command.arg("--allow-dirty");
    }
    let verified = runner.command("packages", &mut command, None);
    licences(runner, project);
    let lacking = lacking(project);
    if !lacking.is_empty() {
        runner.leave_out(format!("crates.io would show more: {}", lacking.join("; ")));
    }
    if !verified {
        return;
    }
    runner.check("take packages", "each `.crate`", || {
        take(project, folder).map_err(|fault| vec![fault])
    });
}

/// Cargo packs the published crates. Those that are not published need each other without versions,
/// so Cargo must not be asked for the whole workspace.
fn packing(project: &Project) -> Command {
    let mut command = project.cargo(&["package"]);
    for manifest in published(project) {
        command.args(["--package", &manifest.name]);
    }
    command
}

fn published(project: &Project) -> impl Iterator<Item = &PackageManifest> {
    let all = project.tree.manifests().iter();
    all.filter(|manifest| manifest.is_published())
}

fn licences(runner: &mut Runner, project: &Project) {
    runner.check("licence texts", "beside each published manifest", || {
        let mut faults = Vec::new();
        for manifest in published(project) {
            for name in LICENCES {
                let path = project.root.join(&manifest.folder).join(name);
                if !path.is_file() {
                    let folder = &manifest.folder;
                    faults.push(format!(
                        "{folder} has no {name}: `ln -s ../../{name} {folder}/{name}`"
                    ));
                }
            }
        }
        match faults.is_empty() {
            true => Ok(Vec::new()),
            false => Err(faults),
        }
    });
}

/// What published packages do not say of themselves.
fn lacking(project: &Project) -> Vec<String> {
    let named = WANTED.iter().filter_map(|field| {
        let without = published(project).filter(|one| {
            let file = format!("{}/README.md", one.folder);
            let found = *field == "readme" && project.tree.file(&file).is_some();
            !(found || one.has_field(field))
        });
        let count = without.count();
        (count > 0).then(|| format!("{count} packages have no {field}"))
    });
    named.collect()
}

fn take(project: &Project, folder: &Folder) -> Result<Vec<String>, String> {
    let packed = project.target.join("package");
    let version = &project.workspace()?.version;
    let (mut count, mut bytes) = (0, 0);
    for manifest in published(project) {
        let file = packed.join(format!("{}-{version}.crate", manifest.name));
        let place = folder.take(&file)?;
        bytes += fs::metadata(place).map_or(0, |about| about.len());
        count += 1;
    }
    Ok(vec![format!("{count} packages, {bytes} bytes")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ProjectTree;

    #[test]
    fn what_is_published_is_packed_and_its_gaps_are_said() {
        let tree = ProjectTree::of(&[
            ("a/Cargo.toml", "[package]\nname = 'a'\nrepository = 'r'\n"),
            ("a/README.md", "# a\n"),
            ("b/Cargo.toml", "[package]\nname = 'b'\n"),
            ("c/Cargo.toml", "[package]\nname = 'c'\npublish = false\n"),
        ]);
        let project = Project {
            root: "nowhere".into(),
            target: "nowhere/target".into(),
            tree,
        };
        let command = packing(&project);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["package", "--package", "a", "--package", "b"]);
        let wanted = ["1 packages have no repository", "1 packages have no readme"];
        assert_eq!(lacking(&project), wanted);
    }
}
