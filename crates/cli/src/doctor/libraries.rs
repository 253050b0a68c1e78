//! MPI libraries, each opened and started in a process of its own: one that fails takes only that
//! with it, and no two meet.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use motet_mpi::{Family, Library};
use motet_sync::{Mutex, thread};
use serde::{Deserialize, Serialize};

use crate::error::{CliError, ProgramStartError};
use crate::own;
use crate::stdout::print;

/// A library may take so long to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// So long what a process has printed may take to come after it has ended. What it started may live
/// on and keep the pipe open; a busy machine may keep who reads.
const REST: Duration = Duration::from_secs(5);
/// So much of what it prints is read: a library may print warnings without an end.
const MOST: usize = 1 << 20;
/// Between two looks at something that another process does.
const PAUSE: Duration = Duration::from_millis(5);

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
    /// A library of which only its place is known.
    fn unknown(path: &Path) -> Found {
        Found {
            path: path.to_owned(),
            version: None,
            standard: None,
            launcher: None,
            threads: None,
            problem: None,
        }
    }

    /// Asks the library in another process.
    pub(super) fn ask(path: &Path) -> Found {
        let mut found = Found::unknown(path);
        match asking(path).and_then(told_by) {
            Ok((told, ended)) => found.hear(&told, ended),
            Err(error) => found.problem = Some(error.to_string()),
        }
        found
    }

    /// Takes in what the process has said, and whether it has ended by itself.
    fn hear(&mut self, told: &str, ended: bool) {
        for line in told.lines() {
            // Libraries print warnings of their own.
            match serde_json::from_str(line) {
                Ok(Told::Opened { version, standard }) => {
                    match Family::of(&version).launcher(&self.path) {
                        Ok(launcher) => self.launcher = Some(launcher),
                        Err(error) => self.problem = Some(error.to_string()),
                    }
                    self.version = Some(version);
                    self.standard = Some(standard);
                }
                Ok(Told::Started { threads }) => self.threads = Some(threads),
                Ok(Told::Failed { problem }) => self.problem = Some(problem),
                Err(_) => {}
            }
        }
        let seconds = PATIENCE.as_secs();
        let problem = match (self.threads.is_some(), ended) {
            (true, true) => return,
            (true, false) => format!("it starts, but does not end within {seconds} s"),
            (false, true) => "it ended the process that started it".to_owned(),
            (false, false) => format!("it does not start within {seconds} s"),
        };
        self.problem.get_or_insert(problem);
    }

    /// A library that was opened has said its version.
    ///
    /// # Errors
    /// [`ProgramStartError::Library`] with what happened instead.
    pub(super) fn must_open(&self) -> Result<(), ProgramStartError> {
        match (&self.version, &self.problem) {
            (None, Some(problem)) => Err(ProgramStartError::Library {
                library: self.path.clone(),
                problem: problem.clone(),
            }),
            (Some(_), _) | (None, None) => Ok(()),
        }
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

/// The process that starts a library.
fn asking(path: &Path) -> io::Result<Command> {
    let mut command = Command::new(own::program()?);
    command.args(["doctor", "--start"]).arg(path);
    if let Some(root) = path.parent().and_then(Path::parent) {
        // Intel's library finds its parts by it; others do not ask.
        command.env("I_MPI_ROOT", root);
    }
    Ok(command)
}

/// What a process prints until it ends, and whether it ends by itself.
fn told_by(mut command: Command) -> io::Result<(String, bool)> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let told = Arc::new(Mutex::new(Vec::new()));
    // One that prints more than a pipe holds waits until somebody reads.
    let reader = child.stdout.take().map(|out| {
        let told = Arc::clone(&told);
        thread::spawn(move || read_all(out, &told))
    });
    let ended = wait(&mut child);
    let begun = Instant::now();
    while reader.as_ref().is_some_and(|reader| !reader.is_finished()) && begun.elapsed() < REST {
        thread::park_timeout(PAUSE);
    }
    let text = String::from_utf8_lossy(&told.lock()).into_owned();
    Ok((text, ended))
}

/// Reads to the end and keeps the first part.
fn read_all(mut from: impl Read, told: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 4096];
    // An error is an end too: what came before it counts.
    while let Ok(length @ 1..) = from.read(&mut chunk) {
        let mut told = told.lock();
        let room = MOST - told.len();
        told.extend_from_slice(&chunk[..length.min(room)]);
    }
}

/// Whether the process has ended by itself in time.
fn wait(child: &mut Child) -> bool {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if begun.elapsed() < PATIENCE => thread::park_timeout(PAUSE),
            Ok(None) | Err(_) => {
                // One that has ended meanwhile needs no end.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// What a shell prints, and whether it has to be ended; how long it took.
    fn shell(words: &str) -> (String, bool, Duration) {
        let mut command = Command::new("sh");
        command.args(["-c", words]);
        let begun = Instant::now();
        let (told, ended) = told_by(command).unwrap();
        (told, !ended, begun.elapsed())
    }

    #[test]
    fn how_far_a_library_came_is_told() {
        const STARTED: &str = r#"{"started":{"threads":"MPI_THREAD_MULTIPLE"}}"#;
        const FAILED: &str = r#"{"failed":{"problem":"its own words"}}"#;
        for (told, ended, problem) in [
            (STARTED, true, None),
            (
                STARTED,
                false,
                Some("it starts, but does not end within 20 s"),
            ),
            ("", false, Some("it does not start within 20 s")),
            (
                "a warning",
                true,
                Some("it ended the process that started it"),
            ),
            (FAILED, false, Some("its own words")),
        ] {
            let mut found = Found::unknown(Path::new("/m/libmpi_abi.so.1"));
            found.hear(told, ended);
            assert_eq!(found.problem.as_deref(), problem, "{told}, {ended}");
        }
    }

    #[test]
    fn one_that_prints_more_than_a_pipe_holds_is_read_to_its_end() {
        let (told, wrong, took) = shell("yes warning | head -c 3000000; echo; echo the end >&2");
        assert!(!wrong && took < PATIENCE, "{took:?}");
        assert_eq!(told.len(), MOST);
        let (told, ..) = shell("yes warning | head -c 300000; echo; echo the end");
        assert!(told.ends_with("the end\n"));
    }

    #[test]
    fn what_a_process_has_started_is_not_waited_for() {
        let (told, wrong, took) = shell("echo told; sleep 60 &");
        assert_eq!((told.as_str(), wrong), ("told\n", false));
        assert!(took < Duration::from_secs(40), "{took:?}");
    }
}
