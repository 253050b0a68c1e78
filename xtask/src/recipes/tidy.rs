//! `cargo xtask tidy`: the house rules.

use super::project::Project;
use crate::runner::Runner;
use crate::tidy;

/// Checks the project's files; every finding is a line.
pub(super) fn step(runner: &mut Runner, project: &Project) {
    runner.faults("tidy", "the house rules", || {
        let findings = tidy::run(&project.tree);
        let lines = findings
            .iter()
            .map(|(check, finding)| format!("{finding} [{check}]"));
        let count = (!findings.is_empty()).then(|| format!("{} findings", findings.len()));
        Ok(lines.chain(count).collect())
    });
}
