//! scikit-learn's Lloyd step, timed by scikit-learn's own process.
//!
//! One Python process lives as long as the measurement: it has the points once and is asked for
//! steps between our own runs. It times itself, so starting and talking to it cost nothing.

use super::python::Python;
use motet_mining::Points;
use std::io;
use std::path::Path;

/// The other end of `peers/scikit-learn/lloyd.py`.
#[derive(Debug)]
pub(crate) struct ScikitLearn(Python);

impl ScikitLearn {
    /// Starts `python` and sends it the points; an error says why there is no peer.
    pub(crate) fn start(python: &Path, points: &Points) -> Result<ScikitLearn, String> {
        let program = include_str!("../../peers/scikit-learn/lloyd.py");
        let install = "pip install -r bench/peers/scikit-learn/requirements.txt";
        let mut peer = Python::start(python, program, &[], install)?;
        peer.send(
            &format!("{} {}", points.len(), points.dim()),
            points.values(),
        )
        .map_err(ended)?;
        Ok(ScikitLearn(peer))
    }

    /// The version of scikit-learn.
    pub(crate) fn version(&self) -> &str {
        self.0.version()
    }

    /// The seconds that `steps` steps from these centres took.
    pub(crate) fn lloyd_seconds(
        &mut self,
        clusters: usize,
        centres: &[f64],
        threads: usize,
        steps: usize,
    ) -> Result<f64, String> {
        self.0
            .send(&format!("{clusters} {threads} {steps}"), centres)
            .map_err(ended)?;
        let said = self.0.line().map_err(ended)?;
        said.parse()
            .map_err(|_| format!("scikit-learn said {said:?} where seconds belong"))
    }
}

fn ended(error: io::Error) -> String {
    format!("scikit-learn ended: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_is_a_reason() {
        let points = Points::new(vec![0.0, 1.0], 1).unwrap();
        let reason = ScikitLearn::start(Path::new("no-such-python"), &points).unwrap_err();
        assert!(
            reason.starts_with("no-such-python does not run"),
            "{reason}"
        );
    }
}
