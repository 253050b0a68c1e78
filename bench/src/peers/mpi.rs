//! MPI: C programs of the project's own (`peers/mpi`). They are built with each `mpicc` that is
//! found and run at each library's best setting. `peers/mpi/README.md` gives reasons for these
//! settings.

mod nodes;

pub(crate) use nodes::{NodeSpread, can_play};

use super::answering::Asked;
use super::workshop::{Workshop, printed, told};
use crate::program::WorkProgram;
use motet_mpi::LibrarySearch;
use motet_sync::thread;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// An installation of MPI with the programs built for it.
#[derive(Debug)]
pub(crate) struct Mpi {
    /// Library and version, as rows name it.
    pub(crate) name: &'static str,
    /// What the library says of itself.
    pub(crate) said: String,
    /// Whose it is, which the first run tells.
    family: Option<Family>,
    mpiexec: PathBuf,
    /// The built programs, in a folder that goes with this.
    shop: Workshop,
    /// Programs that have been asked, each with how many processes of it.
    running: Asked<(String, usize)>,
    /// The installation, for those that do not find their parts alone.
    prefix: Option<PathBuf>,
}

/// An installation that could not be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) name: String,
    pub(crate) reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Mpich,
    OpenMpi,
    Intel,
}

/// What a program prints.
#[derive(Debug, Deserialize)]
struct Measured {
    us: f64,
    #[serde(default)]
    work_us: f64,
    processes: usize,
    mpi: String,
}

/// Two commands that belong together.
#[derive(Debug, Clone)]
struct Tools {
    mpicc: PathBuf,
    mpiexec: PathBuf,
    prefix: Option<PathBuf>,
}

/// So many programs of a library sleep beside each other at most.
const ASLEEP: usize = 12;

const SOURCES: [(&str, &str); 5] = [
    ("peer.h", include_str!("../../peers/mpi/peer.h")),
    ("stages.c", include_str!("../../peers/mpi/stages.c")),
    (
        "collectives.c",
        include_str!("../../peers/mpi/collectives.c"),
    ),
    ("bandwidth.c", include_str!("../../peers/mpi/bandwidth.c")),
    ("windows.c", include_str!("../../peers/mpi/windows.c")),
];

impl Mpi {
    /// Builds the programs with every `mpicc` of these installations (folders with `bin`), of the
    /// search path and of Debian, each library once.
    pub(crate) fn all(prefixes: &[PathBuf]) -> (Vec<Mpi>, Vec<Absent>) {
        let mut found: Vec<Mpi> = Vec::new();
        let mut absent = Vec::new();
        for tools in tools(prefixes) {
            let name = tools.mpicc.display().to_string();
            match Mpi::build(&tools) {
                Ok(mpi) if found.iter().any(|other| other.name == mpi.name) => {}
                Ok(mpi) => found.push(mpi),
                Err(reason) => absent.push(Absent { name, reason }),
            }
        }
        (found, absent)
    }

    fn build(tools: &Tools) -> Result<Mpi, String> {
        let mut mpi = Mpi {
            name: "MPI",
            said: String::new(),
            family: None,
            mpiexec: tools.mpiexec.clone(),
            shop: Workshop::new("mpi", &SOURCES)?,
            running: Asked::at_most(ASLEEP),
            prefix: tools.prefix.clone(),
        };
        for program in ["stages", "collectives", "bandwidth", "windows"] {
            let mut command = Command::new(&tools.mpicc);
            command.args(["-O3", "-o", program, &format!("{program}.c")]);
            mpi.in_place(&mut command);
            mpi.shop.build(&mut command)?;
        }
        let mut command = mpi.start((1, 1), &mpi.file("collectives"));
        command.args(["barrier", "1", "1"]);
        let told: Measured = printed(command, "collectives")?;
        let (family, name) = identified(&told.mpi)
            .ok_or_else(|| format!("nobody knows the best setting of {}", told.mpi))?;
        (mpi.family, mpi.name) = (Some(family), name);
        mpi.said = told.mpi;
        Ok(mpi)
    }

    /// The time of a round of a program, in µs. Its last argument is the time that all of them
    /// together are to last: it fits their number when it is warm.
    pub(crate) fn run(
        &self,
        program: &str,
        processes: usize,
        arguments: &[String],
    ) -> Result<f64, String> {
        let measured = self.checked(program, processes, arguments)?;
        Ok(measured.us)
    }

    /// The time of a stage of this program, and of its work alone, in µs, with a process for each
    /// computation.
    pub(crate) fn stages(
        &self,
        program: &WorkProgram,
        budget_us: f64,
    ) -> Result<(f64, f64), String> {
        let arguments = [
            program.pattern.name().to_owned(),
            program.work.count.to_string(),
            program.work.unit.terms().to_string(),
            budget_us.to_string(),
        ];
        let measured = self.checked("stages", program.parallel, &arguments)?;
        Ok((measured.us, measured.work_us))
    }

    /// What a program measures on so many processes, which stay and answer again.
    fn checked(
        &self,
        program: &str,
        processes: usize,
        arguments: &[String],
    ) -> Result<Measured, String> {
        let asked = (program.to_owned(), processes);
        let start = || self.start((1, processes), &self.file(program));
        let answer = self.running.ask(asked, &arguments.join(" "), start)?;
        told::<Measured>(&answer)?.of(processes)
    }

    /// The library with the standard ABI, if the installation has one.
    pub(crate) fn library(&self) -> Option<PathBuf> {
        LibrarySearch::named(self.prefix.clone()?).find().ok()
    }

    /// The time of a round of motet's own program on processes of this library, with so many ranks
    /// in each of so many processes.
    pub(crate) fn run_motet(
        &self,
        motet: &Path,
        program: &str,
        (threads, processes): (usize, usize),
        budget_us: f64,
    ) -> Result<f64, String> {
        let library = self.library().ok_or("it has not the standard ABI")?;
        let mut command = self.start((threads, processes), &motet.display().to_string());
        command
            .args(["bench", "rank-program", program, &budget_us.to_string()])
            .env("MOTET_THREADS", threads.to_string())
            .env("MOTET_MPI_LIB", library);
        Ok(printed::<Measured>(command, "motet")?.of(processes)?.us)
    }

    /// A built program.
    fn file(&self, program: &str) -> String {
        self.shop.folder().join(program).display().to_string()
    }

    /// The line that starts a program on so many processes with so many threads each, but for its
    /// arguments.
    fn start(&self, (threads, processes): (usize, usize), program: &str) -> Command {
        let (options, variables) = match self.family {
            // A process would have one core for all its threads.
            Some(Family::Mpich) if threads > 1 => (Vec::new(), Vec::new()),
            Some(family) => setting(family, self.name, processes),
            None => (Vec::new(), Vec::new()),
        };
        let mut command = Command::new(&self.mpiexec);
        command
            .args(options)
            .args(["-n", &processes.to_string()])
            .arg(program)
            .envs(variables)
            // Open MPI asks twice before it starts anything for the system's administrator.
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        self.in_place(&mut command);
        command
    }

    /// Where the commands run, and what they need to know of the installation.
    fn in_place(&self, command: &mut Command) {
        command.current_dir(self.shop.folder());
        if let Some(prefix) = &self.prefix {
            command
                .env("I_MPI_ROOT", prefix)
                .env("LD_LIBRARY_PATH", prefix.join("lib"));
        }
    }
}

/// The line that starts so many processes of an Intel MPI, but for the program.
pub(super) fn intel(prefix: &Path, processes: usize) -> Command {
    let (options, variables) = setting(Family::Intel, "Intel MPI", processes);
    let mut command = Command::new(prefix.join("bin/mpiexec"));
    command
        .args(options)
        .args(["-n", &processes.to_string()])
        .envs(variables)
        .env("I_MPI_ROOT", prefix)
        .env("LD_LIBRARY_PATH", prefix.join("lib"));
    command
}

impl Measured {
    /// This, if as many processes have run as were to.
    fn of(self, processes: usize) -> Result<Measured, String> {
        if self.processes != processes {
            let ran = self.processes;
            return Err(format!("{ran} processes ran together, not {processes}"));
        }
        Ok(self)
    }
}

/// The compilers there may be, each with its launcher.
fn tools(prefixes: &[PathBuf]) -> Vec<Tools> {
    let mut tools: Vec<Tools> = prefixes
        .iter()
        .map(|prefix| {
            let prefix = fs::canonicalize(prefix).unwrap_or_else(|_| prefix.clone());
            Tools {
                mpicc: prefix.join("bin/mpicc"),
                mpiexec: prefix.join("bin/mpiexec"),
                prefix: Some(prefix),
            }
        })
        .collect();
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = |name: &str| {
        env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    };
    // Debian's names, then what the path has under the common one.
    for suffix in [".openmpi", ".mpich", ""] {
        let mpicc = on_path(&format!("mpicc{suffix}"));
        if let (Some(mpicc), Some(mpiexec)) = (mpicc, on_path(&format!("mpiexec{suffix}"))) {
            tools.push(Tools {
                mpicc,
                mpiexec,
                prefix: None,
            });
        }
    }
    tools
}

/// Whose library says this of itself, and what rows call it.
fn identified(version: &str) -> Option<(Family, &'static str)> {
    let major = version
        .split(|c: char| !c.is_ascii_digit())
        .find(|number| !number.is_empty())
        .unwrap_or_default();
    if version.contains("Intel(R) MPI") {
        return Some((Family::Intel, "Intel MPI"));
    }
    if version.contains("Open MPI") {
        let name = match major {
            "4" => "Open MPI 4",
            "5" => "Open MPI 5",
            _ => "Open MPI",
        };
        return Some((Family::OpenMpi, name));
    }
    version.contains("MPICH").then_some(match major {
        "4" => (Family::Mpich, "MPICH 4"),
        "5" => (Family::Mpich, "MPICH 5"),
        _ => (Family::Mpich, "MPICH"),
    })
}

/// The options of the launcher and the variables with which a library is fastest.
fn setting(
    family: Family,
    name: &str,
    processes: usize,
) -> (Vec<&'static str>, Vec<(&'static str, &'static str)>) {
    let fits = processes <= thread::cores();
    match family {
        Family::Mpich if fits => (vec!["-bind-to", "core"], Vec::new()),
        Family::Mpich => (Vec::new(), vec![("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")]),
        Family::OpenMpi => {
            let shared = if name.ends_with('4') {
                "self,vader"
            } else {
                "self,sm"
            };
            let bound = match fits {
                true => "--bind-to core",
                false => {
                    "--oversubscribe --mca mpi_yield_when_idle 1 --map-by core --bind-to core:overload-allowed"
                }
            };
            let mut options = vec!["--mca", "pml", "ob1", "--mca", "btl", shared];
            options.extend(bound.split(' '));
            (options, Vec::new())
        }
        Family::Intel => {
            let mut variables = vec![("I_MPI_FABRICS", "shm")];
            variables.push(match fits {
                true => ("I_MPI_PIN", "1"),
                false => ("I_MPI_SHM_RECV_SPIN_COUNT", "1"),
            });
            (Vec::new(), variables)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_what_they_say() {
        for (said, name) in [
            ("MPICH Version:      5.0.2", "MPICH 5"),
            ("MPICH Version: 4.0.2", "MPICH 4"),
            ("Open MPI v5.0.11", "Open MPI 5"),
            ("Open MPI v4.1.4", "Open MPI 4"),
            ("Intel(R) MPI Library 2021.18.1 for Linux* OS", "Intel MPI"),
        ] {
            assert_eq!(identified(said).unwrap().1, name);
        }
        assert_eq!(identified("another one 1.0"), None);
    }

    #[test]
    fn an_installation_that_is_not_there_is_a_reason() {
        let (_, absent) = Mpi::all(&[PathBuf::from("/nowhere")]);
        let nowhere = absent.iter().find(|a| a.name == "/nowhere/bin/mpicc");
        assert!(nowhere.unwrap().reason.contains("does not run"));
    }

    #[test]
    fn a_time_of_other_processes_than_were_asked_for_is_refused() {
        let measured = |processes| Measured {
            us: 2.5,
            work_us: 0.0,
            processes,
            mpi: String::new(),
        };
        assert_eq!(measured(2).of(2).map(|measured| measured.us), Ok(2.5));
        // A library that was started by another one's launcher finds each process alone.
        let refused = measured(1).of(2).unwrap_err();
        assert_eq!(refused, "1 processes ran together, not 2");
    }

    #[test]
    fn more_processes_than_cores_give_way() {
        for family in [Family::Mpich, Family::OpenMpi, Family::Intel] {
            let few = setting(family, "", 1);
            assert_ne!(few, setting(family, "", thread::cores() + 1));
        }
    }
}
