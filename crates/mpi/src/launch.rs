//! The line that starts a program on threads × processes × nodes (papers' t × m × n).
//!
//! Each MPI library brings its own `mpiexec`; this module knows the options of those whose
//! libraries have the standard ABI. A batch script for Slurm holds the same line: the launchers
//! find the nodes of the job by themselves.

mod program_part;

pub use program_part::ProgramPart;

use crate::error::MpiError;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program on `threads` × `processes` × `nodes`, or several programs that are one world.
///
/// ```
/// use motet_mpi::{Family, Launch};
///
/// let launch = Launch {
///     threads: 1,
///     processes: 2,
///     ..Launch::new(Family::Mpich, "/opt/mpich/lib/libmpi_abi.so.1", "/opt/mpich/bin/mpiexec")
/// };
/// let line = launch.line(&["prog".into()]);
/// assert_eq!(line[0], "/opt/mpich/bin/mpiexec");
/// assert_eq!(line.last().unwrap(), "prog");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Ranks of a process, one thread each.
    pub threads: usize,
    /// Processes on each node.
    pub processes: usize,
    /// Nodes.
    pub nodes: usize,
    /// The file with the names of the nodes; without one the batch system's, else this machine.
    pub hostfile: Option<PathBuf>,
    /// The program that starts processes on other nodes, in place of ssh. It is given options that
    /// begin with a dash, the name of the node, and the words of a command for a shell there.
    /// Launchers of [`Family::Other`] do not get it: the standard has no option for it.
    pub launcher_exec: Option<PathBuf>,
    /// Processors of a node for all its processes; 0: not known. With enough of them each process
    /// gets its own.
    pub cores: usize,
    /// Whose launcher it is.
    pub family: Family,
    /// How often the program is to print who waits for whom.
    pub why: Option<Duration>,
    /// The share of a run, in percent, that ranks which compute longer than others may take before
    /// the program tells it.
    pub balance: Option<f64>,
    /// The MPI library that the program is to open.
    pub library: PathBuf,
    /// The launcher.
    pub mpiexec: PathBuf,
    /// What each process runs under: the words before its program.
    pub under: Vec<OsString>,
    /// The programs beside the first one, to which `threads` and `processes` belong.
    pub others: Vec<ProgramPart>,
    /// The folder where nodes of the run's mesh meet. In a batch script: a folder of all machines,
    /// in which the job makes that one, and removes it at its end.
    pub mesh: Option<PathBuf>,
}

/// Whose MPI library it is: what its launcher understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// MPICH.
    Mpich,
    /// Intel MPI.
    Intel,
    /// Another one: it gets the options of the standard only.
    Other,
}

/// Tells a program how many ranks each of its processes has.
pub(crate) const THREADS: &str = "MOTET_THREADS";
/// Tells a program which MPI library to open.
pub(crate) const LIBRARY: &str = "MOTET_MPI_LIB";
/// Tells a program where the nodes of the run's mesh meet.
pub const MESH: &str = "MOTET_MESH";
/// The file in that folder that says that the run is on several machines.
pub const MACHINES: &str = "machines";
/// Tells a program how often it is to print who waits for whom, in seconds.
const WHY: &str = "MOTET_WHY";
/// Tells a program what imbalance it is to tell, in percent of a run.
const BALANCE: &str = "MOTET_BALANCE";

impl Launch {
    /// One rank in one process on one node.
    pub fn new(family: Family, library: impl Into<PathBuf>, mpiexec: impl Into<PathBuf>) -> Launch {
        Launch {
            threads: 1,
            processes: 1,
            nodes: 1,
            hostfile: None,
            launcher_exec: None,
            cores: 0,
            why: None,
            balance: None,
            family,
            library: library.into(),
            mpiexec: mpiexec.into(),
            under: Vec::new(),
            others: Vec::new(),
            mesh: None,
        }
    }

    /// All processes.
    #[must_use]
    pub fn total(&self) -> usize {
        self.on_a_node() * self.nodes
    }

    /// The processes of all programs on each node.
    fn on_a_node(&self) -> usize {
        let others = self.others.iter().map(|part| part.processes);
        self.processes + others.sum::<usize>()
    }

    /// The most threads that a process has.
    fn most_threads(&self) -> usize {
        let others = self.others.iter().map(|part| part.threads);
        others.fold(self.threads, usize::max)
    }

    /// What every process needs to know, by the names of environment variables. An empty path is no
    /// library: a process by itself needs none.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = Vec::new();
        if self.others.is_empty() {
            // Of several programs each is told its own.
            variables.push((THREADS, self.threads.to_string().into()));
        }
        if !self.library.as_os_str().is_empty() {
            variables.push((LIBRARY, self.library.clone().into_os_string()));
        }
        if let Some(why) = self.why {
            variables.push((WHY, why.as_secs_f64().to_string().into()));
        }
        if let Some(percent) = self.balance {
            variables.push((BALANCE, format!("{percent}%").into()));
        }
        if let Some(folder) = &self.mesh {
            variables.push((MESH, folder.clone().into_os_string()));
        }
        if self.family == Family::Intel {
            // Without it the library does not find its parts.
            if let Some(root) = self.mpiexec.parent().and_then(Path::parent) {
                variables.push(("I_MPI_ROOT", root.as_os_str().to_owned()));
            }
            match self.binds() {
                true => {
                    let threads = self.most_threads().to_string();
                    variables.push(("I_MPI_PIN_DOMAIN", threads.into()));
                }
                false => variables.push(("I_MPI_PIN", "0".into())),
            }
        }
        variables
    }

    /// The launcher with its arguments, then the program with its own; then the other programs.
    #[must_use]
    pub fn line(&self, program: &[OsString]) -> Vec<OsString> {
        let mut line = vec![self.mpiexec.clone().into_os_string()];
        let mut word = |word: &dyn AsRef<OsStr>| line.push(word.as_ref().to_owned());
        if self.family != Family::Other {
            if let Some(hostfile) = &self.hostfile {
                word(&"-f");
                word(hostfile);
            }
            if let Some(program) = &self.launcher_exec {
                let [by, of] = match self.family {
                    Family::Intel => ["-bootstrap", "-bootstrap-exec"],
                    _ => ["-launcher", "-launcher-exec"],
                };
                word(&by);
                word(&"ssh");
                word(&of);
                word(program);
            }
            word(&"-ppn");
            word(&self.on_a_node().to_string());
            for (name, value) in self.variables() {
                word(&"-genv");
                word(&name);
                word(&value);
            }
            if self.family == Family::Mpich && self.binds() {
                word(&"-bind-to");
                word(&format!("core:{}", self.most_threads()));
            }
        } else if let Some(hostfile) = &self.hostfile {
            word(&"--hostfile");
            word(hostfile);
        }
        if self.others.is_empty() {
            word(&"-n");
            word(&self.total().to_string());
            line.extend(self.under.iter().cloned());
            line.extend(program.iter().cloned());
        } else {
            line.extend(self.several(program));
        }
        line
    }

    /// The line as a shell reads it.
    #[must_use]
    pub fn shell_line(&self, program: &[OsString]) -> String {
        let words = self.line(program);
        words.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// A script for `sbatch`.
    #[must_use]
    pub fn batch_script(&self, program: &[OsString]) -> String {
        let mut script = String::from("#!/bin/sh\n#SBATCH --job-name=motet\n");
        for (option, value) in [
            ("nodes", self.nodes),
            ("ntasks-per-node", self.on_a_node()),
            ("cpus-per-task", self.most_threads()),
        ] {
            let _ = writeln!(script, "#SBATCH --{option}={value}");
        }
        if self.family == Family::Other {
            let here = |name: &str| name != MESH;
            for (name, value) in self.variables().iter().filter(|(name, _)| here(name)) {
                let _ = writeln!(script, "export {name}={}", quoted(value));
            }
        }
        if let Some(folder) = &self.mesh {
            // Launchers pass on what is exported. Its name is no secret: what lies in it is.
            let folder = quoted(&folder.clone().into_os_string());
            let _ = write!(
                script,
                "{MESH}={folder}/motet-mesh-$SLURM_JOB_ID\nexport {MESH}\n\
                 mkdir -m 700 \"${MESH}\" || exit 1\n: > \"${MESH}/{MACHINES}\"\n\
                 trap 'rm -rf \"${MESH}\"' EXIT\n"
            );
        }
        // The batch system gives as many processors as are asked for, and names the nodes.
        let inside = Launch {
            hostfile: None,
            launcher_exec: None,
            cores: self.most_threads() * self.on_a_node(),
            mesh: None,
            ..self.clone()
        };
        // The shell stays where it has something to remove.
        let exec = if self.mesh.is_some() { "" } else { "exec " };
        let _ = writeln!(script, "{exec}{}", inside.shell_line(program));
        script
    }

    /// Whether each process gets processors of its own.
    fn binds(&self) -> bool {
        self.most_threads() * self.on_a_node() <= self.cores
    }
}

impl Family {
    /// Whose library says this of itself.
    ///
    /// ```
    /// use motet_mpi::Family;
    ///
    /// assert_eq!(Family::of("MPICH Version: 5.0.2"), Family::Mpich);
    /// assert_eq!(Family::of("Intel(R) MPI Library 2021.18"), Family::Intel);
    /// ```
    #[must_use]
    pub fn of(version: &str) -> Family {
        if version.contains("Intel(R) MPI") {
            Family::Intel
        } else if version.contains("MPICH") {
            Family::Mpich
        } else {
            Family::Other
        }
    }

    /// The launcher that belongs to a library: in the `bin` beside the folder that holds it, or
    /// above.
    ///
    /// # Errors
    /// [`MpiError::NoLauncher`] with the places.
    pub fn launcher(self, library: &Path) -> Result<PathBuf, MpiError> {
        let names = match self {
            Family::Intel => ["mpiexec.hydra", "mpiexec"],
            Family::Mpich | Family::Other => ["mpiexec", "mpiexec.hydra"],
        };
        let library = std::path::absolute(library).unwrap_or_else(|_| library.to_owned());
        let above = library.ancestors().skip(2).take(3);
        let places: Vec<PathBuf> = above.map(|folder| folder.join("bin")).collect();
        let candidates = places
            .iter()
            .flat_map(|place| names.iter().map(|name| place.join(name)));
        candidates
            .into_iter()
            .find(|path| path.is_file())
            .ok_or(MpiError::NoLauncher {
                library,
                looked: places,
            })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Mpich => "MPICH",
            Family::Intel => "Intel MPI",
            Family::Other => "MPI",
        })
    }
}

/// A word as a shell reads it.
fn quoted(word: &OsString) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(family: Family) -> Launch {
        Launch {
            threads: 8,
            processes: 2,
            nodes: 4,
            ..Launch::new(family, "/m/lib/libmpi_abi.so.1", "/m/bin/mpiexec")
        }
    }

    fn program() -> Vec<OsString> {
        ["heat", "--name", "it's"].map(OsString::from).to_vec()
    }

    #[test]
    fn mpich_gets_its_options() {
        let line = launch(Family::Mpich).shell_line(&program());
        assert_eq!(
            line,
            "/m/bin/mpiexec -ppn 2 -genv MOTET_THREADS 8 -genv MOTET_MPI_LIB \
             /m/lib/libmpi_abi.so.1 -n 8 heat --name 'it'\\''s'"
        );
        let bound = Launch {
            cores: 16,
            hostfile: Some("hosts".into()),
            ..launch(Family::Mpich)
        };
        let line = bound.shell_line(&program());
        assert!(line.starts_with("/m/bin/mpiexec -f hosts -ppn 2"), "{line}");
        assert!(line.contains(" -bind-to core:8 -n 8 heat"), "{line}");
    }

    #[test]
    fn intel_is_told_its_root_and_how_to_pin() {
        let line = launch(Family::Intel).shell_line(&program());
        assert!(line.contains("-genv I_MPI_ROOT /m "), "{line}");
        assert!(line.contains("-genv I_MPI_PIN 0 "), "{line}");
        let bound = Launch {
            cores: 16,
            ..launch(Family::Intel)
        };
        let line = bound.shell_line(&program());
        assert!(line.contains("-genv I_MPI_PIN_DOMAIN 8 "), "{line}");
        assert!(!line.contains("bind-to"), "{line}");
    }

    #[test]
    fn sem_g497_a_program_in_place_of_ssh_is_named_to_each_launcher() {
        let by = |family| Launch {
            hostfile: Some("hosts".into()),
            launcher_exec: Some("/bin/reach".into()),
            ..launch(family)
        };
        let line = by(Family::Mpich).shell_line(&program());
        let told = " -f hosts -launcher ssh -launcher-exec /bin/reach -ppn 2 ";
        assert!(line.contains(told), "{line}");
        let line = by(Family::Intel).shell_line(&program());
        let told = " -f hosts -bootstrap ssh -bootstrap-exec /bin/reach -ppn 2 ";
        assert!(line.contains(told), "{line}");
        // In a job the batch system starts them.
        let script = by(Family::Mpich).batch_script(&program());
        assert!(!script.contains("reach"), "{script}");
    }

    #[test]
    fn others_get_what_the_standard_has() {
        let other = Launch {
            hostfile: Some("my hosts".into()),
            ..launch(Family::Other)
        };
        assert_eq!(
            other.shell_line(&["p".into()]),
            "/m/bin/mpiexec --hostfile 'my hosts' -n 8 p"
        );
        let script = other.batch_script(&["p".into()]);
        assert!(script.contains("\nexport MOTET_THREADS=8\n"), "{script}");
        let told = Launch {
            why: Some(Duration::from_millis(2500)),
            balance: Some(7.5),
            ..launch(Family::Mpich)
        };
        let line = told.shell_line(&["p".into()]);
        assert!(line.contains(" -genv MOTET_WHY 2.5 "), "{line}");
        assert!(line.contains(" -genv MOTET_BALANCE 7.5% "), "{line}");
    }

    #[test]
    fn a_batch_script_asks_for_what_the_run_needs() {
        let on_hosts = Launch {
            hostfile: Some("hosts".into()),
            ..launch(Family::Mpich)
        };
        let script = on_hosts.batch_script(&program());
        let expected = "#!/bin/sh\n#SBATCH --job-name=motet\n#SBATCH --nodes=4\n\
                        #SBATCH --ntasks-per-node=2\n#SBATCH --cpus-per-task=8\n\
                        exec /m/bin/mpiexec -ppn 2 -genv MOTET_THREADS 8 -genv MOTET_MPI_LIB \
                        /m/lib/libmpi_abi.so.1 -bind-to core:8 -n 8 heat --name 'it'\\''s'\n";
        assert_eq!(script, expected);
    }

    #[test]
    fn sem_g251_a_batch_script_makes_the_folder_of_the_mesh_and_removes_it() {
        for family in [Family::Mpich, Family::Other] {
            let shared = Launch {
                mesh: Some("/shared/it is".into()),
                ..launch(family)
            };
            let script = shared.batch_script(&program());
            let made = "\nMOTET_MESH='/shared/it is'/motet-mesh-$SLURM_JOB_ID\nexport MOTET_MESH\n\
                        mkdir -m 700 \"$MOTET_MESH\" || exit 1\n: > \"$MOTET_MESH/machines\"\n\
                        trap 'rm -rf \"$MOTET_MESH\"' EXIT\n/m/bin/mpiexec ";
            assert!(script.contains(made), "{script}");
            assert_eq!(script.matches("MOTET_MESH=").count(), 1, "{script}");
            let line = shared.variables();
            assert!(line.contains(&("MOTET_MESH", "/shared/it is".into())));
        }
    }

    #[test]
    fn the_launcher_is_beside_the_library_or_missing_by_name() {
        let at = std::env::temp_dir().join(format!("motet-launch-{}", std::process::id()));
        let library = at.join("lib/x86_64/libmpi_abi.so.1");
        std::fs::create_dir_all(at.join("bin")).unwrap();
        let missing = Family::Mpich.launcher(&library).unwrap_err().to_string();
        assert!(
            missing.contains("bin") && missing.contains("mpiexec"),
            "{missing}"
        );
        std::fs::write(at.join("bin/mpiexec"), "").unwrap();
        assert_eq!(Family::Mpich.launcher(&library), Ok(at.join("bin/mpiexec")));
        std::fs::write(at.join("bin/mpiexec.hydra"), "").unwrap();
        let intel = Family::Intel.launcher(&library);
        assert_eq!(intel, Ok(at.join("bin/mpiexec.hydra")));
        std::fs::remove_dir_all(at).unwrap();
    }
}
