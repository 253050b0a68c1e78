//! The environment with schemathesis, which asks a server for what its description says. It is
//! made when it is needed.

use super::project::Project;
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
pub(super) fn python(project: &Project) -> Result<PathBuf, String> {
    let place = project.target.join("schemathesis");
    let python = place.join("bin/python");
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let there = ["-c", "import openapi_spec_validator, schemathesis"];
    if run(Command::new(&python).args(there)).is_ok() {
        return Ok(python);
    }
    let mut venv = Command::new("python3");
    run(venv.args(["-m", "venv", "--clear"]).arg(&place))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    pip.args(["install", "--only-binary", ":all:", "--requirement"]);
    run(pip.arg(project.root.join(LIST)))?;
    Ok(python)
}
