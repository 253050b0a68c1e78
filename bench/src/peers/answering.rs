//! Programs of other languages that answer line after line, so that they are started and warm once.

use super::workshop::PATIENCE;
use motet_sync::thread;
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A process that answers each line with one; it ends when this goes.
#[derive(Debug)]
pub(super) struct Answering {
    child: Child,
    /// Taken when the process is to end.
    ask: Option<ChildStdin>,
    /// Its answers.
    answers: Receiver<String>,
    /// What it says on standard error.
    said: Receiver<String>,
}

/// A process whose input has ended has so long to end by itself, which leaves nothing of it behind.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

impl Answering {
    /// Starts one that answers in JSON; launchers may print something of their own.
    pub(super) fn start(command: Command) -> Result<Answering, String> {
        Answering::start_with(command, |line| line.starts_with('{'))
    }

    /// Starts one of whose lines these are answers.
    pub(super) fn start_with(
        mut command: Command,
        wanted: fn(&str) -> bool,
    ) -> Result<Answering, String> {
        let name = command.get_program().display().to_string();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{name} does not run: {error}"))?;
        let (answers, said) = match (child.stdout.take(), child.stderr.take()) {
            (Some(out), Some(err)) => (
                lines(out, wanted),
                lines(err, |line| !line.trim().is_empty()),
            ),
            _ => return Err(format!("{name} has no pipes")),
        };
        Ok(Answering {
            ask: child.stdin.take(),
            child,
            answers,
            said,
        })
    }

    /// Its answer to a line. After an error it may answer later: it is not to be asked again.
    pub(super) fn ask(&mut self, line: &str) -> Result<String, String> {
        self.send(line, &[]);
        self.answer()
    }

    /// Sends a line, and bytes after it. Why one that has ended cannot be written to is with what
    /// it has said.
    pub(super) fn send(&mut self, line: &str, bytes: &[u8]) {
        if let Some(ask) = &mut self.ask {
            let sent = [line.as_bytes(), b"\n", bytes].concat();
            let _ = ask.write_all(&sent);
        }
    }

    /// Its next answer.
    pub(super) fn answer(&mut self) -> Result<String, String> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => Err(format!("it gives no time within {PATIENCE:?}")),
            Err(RecvTimeoutError::Disconnected) => {
                let first = self.said.recv_timeout(EXIT_TIMEOUT);
                let first = first.unwrap_or_else(|_| "it says nothing".to_owned());
                Err(format!("it gives no time: {first}"))
            }
        }
    }
}

/// Processes that have been asked and stay, each by what it is; the last one asked is the last.
#[derive(Debug)]
pub(super) struct Asked<K> {
    running: RefCell<Vec<(K, Answering)>>,
    /// So many sleep beside each other at most.
    asleep: usize,
}

impl<K: PartialEq> Asked<K> {
    /// None yet, and so many at most.
    pub(super) fn at_most(asleep: usize) -> Asked<K> {
        Asked {
            running: RefCell::default(),
            asleep,
        }
    }

    /// The answer of one to a line; `start` starts it if it is not there. After an error the next
    /// one that asks starts anew.
    pub(super) fn ask(
        &self,
        key: K,
        line: &str,
        start: impl FnOnce() -> Command,
    ) -> Result<String, String> {
        let mut all = self.running.borrow_mut();
        let mut running = match all.iter().position(|(known, _)| *known == key) {
            Some(at) => all.remove(at).1,
            None => Answering::start(start())?,
        };
        let answer = running.ask(line)?;
        if all.len() >= self.asleep {
            all.remove(0);
        }
        all.push((key, running));
        Ok(answer)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        drop(self.ask.take());
        let begun = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if begun.elapsed() > EXIT_TIMEOUT {
                // One that has ended meanwhile needs no end.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

/// The lines that are wanted, read until there are no more.
fn lines(from: impl Read + Send + 'static, wanted: fn(&str) -> bool) -> Receiver<String> {
    let (tell, lines) = channel();
    thread::spawn(move || {
        let all = BufReader::new(from).lines().map_while(Result::ok);
        for line in all.filter(|line| wanted(line)) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn shell(words: &str) -> Answering {
        let mut command = Command::new("sh");
        command.args(["-c", words]);
        Answering::start(command).unwrap()
    }

    #[test]
    fn each_line_has_its_answer() {
        let mut echo = shell("while read line; do echo noise; echo \"{$line}\"; done");
        assert_eq!(echo.ask("one").unwrap(), "{one}");
        assert_eq!(echo.ask("two").unwrap(), "{two}");
    }

    #[test]
    fn one_that_ends_tells_why() {
        let mut ended = shell("read line; echo >&2; echo \"no such $line\" >&2");
        let reason = ended.ask("thing").unwrap_err();
        assert_eq!(reason, "it gives no time: no such thing");
        let mut silent = shell("read line");
        let reason = silent.ask("thing").unwrap_err();
        assert_eq!(reason, "it gives no time: it says nothing");
    }

    #[test]
    fn it_ends_when_its_input_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("farewell");
        let words = format!("while read line; do :; done; echo > {}", file.display());
        drop(shell(&words));
        assert!(file.exists());
    }
}
