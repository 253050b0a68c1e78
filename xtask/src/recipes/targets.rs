//! `cargo xtask targets`: the project's types hold on other systems too. Nothing is linked, so no
//! other machine's tools are needed.

use super::project::Project;
use crate::runner::Runner;
use crate::said::said;
use std::process::Command;

/// The systems beside the one that tests run on.
const TARGETS: [&str; 3] = [
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-gnu",
];

/// What is checked: what a program that uses motet may be built from.
const PACKAGES: &str = "--package motet-sync --package motet-dispatch --package motet-ports \
                        --package motet-comm --package motet-mpi --package motet-mining \
                        --package motet-search --package motet-sim --package motet-window \
                        --package motet-files";

/// Checks the packages for each system.
pub(super) fn steps(runner: &mut Runner, project: &Project) {
    for target in TARGETS {
        let name = format!("check {target}");
        if !has(target) {
            let reason = format!("it is not installed; run `rustup target add {target}`");
            runner.skip(&name, &reason);
            continue;
        }
        let words = format!("check --target {target} {PACKAGES}");
        runner.command(&name, &mut project.cargo(&words));
    }
}

/// Whether the toolchain has a library for the system.
pub(super) fn has(target: &str) -> bool {
    let installed = said(Command::new("rustup").args(["target", "list", "--installed"]));
    installed.is_ok_and(|installed| installed.lines().any(|line| line == target))
}
