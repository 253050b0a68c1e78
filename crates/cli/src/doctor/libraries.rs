//! MPI libraries, each opened and started in a process of its own: one that fails takes only that
//! with it, and no two meet.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use motet_mpi::{Family, Library};
use motet_sync::thread;
use serde::{Deserialize, Serialize};

use crate::error::CliError;
use crate::stdout::print;

/// A library may take so long to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// An MPI library that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// What it says of itself.
    pub(super) version: Option<String>,
    /// The version of the MPI standard.
    pub(super) standard: Option<String>,
    /// Its `mpiexec`.
    pub(super) launcher: Option<PathBuf>,
    /// From how many threads it may be called.
    pub(super) threads: Option<String>,
    /// Why something is not known.
    pub(super) problem: Option<String>,
}

/// What the process that starts a library says of it, line by line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Opened { version: String, standard: String },
    Started { threads: String },
    Failed { problem: String },
}

impl Found {
    /// Asks the library in another process.
    pub(super) fn ask(path: &Path) -> Found {
        let mut found = Found {
            path: path.to_owned(),
            version: None,
            standard: None,
            launcher: None,
            threads: None,
            problem: None,
        };
        let told = match told_by(path) {
            Ok(told) => told,
            Err(problem) => {
                found.problem = Some(problem);
                return found;
            }
        };
        for line in told.lines() {
            // Libraries print warnings of their own.
            match serde_json::from_str(line) {
                Ok(Told::Opened { version, standard }) => {
                    match Family::of(&version).launcher(path) {
                        Ok(launcher) => found.launcher = Some(launcher),
                        Err(error) => found.problem = Some(error.to_string()),
                    }
                    found.version = Some(version);
                    found.standard = Some(standard);
                }
                Ok(Told::Started { threads }) => found.threads = Some(threads),
                Ok(Told::Failed { problem }) => found.problem = Some(problem),
                Err(_) => {}
            }
        }
        if found.threads.is_none() && found.problem.is_none() {
            found.problem = Some("it ended the process that started it".to_owned());
        }
        found
    }
}

/// Opens and starts a library in this process, and says how far it came.
///
/// # Errors
/// When nobody reads what it says.
pub(super) fn start(path: &Path) -> Result<(), CliError> {
    let say = |told: &Told| {
        print(|to| {
            serde_json::to_writer(&mut *to, told)?;
            writeln!(to)
        })
    };
    let failed = |error: motet_mpi::MpiError| Told::Failed {
        problem: error.to_string(),
    };
    let library = match Library::open(path) {
        Ok(library) => library,
        Err(error) => return say(&failed(error)),
    };
    let (major, minor) = library.standard();
    say(&Told::Opened {
        version: library.version(),
        standard: format!("{major}.{minor}"),
    })?;
    match library.start() {
        Ok(mpi) => say(&Told::Started {
            threads: mpi.level().to_string(),
        }),
        Err(error) => say(&failed(error)),
    }
}

/// What the other process prints until it ends, or is ended.
fn told_by(path: &Path) -> Result<String, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .args(["doctor", "--start"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(root) = path.parent().and_then(Path::parent) {
        // Intel's library finds its parts by it; others do not ask.
        command.env("I_MPI_ROOT", root);
    }
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let ended = wait(&mut child);
    let mut told = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut told)
            .map_err(|error| error.to_string())?;
    }
    match ended {
        true => Ok(told),
        false => Err(format!("it does not start within {} s", PATIENCE.as_secs())),
    }
}

/// Whether the process has ended by itself in time. What it prints fits into a pipe.
fn wait(child: &mut Child) -> bool {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if begun.elapsed() < PATIENCE => {
                thread::park_timeout(Duration::from_millis(5));
            }
            Ok(None) | Err(_) => {
                // One that has ended meanwhile needs no end.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}
