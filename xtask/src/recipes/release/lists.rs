//! What is in the artefacts: a list of all packages (SBOM), their licences, known faults of them.

use super::super::project::Project;
use super::folder::Folder;
use crate::runner::Runner;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

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
        runner.skip("advisories", &reason);
        return;
    }
    let mut licences = project.cargo(&["deny", "--all-features", "check"]);
    licences.args(["licenses", "sources"]);
    runner.command("licences", &mut licences, None);
    let mut fetch = project.cargo(&["deny", "fetch", "db"]);
    fetch.stdin(Stdio::null());
    match fetch.output() {
        Ok(done) if done.status.success() => {
            let mut known = project.cargo(&["deny", "--all-features", "check"]);
            known.args(["--disable-fetch", "advisories"]);
            runner.command("advisories", &mut known, None);
        }
        _ => runner.skip("advisories", "the database of RustSec cannot be fetched"),
    }
}

/// CycloneDX lists, made in a copy of what is committed: the tool writes beside each manifest.
fn packages(runner: &mut Runner, project: &Project, folder: &Folder) {
    let copy = project.target.join("release-source");
    let says = "git archive HEAD";
    let copied = runner.check("copy", says, || {
        copied(project, &copy).map_err(|fault| vec![fault])
    });
    if !copied {
        return;
    }
    let mut list = project.cargo(&["cyclonedx", "--format", "json", "--quiet"]);
    list.args(["--spec-version", "1.5", "--override-filename", "list"])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .current_dir(&copy);
    if !runner.command("list of packages", &mut list, None) {
        return;
    }
    runner.check("take lists", "CycloneDX 1.5", || {
        let taken = LISTED.iter().map(|(package, name)| {
            let made = copy.join(package).join("list.json");
            take(
                &made,
                &copy,
                &folder.draft().join(format!("{name}.cdx.json")),
            )
        });
        let lines: Result<Vec<String>, String> = taken.collect();
        lines.map_err(|fault| vec![fault])
    });
    // It is made anew each time.
    let _ = fs::remove_dir_all(&copy);
}

/// Copies a list, in which the project's folder is called `/motet` wherever it was made.
fn take(made: &Path, folder: &Path, place: &Path) -> Result<String, String> {
    let text = fs::read_to_string(made).map_err(|fault| said(made, &fault))?;
    let text = text.replace(&*folder.to_string_lossy(), "/motet");
    fs::write(place, text).map_err(|fault| said(place, &fault))?;
    Ok(place.display().to_string())
}

fn said(path: &Path, fault: &std::io::Error) -> String {
    format!("`{}`: {fault}", path.display())
}

/// What is committed, at `place`.
fn copied(project: &Project, place: &Path) -> Result<Vec<String>, String> {
    if place.exists() {
        fs::remove_dir_all(place).map_err(|fault| said(place, &fault))?;
    }
    fs::create_dir_all(place).map_err(|fault| said(place, &fault))?;
    let mut git = Command::new("git");
    git.args(["archive", "--format=tar", "HEAD"])
        .current_dir(&project.root)
        .stdout(Stdio::piped());
    let mut git = git.spawn().map_err(|fault| format!("`git`: {fault}"))?;
    let archive = git.stdout.take().ok_or("`git` has no output")?;
    let mut tar = Command::new("tar");
    tar.args(["-x", "-C"]).arg(place).stdin(archive);
    let tar = tar.status().map_err(|fault| format!("`tar`: {fault}"))?;
    let git = git.wait().map_err(|fault| format!("`git`: {fault}"))?;
    match tar.success() && git.success() {
        true => Ok(Vec::new()),
        false => Err("what is committed could not be copied".to_owned()),
    }
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
        assert!(missing.unwrap_err().contains("none"));
    }
}
