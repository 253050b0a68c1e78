//! scikit-learn's Lloyd step, timed by scikit-learn's own process.
//!
//! One Python process lives as long as the measurement: it has the points once and is asked for
//! steps between our own runs. It times itself, so starting and talking to it cost nothing.

use motet_mining::Points;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The other end of `peers/scikit-learn/lloyd.py`.
#[derive(Debug)]
pub(crate) struct ScikitLearn {
    version: String,
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl ScikitLearn {
    /// Starts `python` and sends it the points; an error says why there is no peer.
    pub(crate) fn start(python: &Path, points: &Points) -> Result<ScikitLearn, String> {
        let program = include_str!("../peers/scikit-learn/lloyd.py");
        let pipe = |error: io::Error| format!("{} does not run: {error}", python.display());
        let mut process = Command::new(python)
            .args(["-c", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(pipe)?;
        let (to, from) = (process.stdin.take(), process.stdout.take());
        let from = from.ok_or("the process has no output")?;
        let mut peer = ScikitLearn {
            version: String::new(),
            process,
            to,
            from: BufReader::new(from),
        };
        let said = peer.line().map_err(pipe)?;
        match said.split_once(' ') {
            Some(("ready", version)) => peer.version = version.to_owned(),
            Some(("absent", reason)) => {
                return Err(format!(
                    "{reason}: pip install -r bench/peers/scikit-learn/requirements.txt"
                ));
            }
            _ => return Err(format!("{} is no Python: {said:?}", python.display())),
        }
        peer.send(
            &format!("{} {}", points.len(), points.dim()),
            points.values(),
        )
        .map_err(pipe)?;
        Ok(peer)
    }

    /// The version of scikit-learn.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The seconds that `steps` steps from these centres took.
    pub(crate) fn lloyd_seconds(
        &mut self,
        clusters: usize,
        centres: &[f64],
        threads: usize,
        steps: usize,
    ) -> Result<f64, String> {
        let ended = |error: io::Error| format!("scikit-learn ended: {error}");
        self.send(&format!("{clusters} {threads} {steps}"), centres)
            .map_err(ended)?;
        let said = self.line().map_err(ended)?;
        said.parse()
            .map_err(|_| format!("scikit-learn said {said:?} where seconds belong"))
    }

    fn send(&mut self, head: &str, numbers: &[f64]) -> io::Result<()> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
        let to = self.to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(to, "{head}")?;
        to.write_all(&bytes)?;
        to.flush()
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.from.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

impl Drop for ScikitLearn {
    fn drop(&mut self) {
        // The end of its input ends the process; if it fails there is nothing else to do about it.
        self.to = None;
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Points {
        Points::new(vec![0.0, 1.0], 1).unwrap()
    }

    #[test]
    fn an_absent_program_is_a_reason() {
        let reason = ScikitLearn::start(Path::new("no-such-python"), &points()).unwrap_err();
        assert!(
            reason.starts_with("no-such-python does not run"),
            "{reason}"
        );
    }

    #[test]
    #[cfg(unix)]
    fn another_program_is_a_reason() {
        let reason = ScikitLearn::start(Path::new("echo"), &points()).unwrap_err();
        assert!(reason.starts_with("echo is no Python"), "{reason}");
    }
}
