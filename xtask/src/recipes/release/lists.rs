//! What is in the artefacts: a list of all packages (SBOM), their licences, known faults of them.

use super::super::project::Project;
use super::folder::Folder;
use crate::runner::Runner;
use crate::said::said;
use anyhow::Result;
use fs_err as fs;
use std::path::Path;
use std::process::Command;

/// The tools, and the lines that install them.
const CYCLONEDX: &str = "cargo install --locked cargo-cyclonedx@0.5.9";
const DENY: &str = "cargo install --locked cargo-deny@0.20.2";

/// What is given to others beside packages: its package, and the name of its list.
const LISTED: [(&str, &str); 2] = [("crates/cli", "motet-program"), ("python", "motet-wheel")];

/// Lists and checks as steps.
pub(super) fn steps(runner: &mut Runner, project: &Project, folder: &Folder) {
    if project.has_cargo("cyclonedx") {
        packages(runner, project, folder);
    } else {
        let reason = format!("there is no cargo-cyclonedx; run `{CYCLONEDX}`");
        runner.skip("list of packages", &reason);
    }
    if !project.has_cargo("deny") {
        let reason = format!("there is no cargo-deny; run `{DENY}`");
        runner.skip("licences", &reason);
        return runner.skip("advisories", &reason);
    }
    let mut licences = project.cargo("deny --all-features check licenses sources");
    runner.command("licences", &mut licences);
    match said(&mut project.cargo("deny fetch db")) {
        Ok(_) => {
            let mut known = project.cargo("deny --all-features check");
            runner.command("advisories", known.args(["--disable-fetch", "advisories"]));
        }
        Err(_) => runner.skip("advisories", "the database of RustSec cannot be fetched"),
    }
}

/// CycloneDX lists, made in a copy of what is committed: the tool writes beside each manifest.
fn packages(runner: &mut Runner, project: &Project, folder: &Folder) {
    let copy = project.target.join("release-source");
    if !runner.check("copy", "git archive HEAD", || copied(project, &copy)) {
        return;
    }
    let mut list = project.cargo("cyclonedx --format json --quiet");
    list.args(["--spec-version", "1.5", "--override-filename", "list"])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .current_dir(&copy);
    if !runner.command("list of packages", &mut list) {
        return;
    }
    runner.check("take lists", "CycloneDX 1.5", || {
        let lines = LISTED.iter().map(|(package, name)| {
            let place = folder.draft.join(format!("{name}.cdx.json"));
            take(&copy.join(package).join("list.json"), &copy, &place)?;
            Ok(place.display().to_string())
        });
        lines.collect()
    });
    // It is made anew each time.
    let _ = fs::remove_dir_all(&copy);
}

/// Copies a list, in which the project's folder is called `/motet` wherever it was made.
fn take(made: &Path, folder: &Path, place: &Path) -> Result<()> {
    let text = fs::read_to_string(made)?;
    fs::write(place, text.replace(&*folder.to_string_lossy(), "/motet"))?;
    Ok(())
}

/// What is committed, at `place`.
fn copied(project: &Project, place: &Path) -> Result<Vec<String>> {
    // There may be one of an earlier run.
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place)?;
    let archive = place.join("committed.tar");
    let mut git = Command::new("git");
    git.args(["archive", "HEAD", "--output"]).arg(&archive);
    said(git.current_dir(&project.root))?;
    said(
        Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(place),
    )?;
    fs::remove_file(archive)?;
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::take;
    use std::fs;

    #[test]
    fn a_list_names_no_folder_of_the_machine() {
        let folder = std::env::temp_dir().join(format!("lists-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (made, place) = (folder.join("list.json"), folder.join("taken.json"));
        let text = format!("path+file://{}/crates/comm", folder.display());
        fs::write(&made, text).unwrap();
        take(&made, &folder, &place).unwrap();
        let taken = fs::read_to_string(&place).unwrap();
        let missing = take(&folder.join("none"), &folder, &place);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(taken, "path+file:///motet/crates/comm");
        assert!(missing.unwrap_err().to_string().contains("none"));
    }
}
