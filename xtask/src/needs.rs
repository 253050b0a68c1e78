//! What some tests need of the machine, and whether it is there.
//!
//! A test says what it needs by its name: `needs_data`, `needs_python`, `needs_sklearn`,
//! `needs_mpi`, `needs_hosts`, `needs_chromium`, `needs_cc`.
//! Where the need is missing the test is left out, and that is said; in CI it is a failure.

use crate::source::ProjectTree;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Something that tests may need.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// The part of a test's name that says it.
    pub(crate) marker: &'static str,
    /// Why it counts as missing.
    pub(crate) missing: String,
    /// The tests that need it.
    pub(crate) tests: Vec<String>,
}

const NAMES: [(&str, &str); 7] = [
    ("data", "needs_data"),
    ("python", "needs_python"),
    ("scikit-learn", "needs_sklearn"),
    ("mpi", "needs_mpi"),
    ("chromium", "needs_chromium"),
    ("hosts", "needs_hosts"),
    ("cc", "needs_cc"),
];

/// Plays two machines for a moment: namespaces of their own, and a cable.
const HOSTS: [&str; 9] = [
    "--net",
    "--mount",
    "--uts",
    "--pid",
    "--fork",
    "--mount-proc",
    "sh",
    "-c",
    "mount --make-rprivate / && ip link add cable0 type veth peer name cable1",
];

/// Where `.ci/run` puts MPI libraries, below the folder of what is built.
const MPI: [&str; 2] = [
    "mpi/mpich/lib/libmpi_abi.so.1",
    "mpi/impi-rt/lib/libmpi_abi.so.1",
];

/// What the machine offers to tests.
#[derive(Debug)]
pub(crate) struct TestMachine {
    data: PathBuf,
    python: OsString,
    /// Paths of MPI libraries, as `MOTET_MPI` lists them.
    mpi: OsString,
    chromium: OsString,
    /// What gives a program namespaces of its own.
    unshare: OsString,
    cc: OsString,
}

impl TestMachine {
    /// The machine as the environment describes it: `MOTET_DATA`, else `../shared/data`;
    /// `MOTET_PYTHON`, else the environment of the benchmarks' peers, else `python3`; `MOTET_MPI`,
    /// else the libraries that are where `.ci/run` puts them; `MOTET_CHROMIUM`, else `chromium`.
    pub(crate) fn of_environment(root: &Path, target: &Path) -> TestMachine {
        let peers = target.join("peers/bin/python");
        TestMachine {
            data: std::env::var_os("MOTET_DATA")
                .map_or_else(|| root.join("../shared/data"), PathBuf::from),
            python: std::env::var_os("MOTET_PYTHON").unwrap_or_else(|| {
                if peers.exists() {
                    peers.into()
                } else {
                    "python3".into()
                }
            }),
            mpi: std::env::var_os("MOTET_MPI").unwrap_or_else(|| {
                let there = MPI.iter().map(|path| target.join(path));
                let there = there.filter(|path| path.exists());
                std::env::join_paths(there).unwrap_or_default()
            }),
            chromium: std::env::var_os("MOTET_CHROMIUM").unwrap_or_else(|| "chromium".into()),
            unshare: "unshare".into(),
            cc: std::env::var_os("CC").unwrap_or_else(|| "cc".into()),
        }
    }

    /// The MPI libraries that tests should use.
    pub(crate) fn mpi(&self) -> &OsString {
        &self.mpi
    }

    /// The browser that tests should use.
    pub(crate) fn chromium(&self) -> &OsString {
        &self.chromium
    }

    /// The Python that tests should use.
    pub(crate) fn python(&self) -> &OsString {
        &self.python
    }

    /// The needs of tests below `folder` that the machine does not meet.
    pub(crate) fn missing(&self, tree: &ProjectTree, folder: &str) -> Vec<Need> {
        let needs = NAMES
            .iter()
            .map(|(name, marker)| (name, marker, tests_named(tree, folder, marker)));
        needs
            .filter(|(.., tests)| !tests.is_empty())
            .filter_map(|(name, marker, tests)| {
                Some(Need {
                    name,
                    marker,
                    missing: self.lacks(name)?,
                    tests,
                })
            })
            .collect()
    }

    /// Why the machine lacks the need; `None` when it does not.
    fn lacks(&self, need: &str) -> Option<String> {
        let python = self.python.to_string_lossy();
        match need {
            "data" => (!self.data.is_dir())
                .then(|| format!("there is no folder {}; set MOTET_DATA", self.data.display())),
            "chromium" => (!runs(&self.chromium, &["--version"])).then(|| {
                let chromium = self.chromium.to_string_lossy();
                format!("`{chromium}` does not run; run `.ci/run` once or set MOTET_CHROMIUM")
            }),
            "python" => (!self.python_runs("pass"))
                .then(|| format!("`{python}` does not run; install Python or set MOTET_PYTHON")),
            "mpi" => self.mpi_lacks(),
            "cc" => (!runs(&self.cc, &["--version"])).then(|| {
                let cc = self.cc.to_string_lossy();
                format!("`{cc}` does not run; install a C compiler or set CC")
            }),
            "hosts" => (!runs(&self.unshare, &HOSTS)).then(|| {
                "this machine cannot play two; that needs root, `unshare` (util-linux) and `ip` (iproute2)".to_owned()
            }),
            _ => (!self.python_runs("import sklearn")).then(|| {
                format!("`{python}` has no scikit-learn; run `.ci/run` once or set MOTET_PYTHON")
            }),
        }
    }

    fn mpi_lacks(&self) -> Option<String> {
        let mut libraries = std::env::split_paths(&self.mpi)
            .filter(|path| !path.as_os_str().is_empty())
            .peekable();
        if libraries.peek().is_none() {
            return Some("none is named; run `.ci/run` once or set MOTET_MPI".to_owned());
        }
        let missing = libraries.find(|path| !path.exists())?;
        let missing = missing.display();
        Some(format!(
            "there is no {missing}; run `.ci/run` once or set MOTET_MPI"
        ))
    }

    /// Whether that Python runs these lines and ends well.
    pub(crate) fn python_runs(&self, program: &str) -> bool {
        runs(&self.python, &["-c", program])
    }
}

/// Whether a program runs with these arguments and ends well.
fn runs(program: &OsStr, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether `name` is a need that the command line may call optional.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.iter().any(|(known, _)| *known == name)
}

/// The tests below `folder` whose names hold `marker`.
pub(crate) fn tests_named(tree: &ProjectTree, folder: &str, marker: &str) -> Vec<String> {
    let sources = tree
        .rust()
        .filter(|(file, _)| file.path.starts_with(folder));
    let tests = sources.flat_map(|(_, rust)| &rust.functions);
    tests
        .filter(|function| function.is_test && function.name.contains(marker))
        .map(|test| test.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "#[test]\nfn blocks_needs_data() {}\n#[test]\nfn peer_needs_sklearn() {}\n#[test]\nfn needs_mpi_ping() {}\n#[test]\nfn page_needs_chromium() {}\n#[test]\nfn needs_hosts_cut() {}\n#[test]\nfn needs_cc_port() {}\nfn needs_python() {}";

    fn machine(data: &str, python: &str, mpi: &str) -> TestMachine {
        TestMachine {
            data: data.into(),
            python: python.into(),
            mpi: mpi.into(),
            // Whatever stands for Python stands for the browser too.
            chromium: python.into(),
            // As Python: a program that does what it is told, or is not there.
            unshare: python.into(),
            cc: python.into(),
        }
    }

    fn missing(machine: &TestMachine, folder: &str) -> Vec<&'static str> {
        let tree = ProjectTree::of(&[("crates/a/tests/t.rs", CODE)]);
        machine
            .missing(&tree, folder)
            .iter()
            .map(|need| need.name)
            .collect()
    }

    #[test]
    fn only_needs_that_some_test_has_are_missed() {
        let bare = machine("/nowhere", "/nowhere/python3", "");
        assert_eq!(
            missing(&bare, ""),
            ["data", "scikit-learn", "mpi", "chromium", "hosts", "cc"]
        );
        assert!(missing(&bare, "crates/b/").is_empty());
    }

    #[test]
    fn a_machine_that_has_everything_misses_nothing() {
        // `true` stands for a Python that runs any program.
        assert!(missing(&machine(".", "true", ".:.."), "").is_empty());
        assert_eq!(
            missing(&machine(".", "false", ".:.."), ""),
            ["scikit-learn", "chromium", "hosts", "cc"]
        );
    }

    #[test]
    fn every_mpi_library_that_is_named_must_be_there() {
        let one = machine(".", "true", ".:/nowhere.so");
        assert_eq!(missing(&one, ""), ["mpi"]);
        let reason = one.lacks("mpi").unwrap();
        assert!(reason.starts_with("there is no /nowhere.so"), "{reason}");
    }

    #[test]
    fn only_known_names_may_be_optional() {
        let known = ["data", "scikit-learn", "mpi", "hosts", "chromium", "cc"];
        assert!(known.into_iter().all(is_known) && !is_known("sklearn"));
    }
}
