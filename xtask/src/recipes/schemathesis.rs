//! The environment with schemathesis, which asks a server for what its description says. It is
//! made when it is needed.

use super::project::Project;
use crate::said::{runs, said};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// The part of a test's name that says that it needs the environment.
pub(super) const MARKER: &str = "by_schemathesis";

/// What is installed, in the project.
const LIST: &str = ".ci/schemathesis.txt";

/// The Python of the environment.
///
/// # Errors
/// Why there is none: no Python, or no network.
pub(super) fn python(project: &Project) -> Result<PathBuf> {
    let place = project.target.join("schemathesis");
    let python = place.join("bin/python");
    if !runs(
        &python,
        &["-c", "import openapi_spec_validator, schemathesis"],
    ) {
        let mut venv = Command::new("python3");
        said(venv.args(["-m", "venv", "--clear"]).arg(&place))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
        pip.args(["install", "--only-binary", ":all:", "--requirement"]);
        said(pip.arg(project.root.join(LIST)))?;
    }
    Ok(python)
}
