//! One version everywhere: what says it, and how it is set.

use super::super::project::Project;
use crate::runner::Runner;
use crate::source::{Workspace, get, list, table};
use anyhow::{Result, bail, ensure};

/// What sets versions: it knows how manifests inherit them.
const TOOL: &str = "cargo install --locked cargo-release@1.1.6";

/// Sets the version of all packages and of what depends on them. It gives the part of
/// `CHANGELOG.md` that is not released yet this version as its heading. `release.toml` says how.
pub(super) fn set(runner: &mut Runner, project: &Project, version: &str) {
    if !project.has_cargo("release") {
        let lacks = format!("there is no cargo-release; run `{TOOL}`");
        return runner.lacking("version", lacks, true);
    }
    let says = "one heading `## Unreleased` in CHANGELOG.md";
    let log = project.tree.text("CHANGELOG.md").unwrap_or_default();
    if !runner.check("unreleased", says, || movable(log, version)) {
        return;
    }
    let step = |words: &[&str]| {
        let mut command = project.cargo("release");
        command
            .args(words)
            .args(["--workspace", "--execute", "--no-confirm"]);
        command
    };
    runner.command("version", &mut step(&["version", version]));
    // After that the version is the new one: what is replaced takes it from there.
    runner.command("heading", &mut step(&["replace"]));
}

/// Whether the heading can become that of the version.
fn movable(log: &str, version: &str) -> Result<Vec<String>> {
    ensure!(
        heading(log, version).is_none(),
        "CHANGELOG.md has a heading of {version}"
    );
    match log.lines().filter(|line| *line == "## Unreleased").count() {
        1 => Ok(Vec::new()),
        count => bail!(
            "CHANGELOG.md has {count} headings `## Unreleased`; one holds what {version} brings"
        ),
    }
}

/// The line of `CHANGELOG.md` that begins the version: `## 1.2.3`, then the day.
pub(super) fn heading<'a>(log: &'a str, version: &str) -> Option<&'a str> {
    log.lines().find(|line| {
        let rest = line.strip_prefix("## ");
        rest.and_then(|rest| rest.split_whitespace().next()) == Some(version)
    })
}

/// What keeps this tree from being a release of its version, each with what to do.
pub(super) fn faults(project: &Project, workspace: &Workspace) -> Vec<String> {
    let version = &workspace.version;
    let mut faults = Vec::new();
    let log = project.tree.text("CHANGELOG.md").unwrap_or_default();
    if heading(log, version).is_none() {
        faults.push(format!(
            "CHANGELOG.md has no heading `## {version}`; \
             `cargo xtask release --version {version}` makes it of `## Unreleased`"
        ));
    }
    let manifests = project.tree.manifests().iter();
    let others = manifests.filter(|one| !one.inherits("version"));
    faults.extend(others.map(|one| {
        let path = &one.path;
        format!("{path} has a version of its own; write `version.workspace = true`")
    }));
    let python = project.tree.text("python/pyproject.toml").unwrap_or("");
    if let Err(fault) = dynamic(python) {
        faults.push(format!("python/pyproject.toml {fault}"));
    }
    faults
}

/// The wheel takes its version from the extension's package.
fn dynamic(text: &str) -> Result<(), String> {
    let table = table(text)?;
    let mut names = list(get(&table, "project.dynamic"));
    match names.any(|name| name.as_str() == Some("version")) {
        true => Ok(()),
        false => Err("states a version; write `dynamic = [\"version\"]`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# Changes\n\n## Unreleased\n\n- a\n\n## 0.1.0 (2026-01-01)\n";

    #[test]
    fn a_heading_is_that_of_the_whole_version() {
        assert_eq!(heading(LOG, "0.1.0"), Some("## 0.1.0 (2026-01-01)"));
        assert_eq!(heading(LOG, "0.1"), None);
        assert_eq!(heading("## 0.1.0\n", "0.1.0"), Some("## 0.1.0"));
    }

    #[test]
    fn the_unreleased_part_can_take_a_new_version_only() {
        assert!(movable(LOG, "0.2.0").is_ok());
        let fault = |log: &str, version: &str| movable(log, version).unwrap_err().to_string();
        assert_eq!(fault(LOG, "0.1.0"), "CHANGELOG.md has a heading of 0.1.0");
        assert!(fault("# Changes\n", "0.2.0").contains("has 0 headings"));
    }

    #[test]
    fn the_wheel_takes_the_version_of_its_package() {
        assert!(dynamic("[project]\ndynamic = ['version']\n").is_ok());
        let own = dynamic("[project]\nversion = '0.1.0'\n").unwrap_err();
        assert!(own.contains("states a version"));
        assert!(dynamic("[project").is_err());
    }
}
