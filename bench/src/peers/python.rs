//! A Python process that lives as long as a measurement and answers line by line.

use super::answering::Answering;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

/// A program that has said that it is ready.
#[derive(Debug)]
pub(crate) struct Python {
    /// The library that it measures, and its version.
    library: &'static str,
    version: String,
    process: Answering,
}

impl Python {
    /// Starts `program`, which measures `library`, with these variables. It says `ready VERSION`,
    /// or `absent REASON` and ends.
    ///
    /// # Errors
    /// Why there is no peer; `install` says what is to be installed.
    pub(crate) fn start(
        python: &Path,
        (library, program): (&'static str, &str),
        variables: &[(&str, String)],
        install: &str,
    ) -> Result<Python, String> {
        let mut command = Command::new(python);
        command
            .args(["-c", program])
            .envs(variables.iter().cloned());
        let mut process = Answering::start_with(command, |_| true)?;
        let said = process.answer();
        let words = said.as_ref().ok().and_then(|said| said.split_once(' '));
        match words {
            Some(("ready", version)) => Ok(Python {
                library,
                version: version.to_owned(),
                process,
            }),
            Some(("absent", reason)) => Err(format!("{reason}: {install}")),
            _ => Err(format!("{} is no Python: {said:?}", python.display())),
        }
    }

    /// The version of the library.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Sends a line, then numbers as raw little-endian doubles.
    pub(crate) fn send(&mut self, head: &str, numbers: &[f64]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.process.send(head, &bytes);
    }

    /// The same, and its answer.
    pub(crate) fn ask(&mut self, head: &str, numbers: &[f64]) -> Result<String, String> {
        self.send(head, numbers);
        let answer = self.process.answer();
        answer.map_err(|reason| format!("{} ended: {reason}", self.library))
    }

    /// The same where two numbers are the answer.
    pub(crate) fn ask_two<A: FromStr, B: FromStr>(
        &mut self,
        head: &str,
        numbers: &[f64],
    ) -> Result<(A, B), String> {
        let said = self.ask(head, numbers)?;
        let two = said.split_once(' ');
        two.and_then(|(one, other)| one.parse().ok().zip(other.parse().ok()))
            .ok_or_else(|| format!("{} said {said:?} where numbers belong", self.library))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_is_a_reason() {
        let reason = Python::start(Path::new("no-such-python"), ("", ""), &[], "").unwrap_err();
        assert!(
            reason.starts_with("no-such-python does not run"),
            "{reason}"
        );
    }

    #[test]
    #[cfg(unix)]
    fn another_program_is_a_reason() {
        let reason = Python::start(Path::new("echo"), ("", ""), &[], "").unwrap_err();
        assert!(reason.starts_with("echo is no Python"), "{reason}");
    }
}
