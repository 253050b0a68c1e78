//! The program as one file that needs no library of the machine.

use super::super::project::Project;
use super::super::targets::installed;
use super::folder::Folder;
use super::notices::{LIBRARY, NOTICES};
use super::paths::Paths;
use crate::runner::Runner;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The system it is built for: its C library is linked in.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// What compiles the parts of dependencies that are written in C for that.
const COMPILER: &str = "musl-gcc";

/// What goes with it.
const BESIDE: [&str; 3] = ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"];

/// A run that must succeed, on data of the project.
const TRIAL: [&str; 6] = [
    "cluster",
    "examples/data/places.csv.gz",
    "--geo",
    "lat,lon",
    "--clusters",
    "8",
];

/// Builds the program, tries it, and packs it.
pub(super) fn steps(runner: &mut Runner, project: &Project, folder: &Folder) {
    if !installed().lines().any(|line| line == TARGET) {
        let reason = format!("there is no {TARGET}; run `rustup target add {TARGET}`");
        return runner.skip("program", &reason);
    }
    if !starts(COMPILER) {
        let reason = format!("there is no {COMPILER}; run `apt-get install musl-tools`");
        return runner.skip("program", &reason);
    }
    let mut build = project.cargo(&["build", "--profile", "dist", "--target", TARGET]);
    build.args(["--package", "motet-cli"]);
    let paths = Paths::of(project);
    paths.hide(&mut build);
    if !runner.command("program", &mut build, None) {
        return;
    }
    let program = project.target.join(TARGET).join("dist/motet");
    runner.check("program alone", "it asks for no dynamic linker", || {
        let bytes = fs::read(&program).map_err(|fault| vec![fault.to_string()])?;
        match interpreter(&bytes) {
            Some(false) => Ok(vec![format!("{} bytes", bytes.len())]),
            Some(true) => Err(vec!["it is linked with libraries of the machine".into()]),
            None => Err(vec![format!("`{}` is no program", program.display())]),
        }
    });
    runner.check(
        "paths in the program",
        "none of this machine",
        || match paths.faults(&program) {
            Ok(faults) if faults.is_empty() => Ok(Vec::new()),
            Ok(faults) => Err(faults),
            Err(fault) => Err(vec![fault]),
        },
    );
    let out = project.target.join("release-trial");
    let mut trial = Command::new(&program);
    trial.args(TRIAL).arg("--out").arg(&out);
    runner.command("program tried", trial.current_dir(&project.root), None);
    // Of interest only while it runs.
    let _ = fs::remove_dir_all(&out);
    runner.check("program packed", "tar, gzip", || {
        pack(project, folder, &program).map_err(|fault| vec![fault])
    });
}

/// An archive with the program and what goes with it, the same for the same contents.
fn pack(project: &Project, folder: &Folder, program: &Path) -> Result<Vec<String>, String> {
    let version = project.workspace()?.version;
    let name = format!("motet-{version}-{TARGET}");
    let place = folder.draft().join(&name);
    let copied = || -> std::io::Result<()> {
        fs::create_dir(&place)?;
        fs::copy(program, place.join("motet"))?;
        for file in BESIDE {
            fs::copy(project.root.join(file), place.join(file))?;
        }
        for file in [NOTICES, LIBRARY] {
            fs::copy(folder.draft().join(file), place.join(file))?;
        }
        Ok(())
    };
    copied().map_err(|fault| format!("`{}`: {fault}", place.display()))?;
    let archive = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mtime=@0", "--use-compress-program=gzip -9n", "-cf"])
        .args([&archive, &name])
        .current_dir(folder.draft());
    let done = tar.output().map_err(|fault| format!("`tar`: {fault}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("`tar`: {}", said.trim()));
    }
    fs::remove_dir_all(&place).map_err(|fault| format!("`{}`: {fault}", place.display()))?;
    Ok(vec![archive])
}

fn starts(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether an ELF program of 64 bits names a dynamic linker (a segment `PT_INTERP`); `None` when
/// it is none.
fn interpreter(bytes: &[u8]) -> Option<bool> {
    /// The kind of a segment that names one.
    const INTERPRETER: u64 = 3;
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(length)?)?;
        let digits = bytes.iter().rev();
        Some(digits.fold(0, |all, byte| all << 8 | u64::from(*byte)))
    };
    // Magic number, 64 bits, least byte first.
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let place = |at, length| usize::try_from(number(at, length)?).ok();
    let (table, size, count) = (place(32, 8)?, place(54, 2)?, place(56, 2)?);
    let mut found = false;
    for segment in 0..count {
        let at = table.checked_add(segment.checked_mul(size)?)?;
        found |= number(at, 4)? == INTERPRETER;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::interpreter;

    /// A header and one segment of the kind.
    fn program(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, kind);
        bytes
    }

    #[test]
    fn a_program_that_asks_for_a_linker_is_known_by_its_segments() {
        assert_eq!(interpreter(&program(3)), Some(true));
        assert_eq!(interpreter(&program(1)), Some(false));
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
        assert_eq!(interpreter(&program(3)[..70]), Some(true));
        assert_eq!(interpreter(&program(3)[..65]), None);
        assert_eq!(interpreter(b""), None);
    }
}
