//! The supervisor of one process of a run: `motet run` has the launcher start it in the place of
//! the program.
//!
//! ```text
//!  launcher ─► supervisor ─► program     signals go on; when the program dies, the launcher learns of it
//!                  ▲            │        after the others had time to say whom they have lost
//!                  └── note ◄───┘        "begun", "ended" or "lost"
//! ```
//!
//! A launcher kills all processes as soon as one dies, so that nobody can report. It takes one that
//! ends with status 0 for one that has done its work. The supervisor knows better: a program that
//! joins the others of a run notes when that begins and when it has ended.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus};
use std::time::Duration;

use clap::Args;
use motet::{PROGRAM, PROGRAM_NAME, RUN_NOTE};
use motet_mpi::MESH;
use motet_sync::thread;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use tempfile::NamedTempFile;

use crate::error::{CliError, not_started};
use crate::own;
use crate::signals::not_ignored;

/// Options of `motet supervise`.
#[derive(Debug, Clone, Args)]
pub struct SuperviseArgs {
    /// Becomes the program, which ends with the process of this number
    #[arg(long, hide = true)]
    parent: Option<i32>,

    /// Removes this folder of a run when the parent has ended, or the process that standard input
    /// is
    #[arg(long, hide = true, conflicts_with = "program")]
    remove: Option<PathBuf>,

    /// Starts the process that removes the folder, and ends: that one is nobody's child then
    #[arg(long, hide = true, requires = "remove", conflicts_with = "parent")]
    apart: bool,

    /// The program and its arguments
    #[arg(
        last = true,
        required_unless_present = "remove",
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

/// The name of the subcommand.
pub(crate) const NAME: &str = "supervise";

/// So long the others have to say whom they have lost, before the launcher learns of the first end
/// and ends them.
const GRACE: Duration = Duration::from_secs(2);

/// How often a folder is tried to be removed, and how long between.
const REMOVALS: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(100);

/// The status of a process that ends with 0 before its run has ended: `EX_SOFTWARE` of sysexits.h.
const NOT_ENDED: i32 = 70;

/// What goes on to the program.
const PASSED_ON: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Runs the program to its end, and ends with its status, or with another one if its run has not
/// ended.
///
/// # Errors
/// [`CliError::Start`] when the program cannot be started.
pub(crate) fn run(args: SuperviseArgs) -> Result<(), CliError> {
    let SuperviseArgs {
        parent,
        remove,
        apart,
        program,
    } = args;
    match (parent, remove) {
        (_, Some(folder)) if apart => start_remover(&folder),
        (parent, Some(folder)) => {
            let ended = parent.map_or_else(process_has_ended, parent_has_ended);
            ended.map_err(|source| not_started(folder.clone(), source))?;
            remove_folder(&folder);
            Ok(())
        }
        (Some(parent), None) => become_it(parent, &program),
        (None, None) => supervise(&program),
    }
}

/// Starts the process that removes the folder when the one ends that standard input is.
fn start_remover(folder: &Path) -> Result<(), CliError> {
    let own = own_program()?;
    let mut remover = Command::new(&own);
    let started = remover.args([NAME, "--remove"]).arg(folder).spawn();
    started.map(drop).map_err(|source| not_started(own, source))
}

/// Waits for the end of the process that standard input is.
fn process_has_ended() -> io::Result<()> {
    // Who ends all processes by such a signal ends the launcher, too.
    let _heard = Signals::new([SIGHUP, SIGTERM])?;
    let input = io::stdin();
    let mut process = [PollFd::new(&input, PollFlags::IN)];
    loop {
        match poll(&mut process, None) {
            Err(Errno::INTR) => {}
            ended => return ended.map(drop).map_err(io::Error::from),
        }
    }
}

/// Waits for the end of the parent, which the kernel tells.
fn parent_has_ended(parent: i32) -> io::Result<()> {
    let mut ended = Signals::new([SIGTERM])?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    while getppid().map(Pid::as_raw_pid) == Some(parent) {
        // Who sends the signal by hand is not heard.
        let _ = ended.wait().count();
    }
    Ok(())
}

fn remove_folder(folder: &Path) {
    // Nodes that are ending remove their own files.
    for _ in 0..REMOVALS {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                thread::park_timeout(BETWEEN);
            }
            _ => break,
        }
    }
}

/// The words before a program that supervise it.
///
/// # Errors
/// [`CliError::Start`] when nobody knows where this program is.
pub(crate) fn line() -> Result<Vec<OsString>, CliError> {
    let own = own_program()?.into_os_string();
    Ok(vec![own, NAME.into(), "--".into()])
}

fn own_program() -> Result<PathBuf, CliError> {
    own::program().map_err(|source| not_started(PathBuf::from("motet"), source))
}

/// Replaces this process by the program, which is killed when its supervisor is.
fn become_it(parent: i32, program: &[OsString]) -> Result<(), CliError> {
    let fault = |source| not_started(PathBuf::from(&program[0]), source);
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|errno| fault(errno.into()))?;
    if getppid().map(Pid::as_raw_pid) != Some(parent) {
        // It is gone already.
        process::exit(NOT_ENDED);
    }
    Err(fault(Command::new(&program[0]).args(&program[1..]).exec()))
}

fn supervise(program: &[OsString]) -> Result<(), CliError> {
    let fault = |source| not_started(PathBuf::from(&program[0]), source);
    let note = note().map_err(|source| not_started(env::temp_dir(), source))?;
    // Before the program is there: no signal is to find nobody.
    let mut signals = Signals::new(not_ignored(&PASSED_ON)).map_err(fault)?;
    let mut child = Command::new(own_program()?)
        .args([NAME, "--parent", &process::id().to_string(), "--"])
        .args(program)
        .env(RUN_NOTE, note.path())
        .spawn()
        .map_err(fault)?;
    let (handle, pid) = (signals.handle(), Pid::from_child(&child));
    let passing = thread::spawn_named("signals", move || {
        for signal in signals.forever() {
            if let Some(signal) = Signal::from_named_raw(signal) {
                // One that is gone needs none.
                let _ = kill_process(pid, signal);
            }
        }
    })
    .map_err(fault)?;
    // It stays a zombie, and its number its own, until nobody passes signals on.
    let gone = wait(&mut child, || {
        handle.close();
        let _ = passing.join();
    })
    .map_err(fault)?;
    let status = outcome(gone, note.path());
    drop(note);
    process::exit(status)
}

/// A file in the folder of the run, which is removed with it also when this process is killed. A
/// run that has none here has it among the temporary files.
fn note() -> io::Result<NamedTempFile> {
    let mut name = tempfile::Builder::new();
    name.prefix("motet-run-");
    let of_run = env::var_os(MESH).filter(|folder| !folder.is_empty());
    let of_run = of_run.and_then(|folder| name.tempfile_in(folder).ok());
    of_run.map_or_else(|| name.tempfile(), Ok)
}

/// Waits for the end of the child; `before` is done when it has ended, before its number may be
/// another's.
fn wait(child: &mut Child, before: impl FnOnce()) -> io::Result<ExitStatus> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(errno) = waitid(WaitId::Pid(Pid::from_child(child)), options) {
        if errno != Errno::INTR {
            return Err(errno.into());
        }
    }
    before();
    child.wait()
}

/// The status to end with, after the others had time to report if the program has left them.
fn outcome(gone: ExitStatus, note: &Path) -> i32 {
    let code = match (gone.code(), gone.signal()) {
        (Some(code), _) => code,
        (None, signal) => 128 + signal.unwrap_or_default(),
    };
    match fs::read(note).unwrap_or_default().as_slice() {
        b"begun" => (),
        b"lost" if code != 0 => {
            // It was the first to say so, perhaps.
            thread::park_timeout(GRACE);
            return code;
        }
        // It has ended its run, or is no program of one: its status says everything.
        _ => return code,
    }
    let mut which = match env::var("PMI_RANK").or_else(|_| env::var("PMIX_RANK")) {
        Ok(number) => format!("process {number}"),
        Err(_) => "a process".to_owned(),
    };
    if let (Ok(number), Ok(name)) = (env::var(PROGRAM), env::var(PROGRAM_NAME)) {
        let _ = write!(which, ", of program {number} ({name}),");
    }
    let how = match gone.signal() {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("has ended with status {code}"),
    };
    // In one piece: the launcher passes on what comes, from all processes.
    let said = format!("motet: {which} {how} before its run had ended\n");
    let _ = io::stderr().write_all(said.as_bytes());
    thread::park_timeout(GRACE);
    if code == 0 { NOT_ENDED } else { code }
}
