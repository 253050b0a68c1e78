//! What can go wrong between processes: what, where, what to do.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How to get an MPI library, for messages.
pub(crate) const REMEDY: &str = "`pip install mpich` in a virtual environment brings one, which is found while that is active; \
     name any other with --mpi-lib";

/// Whether this program is linked statically in the way that keeps it from opening libraries.
pub(crate) const STATIC: bool = cfg!(all(target_env = "musl", target_feature = "crt-static"));

const NO_MPI: &str = "no MPI in this program: it is linked statically, and so cannot open a \
     library; use the program of the Python package, or one built by `cargo build --release`";

/// A call on MPI, or between processes over it, failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MpiError {
    /// No library is where libraries usually are.
    NotFound {
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// The file is no library that can be opened.
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// This program is linked statically, and such a program opens no libraries.
    Static,
    /// The library has not all of the MPI-5 standard ABI.
    NoAbi {
        /// The file.
        path: PathBuf,
        /// What is missing, or the version there is.
        problem: String,
    },
    /// The library has no `mpiexec` beside it.
    NoLauncher {
        /// The library.
        library: PathBuf,
        /// Where its launcher was looked for.
        looked: Vec<PathBuf>,
    },
    /// MPI was started before in this process, or has ended: it can be only once.
    Started,
    /// The library lets only the thread that started it call.
    WrongThread {
        /// The call.
        call: &'static str,
    },
    /// A call of the library failed.
    Call {
        /// The call.
        call: &'static str,
        /// Its error class, a number of the standard.
        class: i32,
        /// The library's words.
        text: String,
    },
    /// Something still uses the library: it ends when the last user does.
    InUse,
    /// MPI was left as it is: the thread that was to end it panics, and must not wait for others.
    NotEnded,
    /// There is no such process.
    NoSuchProcess {
        /// The process asked for.
        process: usize,
        /// Their number; they are numbered from 0.
        processes: usize,
    },
    /// A peer process has ended without saying so, or can no longer be reached.
    PeerLost {
        /// The process.
        process: usize,
        /// How that was seen.
        reason: String,
    },
    /// This process has closed: it can send nothing more.
    Closed,
    /// Processes have not closed within the time they had.
    Silent {
        /// The processes; none when all have closed and one of them cannot finish.
        processes: Vec<usize>,
        /// How long this one has waited for them.
        waited: Duration,
    },
    /// A message is not in the form that motet's processes use: another program sends on the
    /// communicator, or another version of motet.
    Malformed {
        /// The process that sent it.
        process: usize,
        /// Its bytes.
        bytes: usize,
    },
}

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MpiError::NotFound { looked } => {
                let places = listed(looked);
                write!(f, "no MPI library with the MPI-5 ABI in {places}: {REMEDY}")
            }
            MpiError::NoLauncher { library, looked } => write!(
                f,
                "no mpiexec for {} in {}: name a library that has its launcher beside it",
                library.display(),
                listed(looked)
            ),
            MpiError::Open { path, reason } => {
                let path = path.display();
                write!(f, "cannot open the MPI library {path}: {reason}: {REMEDY}")
            }
            MpiError::Static => f.write_str(NO_MPI),
            MpiError::NoAbi { path, problem } => {
                let path = path.display();
                write!(
                    f,
                    "{path} has not the MPI-5 standard ABI: {problem}: {REMEDY}"
                )
            }
            MpiError::Started => f.write_str(
                "MPI was started before in this process: start it once and share what it gives",
            ),
            MpiError::WrongThread { call } => write!(
                f,
                "{call} from a second thread: this MPI library allows only the one that started \
                 it; use one built for threads"
            ),
            MpiError::Call { call, class, text } => {
                write!(f, "{call} failed: {text} (error class {class})")
            }
            MpiError::InUse => f.write_str(
                "communicators or requests are still in use: drop them before MPI is ended",
            ),
            MpiError::NotEnded => f.write_str(
                "MPI was not ended, as this thread panics: end the process, so that its launcher sees it",
            ),
            MpiError::NoSuchProcess { process, processes } => {
                write!(
                    f,
                    "no process {process}: there are {processes}, numbered from 0"
                )
            }
            MpiError::PeerLost { process, reason } => {
                write!(
                    f,
                    "process {process} is lost: {reason}: look at its own output"
                )
            }
            MpiError::Closed => f.write_str("this process has closed: send before it does"),
            MpiError::Silent { processes, waited } => {
                let waited = waited.as_secs_f64();
                write!(
                    f,
                    "{} after {waited:.1} s: see where they are, or wait longer",
                    silent(processes)
                )
            }
            MpiError::Malformed { process, bytes } => write!(
                f,
                "a message of {bytes} bytes from process {process} is not motet's: run the same \
                 version everywhere"
            ),
        }
    }
}

impl std::error::Error for MpiError {}

fn silent(processes: &[usize]) -> String {
    match processes {
        [] => "some process waits for messages of its own to leave".to_owned(),
        silent => format!("processes {silent:?} have not closed"),
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|p| p.display().to_string()).collect();
    paths.join(", ")
}
