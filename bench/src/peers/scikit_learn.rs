//! scikit-learn's Lloyd step, timed by scikit-learn's own process.
//!
//! One Python process lives as long as the measurement: it has the points once and is asked for
//! steps between our own runs. It times itself, so starting and talking to it cost nothing.

use super::python::Python;
use motet_mining::Points;
use std::path::Path;

/// The other end of `peers/scikit-learn/lloyd.py`.
#[derive(Debug)]
pub(crate) struct ScikitLearn(Python);

impl ScikitLearn {
    /// Starts `python`; an error says why there is no peer.
    pub(crate) fn start(python: &Path) -> Result<ScikitLearn, String> {
        let program = include_str!("../../peers/scikit-learn/lloyd.py");
        let install = "pip install -r bench/peers/scikit-learn/requirements.txt";
        Python::start(python, ("scikit-learn", program), &[], install).map(ScikitLearn)
    }

    /// Sends it the points on which steps are made from now on.
    pub(crate) fn points(&mut self, points: &Points) {
        let head = format!("{} {}", points.len(), points.dim());
        self.0.send(&head, points.values());
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
        let said = self
            .0
            .ask(&format!("{clusters} {threads} {steps}"), centres)?;
        said.parse()
            .map_err(|_| format!("scikit-learn said {said:?} where seconds belong"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_is_a_reason() {
        let reason = ScikitLearn::start(Path::new("no-such-python")).unwrap_err();
        assert!(
            reason.starts_with("no-such-python does not run"),
            "{reason}"
        );
    }
}
