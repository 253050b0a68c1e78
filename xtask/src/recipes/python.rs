//! The Python package: its wheel is built, installed into an environment of its own, and tested
//! there.

use super::project::Project;
use crate::runner::Runner;
use crate::said::{runs, said};
use anyhow::Result;
use fs_err as fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python in an environment.
const PYTHON: &str = "bin/python";

/// What builds and tests the package; the environment of the peers has it.
const TOOLS: &str = "import maturin, mypy, pytest, ruff, sklearn";

/// What some tests and the pages of the documentation need beside that.
const LIBRARIES: &str = "import furo, hmmlearn, matplotlib, myst_parser, pandas, polars, pyarrow, \
                         sphinxcontrib.programoutput, tqdm";

/// Where a Python has its packages.
const PACKAGES: &str = "import sysconfig; print(sysconfig.get_path('purelib'))";

/// Builds the wheel, as the tests are built, installs it and runs its tests, its examples and its
/// checks.
pub(super) fn step(runner: &mut Runner, project: &Project, strict: bool) {
    let Some((place, wheel)) = installed(runner, project, strict) else {
        return;
    };
    let whole = complete(runner, &place, strict);
    checks(runner, project, &place);
    if whole {
        documents(runner, project, &place);
    }
    // The extension calls only what every Python from 3.10 on has.
    match project.machine.has("import abi3audit") {
        true => {
            let mut audit = project.python("-m abi3audit --strict");
            runner.command("python abi", audit.arg(&wheel));
        }
        false => runner.skip("python abi", "there is no abi3audit; run `.ci/run` once"),
    }
}

/// Builds and installs the wheel, and runs the tests of which the gate leaves out a part.
pub(super) fn deep(runner: &mut Runner, project: &Project) {
    if let Some((place, _)) = installed(runner, project, false) {
        let mut tests = pytest(project, &place, "-s python/tests/test_mpi4py_suite.py");
        runner.command("mpi4py's tests", tests.env("MOTET_DEEP", "1"));
    }
}

/// Tests of the package as it is installed at `place`.
fn pytest(project: &Project, place: &Path, words: &str) -> Command {
    let words = format!("-m pytest -q -c python/pyproject.toml {words}");
    let mut tests = project.python_at(place.join(PYTHON), &words);
    tests.env("MOTET_MPI", &project.machine.mpi);
    tests
}

/// An environment with the wheel, and the wheel; `None` when there is none, which has been told.
fn installed(runner: &mut Runner, project: &Project, strict: bool) -> Option<(PathBuf, PathBuf)> {
    if project.package.is_some() {
        return None;
    }
    if !project.machine.has(TOOLS) {
        let python = project.machine.python.display();
        let lacks = format!("`{python}` has no maturin, pytest or ruff; run `.ci/run` once");
        runner.lacking("python", lacks, strict);
        return None;
    }
    let (wheels, place) = (project.target.join("wheels"), project.target.join("python"));
    // An older one would be installed beside it. There may be none.
    let _ = fs::remove_dir_all(&wheels);
    let mut build = project.python("-m maturin build --profile dev --out");
    build.arg(&wheels).current_dir(project.root.join("python"));
    if !runner.command("python wheel", &mut build) {
        return None;
    }
    let wheel = fs::read_dir(&wheels).ok()?.next()?.ok()?.path();
    let is_there = runner.check("python install", "an environment with the wheel", || {
        install(project, &place, &wheel)?;
        Ok(vec![size(&wheel)?])
    });
    is_there.then_some((place, wheel))
}

/// A line that says how large the wheel is, in MB of a million bytes.
fn size(wheel: &Path) -> Result<String> {
    let bytes = fs::metadata(wheel)?.len();
    let (whole, tenths) = (bytes / 1_000_000, bytes / 100_000 % 10);
    Ok(format!("the wheel has {whole}.{tenths} MB"))
}

/// Tests of the package as it is installed at `place`, and what looks at its text.
fn checks(runner: &mut Runner, project: &Project, place: &Path) {
    runner.command("python tests", &mut pytest(project, place, "python/tests"));
    let words = "-m pytest -q --doctest-modules --pyargs motet";
    let mut examples = project.python_at(place.join(PYTHON), words);
    runner.command("python examples", examples.current_dir(place));
    let mut style = project.python("-m ruff check --no-cache python");
    runner.command("python style", &mut style);
    let mut form = project.python("-m ruff format --check --no-cache python");
    runner.command("python form", &mut form);
    let mut types = project.python("-m mypy --ignore-missing-imports --cache-dir");
    types.arg(project.target.join("mypy")).arg("python/motet");
    runner.command("python types", &mut types);
}

/// Whether all is there that tests and documentation would leave out where it is missing.
fn complete(runner: &mut Runner, place: &Path, strict: bool) -> bool {
    let asked = said(Command::new(place.join(PYTHON)).args(["-c", LIBRARIES]));
    let Err(fault) = asked else { return true };
    let fault = fault.to_string();
    let missing = fault.lines().next_back().unwrap_or_default();
    let lacks = format!("{missing}; run `.ci/run` once, which installs `.ci/peers.txt`");
    runner.lacking("python libraries", lacks, strict);
    false
}

/// The documentation of both languages: its pages, pictures and examples. Warnings are errors.
fn documents(runner: &mut Runner, project: &Project, place: &Path) {
    let site = project.target.join("site");
    let library = std::env::split_paths(&project.machine.mpi).next();
    let sphinx = |builder: &str, out: &Path| {
        let words = format!("-m sphinx -q -W --keep-going -b {builder} docs");
        let mut sphinx = project.python_at(place.join(PYTHON), &words);
        sphinx.arg(out).arg("-d").arg(site.join(".doctrees"));
        sphinx.env("MOTET_MPI_LIB", library.clone().unwrap_or_default());
        sphinx
    };
    if runner.command("python docs", sphinx("html", &site).arg("-E")) {
        let out = project.target.join("site-examples");
        runner.command("docs examples", &mut sphinx("doctest", &out));
    }
}

/// Makes an environment with the wheel, and with what the environment of the peers has.
fn install(project: &Project, place: &Path, wheel: &Path) -> Result<()> {
    let python = place.join(PYTHON);
    said(project.python("-m venv --clear --without-pip").arg(place))?;
    let mut pip = project.python("-m pip --quiet --disable-pip-version-check --python");
    said(pip.arg(&python).args(["install", "--no-deps"]).arg(wheel))?;
    let peers = said(project.python("-c").arg(PACKAGES))?;
    let own = said(project.python_at(&python, "-c").arg(PACKAGES))?;
    fs::write(Path::new(&own).join("peers.pth"), format!("{peers}\n"))?;
    Ok(())
}

/// The Python of an environment with schemathesis, which asks a server for what its description
/// says. It is made when it is needed.
///
/// # Errors
/// Why there is none: no Python, or no network.
pub(super) fn schemathesis(project: &Project) -> Result<PathBuf> {
    let place = project.target.join("schemathesis");
    let python = place.join(PYTHON);
    if !runs(
        &python,
        &["-c", "import openapi_spec_validator, schemathesis"],
    ) {
        said(project.python_at("python3", "-m venv --clear").arg(&place))?;
        let install = "-m pip --quiet --disable-pip-version-check install --only-binary :all:";
        let mut pip = project.python_at(&python, install);
        said(pip.args(["--requirement", ".ci/schemathesis.txt"]))?;
    }
    Ok(python)
}

#[cfg(test)]
mod tests {
    use super::size;
    use std::path::Path;

    #[test]
    fn a_size_is_said_in_tenths_of_a_million_bytes() {
        let path = std::env::temp_dir().join(format!("wheel-{}", std::process::id()));
        std::fs::write(&path, vec![0; 2_360_000]).expect("a file");
        let said = size(&path);
        std::fs::remove_file(&path).expect("the file is there");
        assert_eq!(said.unwrap(), "the wheel has 2.3 MB");
        assert!(size(Path::new("/no/wheel")).is_err());
    }
}
