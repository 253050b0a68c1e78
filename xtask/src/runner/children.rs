//! Child processes that end with the recipe.
//!
//! Each child leads a process group of its own, so that ending it ends what it started. That is a
//! test program that Cargo runs, or a rank that a test program runs. Ctrl-C and a request to end
//! reach this process only, and it passes them on.

use super::output::{Sink, last, pass_on, program};
use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a child may take to end when it is asked to, before it is made to.
const GRACE: Duration = Duration::from_secs(2);

/// The children that run now, and whether the recipe was told to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Children {
    shared: Arc<Mutex<State>>,
    sink: Sink,
}

#[derive(Debug, Default)]
struct State {
    groups: Vec<Pid>,
    interrupted: bool,
}

impl Children {
    /// Children that Ctrl-C, a hang-up and a request to end also end.
    ///
    /// # Errors
    /// The system's reason when signals cannot be watched.
    pub(crate) fn watched() -> Result<Children> {
        let children = Children::default();
        let told = children.clone();
        let interrupt = move || {
            told.signal(Signal::SIGTERM);
            thread::sleep(GRACE);
            told.signal(Signal::SIGKILL);
        };
        ctrlc::set_handler(interrupt).context("cannot watch for Ctrl-C")?;
        Ok(children)
    }

    /// Children that only their time limits end.
    #[cfg(test)]
    pub(crate) fn unwatched() -> Children {
        Children::default()
    }

    /// Whether the recipe was told to end.
    pub(crate) fn interrupted(&self) -> bool {
        self.with(|state| state.interrupted)
    }

    /// These children, but what they write goes to `sink`.
    pub(super) fn writing_to(&self, sink: Sink) -> Children {
        let shared = Arc::clone(&self.shared);
        Children { shared, sink }
    }

    /// Runs a command to its end; what it writes goes through, or to the sink.
    ///
    /// # Errors
    /// Its last lines, and at the end how it ended, when that was not well.
    pub(crate) fn run(&self, command: &mut Command, limit: Duration) -> Result<()> {
        let name = program(command);
        let child = self.spawn(command);
        let child = child.with_context(|| format!("cannot start `{name}`"))?;
        let mut child = child.context("interrupted before it began")?;
        let (out, err) = child
            .stdout
            .take()
            .zip(child.stderr.take())
            .context("no pipes")?;
        let (ended, waits) = channel::<()>();
        let group = group_of(&child);
        let (status, overdue, said) = thread::scope(|scope| {
            let out = scope.spawn(|| pass_on(out, &self.sink, io::stdout()));
            let err = scope.spawn(|| pass_on(err, &self.sink, io::stderr()));
            let timer = scope.spawn(move || end_after(limit, group, &waits));
            let status = self.reap(&mut child);
            drop(ended);
            let said = [out, err].map(|pump| last(&pump.join().unwrap_or_default()));
            (status, timer.join().unwrap_or(false), said)
        });
        let fault = match status {
            _ if self.interrupted() => "interrupted".to_owned(),
            _ if overdue => format!("ended: it took more than {} s", limit.as_secs()),
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => format!("`{name}` ended with {status}"),
            Err(error) => format!("cannot wait for `{name}`: {error}"),
        };
        let [out, err] = said;
        let told = [out, err, fault]
            .into_iter()
            .filter(|text| !text.is_empty());
        bail!(told.collect::<Vec<_>>().join("\n"))
    }

    /// Starts the command unless the recipe is ending. The lock is held meanwhile: a child is known
    /// before anything can end the recipe.
    fn spawn(&self, command: &mut Command) -> io::Result<Option<Child>> {
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.with(|state| {
            if state.interrupted {
                return Ok(None);
            }
            let child = command.spawn()?;
            state.groups.push(group_of(&child));
            Ok(Some(child))
        })
    }

    /// Waits for the child, then ends what it left behind. Its number stays taken until it is
    /// reaped, so the signal cannot reach a stranger.
    fn reap(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let group = group_of(child);
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(group), flags) == Err(Errno::EINTR) {}
        self.with(|state| {
            state.groups.retain(|other| *other != group);
            // Nothing left behind is the usual case, and no fault.
            let _ = killpg(group, Signal::SIGKILL);
        });
        child.wait()
    }

    fn signal(&self, signal: Signal) {
        self.with(|state| {
            state.interrupted = true;
            for group in &state.groups {
                // A group that has just ended is what was wanted.
                let _ = killpg(*group, signal);
            }
        });
    }

    fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        work(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn group_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// Ends the group when nobody says within `limit` that it has ended; whether it had to.
fn end_after(limit: Duration, group: Pid, ended: &Receiver<()>) -> bool {
    if ended.recv_timeout(limit) != Err(RecvTimeoutError::Timeout) {
        return false;
    }
    // A group that has just ended is what was wanted.
    let _ = killpg(group, Signal::SIGTERM);
    if ended.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
        let _ = killpg(group, Signal::SIGKILL);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// The lines of its failure.
    fn failed(children: &Children, command: &mut Command, limit: Duration) -> Vec<String> {
        let fault = children.run(command, limit).unwrap_err();
        format!("{fault:#}").lines().map(str::to_owned).collect()
    }

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failure_carries_the_last_lines_of_both_streams() {
        let mut command = sh("echo out; echo err >&2; exit 3");
        let lines = failed(&Children::unwatched(), &mut command, Duration::MAX);
        assert_eq!(lines[..2], ["out", "err"]);
        assert!(lines[2].contains('3'), "{lines:?}");
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended_with_what_it_started() {
        let begin = Instant::now();
        let script = "trap '' TERM; sleep 600 & echo $!; wait";
        let within = |limit| failed(&Children::unwatched(), &mut sh(script), limit);
        // On a busy machine the shell may not have begun when its time is up.
        let lines = (0..6)
            .map(|turn| within(Duration::from_millis(200 << turn)))
            .find(|lines| lines.len() > 1)
            .expect("the shell begins");
        assert!(begin.elapsed() < Duration::from_secs(300));
        assert!(lines[1].contains("it took more than"), "{lines:?}");
        let grandchild = Pid::from_raw(lines[0].parse().unwrap());
        assert!(gone(grandchild));
    }

    #[test]
    fn what_a_child_leaves_behind_is_ended() {
        let begin = Instant::now();
        Children::unwatched()
            .run(&mut sh("sleep 60 & exit 0"), Duration::MAX)
            .unwrap();
        assert!(begin.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn an_interrupt_ends_the_child_and_starts_no_other() {
        let children = Children::unwatched();
        let told = children.clone();
        let teller = thread::spawn(move || {
            while told.with(|state| state.groups.is_empty()) {
                thread::yield_now();
            }
            told.signal(Signal::SIGTERM);
        });
        let lines = failed(&children, &mut sh("sleep 60"), Duration::MAX);
        teller.join().unwrap();
        assert_eq!(lines, ["interrupted"]);
        assert!(children.run(&mut sh("exit 0"), Duration::MAX).is_err());
    }

    #[test]
    fn a_program_that_is_not_there_is_said() {
        let mut command = Command::new("no-such-program");
        let lines = failed(&Children::unwatched(), &mut command, Duration::MAX);
        assert!(lines[0].contains("no-such-program"), "{lines:?}");
    }

    /// Whether the process has ended; the system may take a moment, on a busy machine a long one.
    fn gone(process: Pid) -> bool {
        (0..6_000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            let state =
                std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        })
    }
}
