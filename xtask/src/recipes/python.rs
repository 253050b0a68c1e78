//! The Python package: its wheel is built, installed into an environment of its own, and tested
//! there.

use super::project::{Project, Scope};
use crate::needs::TestMachine;
use crate::runner::Runner;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What builds and tests the package; the environment of the peers has it.
const TOOLS: &str = "import maturin, mypy, pytest, ruff, sklearn";

/// What some tests and the pages of the documentation need beside that.
const LIBRARIES: &str = "import furo, hmmlearn, matplotlib, myst_parser, pandas, polars, pyarrow, \
                         sphinxcontrib.programoutput, tqdm";

/// Builds the wheel, as the tests are built, installs it and runs its tests, its examples and its
/// checks.
pub(super) fn step(
    runner: &mut Runner,
    project: &Project,
    scope: Scope<'_>,
    machine: &TestMachine,
    strict: bool,
) {
    if let Some((place, wheel)) = installed(runner, project, scope, machine, strict) {
        let whole = complete(runner, &place, strict);
        checks(runner, project, machine, &place);
        if whole {
            documents(runner, project, machine, &place);
        }
        abi(runner, machine, &wheel);
    }
}

/// Builds and installs the wheel, and runs the tests of which the gate leaves out a part.
pub(super) fn deep(
    runner: &mut Runner,
    project: &Project,
    scope: Scope<'_>,
    machine: &TestMachine,
) {
    let Some((place, _)) = installed(runner, project, scope, machine, false) else {
        return;
    };
    let mut tests = Command::new(place.join("bin/python"));
    tests
        .args(["-m", "pytest", "-q", "-s", "-c", "python/pyproject.toml"])
        .arg("python/tests/test_mpi4py_suite.py")
        .env("MOTET_MPI", machine.mpi())
        .env("MOTET_DEEP", "1")
        .current_dir(&project.root);
    runner.command("mpi4py's tests", &mut tests, None);
}

/// An environment with the wheel, and the wheel; `None` when there is none, which has been told.
fn installed(
    runner: &mut Runner,
    project: &Project,
    scope: Scope<'_>,
    machine: &TestMachine,
    strict: bool,
) -> Option<(PathBuf, PathBuf)> {
    if !matches!(scope, Scope::Workspace) {
        return None;
    }
    let tools = Command::new(machine.python())
        .args(["-c", TOOLS])
        .stderr(Stdio::null())
        .status();
    if !tools.is_ok_and(|status| status.success()) {
        let python = machine.python().to_string_lossy();
        let lacks = format!("`{python}` has no maturin, pytest or ruff; run `.ci/run` once");
        match strict {
            true => {
                runner.check("python", "the Python package", || Err(vec![lacks]));
            }
            false => runner.skip("python", &lacks),
        }
        return None;
    }
    let (wheels, place) = (project.target.join("wheels"), project.target.join("python"));
    // An older one would be installed beside it. There may be none.
    let _ = fs::remove_dir_all(&wheels);
    let mut build = Command::new(machine.python());
    build
        .args(["-m", "maturin", "build", "--profile", "dev", "--out"])
        .arg(&wheels)
        .current_dir(project.root.join("python"));
    if !runner.command("python wheel", &mut build, None) {
        return None;
    }
    let wheel = only_file(&wheels)?;
    let is_there = runner.check("python install", "an environment with the wheel", || {
        install(machine, &place, &wheel)
            .and_then(|()| size(&wheel))
            .map(|size| vec![size])
            .map_err(|fault| vec![fault])
    });
    is_there.then_some((place, wheel))
}

/// A line that says how large the wheel is, in MB of a million bytes.
fn size(wheel: &Path) -> Result<String, String> {
    let bytes = fs::metadata(wheel)
        .map_err(|fault| format!("`{}`: {fault}", wheel.display()))?
        .len();
    let (whole, tenths) = (bytes / 1_000_000, bytes / 100_000 % 10);
    Ok(format!("the wheel has {whole}.{tenths} MB"))
}

/// The extension calls only what every Python from 3.10 on has.
fn abi(runner: &mut Runner, machine: &TestMachine, wheel: &Path) {
    if !machine.python_runs("import abi3audit") {
        runner.skip("python abi", "there is no abi3audit; run `.ci/run` once");
        return;
    }
    let mut audit = Command::new(machine.python());
    audit.args(["-m", "abi3audit", "--strict"]).arg(wheel);
    runner.command("python abi", &mut audit, None);
}

/// Tests of the package as it is installed at `place`, and what looks at its text.
fn checks(runner: &mut Runner, project: &Project, machine: &TestMachine, place: &Path) {
    let python = place.join("bin/python");
    let mut tests = Command::new(&python);
    tests
        .args(["-m", "pytest", "-q", "-c", "python/pyproject.toml"])
        .arg("python/tests")
        .env("MOTET_MPI", machine.mpi())
        .current_dir(&project.root);
    runner.command("python tests", &mut tests, None);
    let mut examples = Command::new(&python);
    examples
        .args([
            "-m",
            "pytest",
            "-q",
            "--doctest-modules",
            "--pyargs",
            "motet",
        ])
        .current_dir(place);
    runner.command("python examples", &mut examples, None);
    let mut style = Command::new(machine.python());
    style
        .args(["-m", "ruff", "check", "--no-cache", "python"])
        .current_dir(&project.root);
    runner.command("python style", &mut style, None);
    let mut types = Command::new(machine.python());
    types
        .args(["-m", "mypy", "--ignore-missing-imports", "--cache-dir"])
        .arg(project.target.join("mypy"))
        .arg("python/motet")
        .current_dir(&project.root);
    runner.command("python types", &mut types, None);
}

/// Whether all is there that tests and documentation would leave out where it is missing.
fn complete(runner: &mut Runner, place: &Path, strict: bool) -> bool {
    let name = "python libraries";
    let asked = Command::new(place.join("bin/python"))
        .args(["-c", LIBRARIES])
        .output();
    let missing = match asked {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(fault) => fault.to_string(),
    };
    let missing = missing.lines().next_back().unwrap_or_default().to_owned();
    let lacks = format!("{missing}; run `.ci/run` once, which installs `.ci/peers.txt`");
    match strict {
        true => {
            runner.check(name, "what Python's tests and pages need", || {
                Err(vec![lacks])
            });
        }
        false => runner.skip(name, &lacks),
    }
    false
}

/// The documentation of both languages: its pages, pictures and examples. Warnings are errors.
fn documents(runner: &mut Runner, project: &Project, machine: &TestMachine, place: &Path) {
    let python = place.join("bin/python");
    let site = project.target.join("site");
    let library = machine.mpi().to_string_lossy().into_owned();
    let library = library.split(':').next().unwrap_or_default().to_owned();
    let sphinx = |builder: &str, out: &Path, fresh: bool| {
        let mut sphinx = Command::new(&python);
        sphinx.args(["-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder]);
        if fresh {
            sphinx.arg("-E");
        }
        sphinx
            .arg("-d")
            .arg(site.join(".doctrees"))
            .arg("docs")
            .arg(out);
        sphinx
            .env("MOTET_MPI_LIB", &library)
            .current_dir(&project.root);
        sphinx
    };
    if runner.command("python docs", &mut sphinx("html", &site, true), None) {
        let out = project.target.join("site-examples");
        runner.command("docs examples", &mut sphinx("doctest", &out, false), None);
    }
}

/// Makes an environment with the wheel, and with what the environment of the peers has.
fn install(machine: &TestMachine, place: &Path, wheel: &Path) -> Result<(), String> {
    let base = machine.python();
    let run = |command: &mut Command| -> Result<String, String> {
        let output = command.output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let mut venv = Command::new(base);
    venv.args(["-m", "venv", "--clear", "--without-pip"]);
    run(venv.arg(place))?;
    let mut pip = Command::new(base);
    pip.args([
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "--python",
    ]);
    run(pip
        .arg(place.join("bin/python"))
        .args(["install", "--no-deps"])
        .arg(wheel))?;
    const PLACE: &str = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let of = |python: &Path| run(Command::new(python).args(["-c", PLACE]));
    let (peers, own) = (of(Path::new(base))?, of(&place.join("bin/python"))?);
    let link = Path::new(&own).join("peers.pth");
    fs::write(link, format!("{peers}\n")).map_err(|error| error.to_string())
}

/// The one file in a folder.
fn only_file(folder: &Path) -> Option<PathBuf> {
    let mut files = fs::read_dir(folder).ok()?;
    Some(files.next()?.ok()?.path())
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
        assert_eq!(said.as_deref(), Ok("the wheel has 2.3 MB"));
        assert!(size(Path::new("/no/wheel")).is_err());
    }
}
