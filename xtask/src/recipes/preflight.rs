//! `cargo xtask preflight`: what takes seconds, before each commit.

use super::project::Project;
use crate::runner::Runner;
use crate::tidy;
use std::io::IsTerminal;

/// Form, lints and house rules as steps, also of a larger recipe; a missing tool is a failure when
/// `strict`.
pub(super) fn steps(runner: &mut Runner, project: &Project, strict: bool) {
    let mut fmt = project.cargo("fmt --check");
    match &project.package {
        None => fmt.arg("--all"),
        Some(package) => fmt.args(["--package", &package.name]),
    };
    if !std::io::stdout().is_terminal() {
        // Unlike Cargo, rustfmt colours whatever it writes to.
        fmt.args(["--", "--color", "never"]);
    }
    let mut clippy = project.cargo("clippy --all-targets");
    clippy
        .args(project.all_words())
        .args(["--", "-D", "warnings"]);
    for (name, component, mut command) in [("fmt", "rustfmt", fmt), ("clippy", "clippy", clippy)] {
        if strict || project.has_cargo(name) {
            runner.command(name, &mut command);
        } else {
            let install = format!("rustup component add {component}");
            runner.skip(name, &format!("it is not installed; run `{install}`"));
        }
    }
    tidy(runner, project);
}

/// `cargo xtask tidy`: the house rules over the project's files; every finding is a line.
pub(super) fn tidy(runner: &mut Runner, project: &Project) {
    runner.faults("tidy", "the house rules", || {
        let findings = tidy::run(&project.tree);
        let lines = findings
            .iter()
            .map(|(check, finding)| format!("{finding} [{check}]"));
        let count = (!findings.is_empty()).then(|| format!("{} findings", findings.len()));
        Ok(lines.chain(count).collect())
    });
}
