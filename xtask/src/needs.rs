//! What some tests need of the machine, and whether it is there.
//!
//! A test says what it needs by its name: `needs_data`, `needs_python`, `needs_sklearn`,
//! `needs_mpi`, `needs_hosts`, `needs_chromium`, `needs_cc`.
//! Where the need is missing the test is left out, and that is said; in CI it is a failure.

use crate::said::runs;
use crate::source::ProjectTree;
use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Something that tests need and the machine lacks.
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

/// What tests may need: its name on the command line, and the part of a test's name that says it.
pub(crate) const NEEDS: [(&str, &str); 7] = [
    ("data", "needs_data"),
    ("python", "needs_python"),
    ("scikit-learn", "needs_sklearn"),
    ("mpi", "needs_mpi"),
    ("chromium", "needs_chromium"),
    ("hosts", "needs_hosts"),
    ("cc", "needs_cc"),
];

/// Plays two machines for a moment: namespaces of their own, and a cable.
const HOSTS: &str = "exec unshare --net --mount --uts --pid --fork --mount-proc sh -c \
    'mount --make-rprivate / && ip link add cable0 type veth peer name cable1'";

/// Where `.ci/run` puts MPI libraries, below the folder of what is built.
const MPI: [&str; 2] = [
    "mpi/mpich/lib/libmpi_abi.so.1",
    "mpi/impi-rt/lib/libmpi_abi.so.1",
];

/// What the machine offers to tests.
#[derive(Debug)]
pub(crate) struct TestMachine {
    data: OsString,
    /// The Python that tests should use.
    pub(crate) python: OsString,
    /// The MPI libraries that tests should use, as `MOTET_MPI` lists them.
    pub(crate) mpi: OsString,
    chromium: OsString,
    /// What runs [`HOSTS`].
    shell: OsString,
    cc: OsString,
}

impl TestMachine {
    /// The machine as the environment describes it:
    /// - `MOTET_DATA`, else `../shared/data`;
    /// - `MOTET_PYTHON`, else the environment of the benchmarks' peers, else `python3`;
    /// - `MOTET_MPI`, else the libraries that are where `.ci/run` puts them;
    /// - `MOTET_CHROMIUM`, else `chromium`.
    pub(crate) fn of_environment(root: &Path, target: &Path) -> TestMachine {
        let said = |name| env::var_os(name).filter(|value| !value.is_empty());
        let stated = |name, other| said(name).unwrap_or(other);
        let peers = Some(target.join("peers/bin/python").into());
        let peers = peers.filter(|python: &OsString| Path::new(python).exists());
        let there = MPI.iter().map(|path| target.join(path));
        let there = env::join_paths(there.filter(|path| path.exists()));
        TestMachine {
            data: stated("MOTET_DATA", root.join("../shared/data").into()),
            python: stated("MOTET_PYTHON", peers.unwrap_or_else(|| "python3".into())),
            mpi: stated("MOTET_MPI", there.unwrap_or_default()),
            chromium: stated("MOTET_CHROMIUM", "chromium".into()),
            shell: "sh".into(),
            cc: stated("CC", "cc".into()),
        }
    }

    /// Tells tests that the command runs what they should use.
    pub(crate) fn tell<'a>(&self, tests: &'a mut Command) -> &'a mut Command {
        tests
            .env("MOTET_PYTHON", &self.python)
            .env("MOTET_MPI", &self.mpi)
            .env("MOTET_CHROMIUM", &self.chromium)
            .env("PYTHONFAULTHANDLER", "1")
    }

    /// The needs of tests below `folder` that the machine does not meet.
    pub(crate) fn missing(&self, tree: &ProjectTree, folder: &str) -> Vec<Need> {
        let missing = NEEDS.into_iter().filter_map(|(name, marker)| {
            let tests = tests_named(tree, folder, marker);
            let missing = (!tests.is_empty()).then(|| self.lacks(name))??;
            Some(Need {
                name,
                marker,
                missing,
                tests,
            })
        });
        missing.collect()
    }

    /// Why the machine lacks the need; `None` when it does not.
    fn lacks(&self, need: &str) -> Option<String> {
        let (program, words) = match need {
            "data" => return self.lacks_data(),
            "mpi" => return self.lacks_mpi(),
            "python" => (&self.python, &["-c", "pass"][..]),
            "scikit-learn" => (&self.python, &["-c", "import sklearn"][..]),
            "chromium" => (&self.chromium, &["--version"][..]),
            "cc" => (&self.cc, &["--version"][..]),
            _ => (&self.shell, &["-c", HOSTS][..]),
        };
        let lacks = match need {
            "python" => "does not run; install Python or set MOTET_PYTHON",
            "scikit-learn" => "has no scikit-learn; run `.ci/run` once or set MOTET_PYTHON",
            "chromium" => "does not run; run `.ci/run` once or set MOTET_CHROMIUM",
            "cc" => "does not run; install a C compiler or set CC",
            _ => "cannot play two machines; that needs root, util-linux and `ip` (iproute2)",
        };
        (!runs(program, words)).then(|| format!("`{}` {lacks}", program.display()))
    }

    fn lacks_data(&self) -> Option<String> {
        let data = Path::new(&self.data);
        let lacks = || format!("there is no folder {}; set MOTET_DATA", data.display());
        (!data.is_dir()).then(lacks)
    }

    fn lacks_mpi(&self) -> Option<String> {
        let lacks = match env::split_paths(&self.mpi).find(|path| !path.exists()) {
            _ if self.mpi.is_empty() => "none is named".to_owned(),
            Some(missing) => format!("there is no {}", missing.display()),
            None => return None,
        };
        Some(format!("{lacks}; run `.ci/run` once or set MOTET_MPI"))
    }

    /// Whether that Python runs these lines and ends well.
    pub(crate) fn has(&self, program: &str) -> bool {
        runs(&self.python, &["-c", program])
    }
}

/// The tests below `folder` whose names hold `marker`.
pub(crate) fn tests_named(tree: &ProjectTree, folder: &str, marker: &str) -> Vec<String> {
    let sources = tree
        .rust()
        .filter(|(file, _)| file.path.starts_with(folder));
    let tests = sources.flat_map(|(_, rust)| &rust.functions);
    let tests = tests.filter(|function| function.is_test && function.name.contains(marker));
    tests.map(|test| test.name.clone()).collect()
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
            shell: python.into(),
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
}
