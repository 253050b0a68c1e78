//! The program as one file that needs no library of the machine.

use super::super::project::Project;
use super::super::targets;
use super::folder::Folder;
use super::notices::{LIBRARY, NOTICES};
use super::paths::Paths;
use crate::runner::Runner;
use crate::said::{runs, said};
use anyhow::{Result, ensure};
use fs_err as fs;
use std::path::Path;
use std::process::Command;

/// The system it is built for: its C library is linked in.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// What compiles the parts of dependencies that are written in C for that.
const COMPILER: &str = "musl-gcc";

/// What goes with it.
const BESIDE: [&str; 3] = ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"];

/// A run that must succeed, on data of the project.
const TRIAL: &str = "cluster examples/data/places.csv.gz --geo lat,lon --clusters 8 --out";

/// Builds the program, tries it, and packs it.
pub(super) fn steps(runner: &mut Runner, project: &Project, folder: &Folder) {
    if !targets::has(TARGET) {
        let reason = format!("there is no {TARGET}; run `rustup target add {TARGET}`");
        return runner.skip("program", &reason);
    }
    if !runs(COMPILER, &["--version"]) {
        let reason = format!("there is no {COMPILER}; run `apt-get install musl-tools`");
        return runner.skip("program", &reason);
    }
    let mut build = project.cargo("build --profile dist --package motet-cli --target");
    build.arg(TARGET);
    let paths = Paths::of(project);
    paths.hide(&mut build);
    if !runner.command("program", &mut build) {
        return;
    }
    let program = project.target.join(TARGET).join("dist/motet");
    runner.check("program alone", "it asks for no dynamic linker", || {
        alone(&program)
    });
    let says = "none of this machine";
    runner.faults("paths in the program", says, || paths.faults(&program));
    let out = project.target.join("release-trial");
    let mut trial = Command::new(&program);
    trial.args(TRIAL.split_whitespace()).arg(&out);
    runner.command("program tried", trial.current_dir(&project.root));
    // Of interest only while it runs.
    let _ = fs::remove_dir_all(&out);
    runner.check("program packed", "tar, gzip", || {
        pack(project, folder, &program)
    });
}

/// The program has no segment that names a dynamic linker.
fn alone(program: &Path) -> Result<Vec<String>> {
    let segments = said(
        Command::new("readelf")
            .arg("--program-headers")
            .arg(program),
    )?;
    ensure!(
        !segments.contains("INTERP"),
        "it is linked with libraries of the machine"
    );
    Ok(vec![format!("{} bytes", fs::metadata(program)?.len())])
}

/// An archive with the program and what goes with it, the same for the same contents.
fn pack(project: &Project, folder: &Folder, program: &Path) -> Result<Vec<String>> {
    let version = project.workspace()?.version;
    let name = format!("motet-{version}-{TARGET}");
    let place = folder.draft.join(&name);
    fs::create_dir(&place)?;
    fs::copy(program, place.join("motet"))?;
    for file in BESIDE {
        fs::copy(project.root.join(file), place.join(file))?;
    }
    for file in [NOTICES, LIBRARY] {
        fs::copy(folder.draft.join(file), place.join(file))?;
    }
    let archive = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mtime=@0", "--use-compress-program=gzip -9n", "-cf"])
        .args([&archive, &name]);
    said(tar.current_dir(&folder.draft))?;
    fs::remove_dir_all(&place)?;
    Ok(vec![archive])
}

#[cfg(test)]
mod tests {
    use super::alone;
    use std::path::Path;

    #[test]
    fn a_program_that_asks_for_a_linker_and_what_is_none_are_refused() {
        // Tests themselves are linked with libraries of the machine.
        let own = std::env::current_exe().unwrap();
        let fault = alone(&own).unwrap_err().to_string();
        assert!(fault.contains("libraries of the machine"), "{fault}");
        assert!(alone(Path::new("Cargo.toml")).is_err());
    }
}
