//! A Python process that lives as long as a measurement and answers line by line.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A program that has said that it is ready.
#[derive(Debug)]
pub(crate) struct Python {
    /// The version of the library that it measures.
    version: String,
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Python {
    /// Starts `program` with these variables. It says `ready VERSION`, or `absent REASON` and ends.
    ///
    /// # Errors
    /// Why there is no peer; `install` says what is to be installed.
    pub(crate) fn start(
        python: &Path,
        program: &str,
        variables: &[(&str, String)],
        install: &str,
    ) -> Result<Python, String> {
        let pipe = |error: io::Error| format!("{} does not run: {error}", python.display());
        let mut process = Command::new(python)
            .args(["-c", program])
            .envs(variables.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(pipe)?;
        let (to, from) = (process.stdin.take(), process.stdout.take());
        let from = from.ok_or("the process has no output")?;
        let mut started = Python {
            version: String::new(),
            process,
            to,
            from: BufReader::new(from),
        };
        let said = started.line().map_err(pipe)?;
        match said.split_once(' ') {
            Some(("ready", version)) => {
                started.version = version.to_owned();
                Ok(started)
            }
            Some(("absent", reason)) => Err(format!("{reason}: {install}")),
            _ => Err(format!("{} is no Python: {said:?}", python.display())),
        }
    }

    /// The version of the library.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// A line, then numbers as raw little-endian doubles.
    pub(crate) fn send(&mut self, head: &str, numbers: &[f64]) -> io::Result<()> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        let to = self.to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(to, "{head}")?;
        to.write_all(&bytes)?;
        to.flush()
    }

    /// Its next line.
    pub(crate) fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.from.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // The end of its input ends the process; if it fails there is nothing else to do about it.
        self.to = None;
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_is_a_reason() {
        let reason = Python::start(Path::new("no-such-python"), "", &[], "").unwrap_err();
        assert!(
            reason.starts_with("no-such-python does not run"),
            "{reason}"
        );
    }

    #[test]
    #[cfg(unix)]
    fn another_program_is_a_reason() {
        let reason = Python::start(Path::new("echo"), "", &[], "").unwrap_err();
        assert!(reason.starts_with("echo is no Python"), "{reason}");
    }
}
