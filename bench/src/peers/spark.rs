//! Spark (`peers/spark`): iterative MapReduce on one machine, in a process that lives as long as
//! the measurement.

use super::python::Python;
use motet_mining::Points;
use std::path::Path;

/// The other end of `peers/spark/kmeans.py`.
#[derive(Debug)]
pub(crate) struct Spark(Python);

/// Whose K-means it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A map in numpy over parts that Spark keeps, and a reduction.
    Rdd,
    /// Spark's own library.
    Mllib,
}

impl Spark {
    /// Starts it on so many threads; an error says why there is no peer.
    pub(crate) fn start(python: &Path, threads: usize) -> Result<Spark, String> {
        let program = include_str!("../../peers/spark/kmeans.py");
        let variables = [("MOTET_SPARK_THREADS", threads.to_string())];
        let install = "pip install -r bench/peers/spark/requirements.txt, and Java 17 or 21";
        Python::start(python, ("Spark", program), &variables, install).map(Spark)
    }

    /// Sends it the points on which steps are made from now on.
    pub(crate) fn points(&mut self, points: &Points) {
        let head = format!("points {} {}", points.len(), points.dim());
        self.0.send(&head, points.values());
    }

    /// The seconds of each of these steps from these centres, two at least, and the sum of the
    /// coordinates of the centres after them.
    pub(crate) fn step(
        &mut self,
        form: Form,
        clusters: usize,
        centres: &[f64],
        steps: usize,
    ) -> Result<(f64, f64), String> {
        let form = match form {
            Form::Rdd => "rdd",
            Form::Mllib => "mllib",
        };
        self.0
            .ask_two(&format!("{form} {clusters} {steps}"), centres)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_program_is_a_reason() {
        let reason = Spark::start(Path::new("no-such-python"), 1).unwrap_err();
        assert!(
            reason.starts_with("no-such-python does not run"),
            "{reason}"
        );
    }
}
