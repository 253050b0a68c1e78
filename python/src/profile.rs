//! Where the time of a fit went.

use crate::pickled::{PickleParts, read, reduced};
use motet::comm;
use pyo3::prelude::*;

/// Computing, messaging and waiting of each rank of a run. It never changes.
///
/// Printed, it shows the ranks, their stages, and the overhead with its parts, as
/// `motet cluster --profile` does.
#[pyclass(frozen, module = "motet._motet")]
#[derive(Debug)]
pub(crate) struct Profile(pub(crate) comm::Profile);

#[pymethods]
impl Profile {
    /// Seconds from the beginning of the first rank to the end of the last.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds
    }

    /// The threads on which ranks ran.
    #[getter]
    fn threads(&self) -> usize {
        self.0.threads
    }

    /// Of each rank its thread, and the seconds of computing, messaging and waiting.
    #[getter]
    fn ranks(&self) -> Vec<(usize, f64, f64, f64)> {
        let ranks = self.0.ranks.iter().map(|rank| {
            let [computing, messaging, waiting] = rank.totals();
            (rank.thread, computing, messaging, waiting)
        });
        ranks.collect()
    }

    /// The overhead f: threads times seconds over the computing, minus 1.
    #[getter]
    fn overhead(&self) -> f64 {
        self.0.overhead().overhead
    }

    /// The stages that lose at least this share of the run to a rank that computes longer than the
    /// others, those that lose most first. Each has the rank, the call, and where it is. Each also
    /// has how much longer the rank computes than the mean, and the seconds that an even share
    /// would save.
    #[pyo3(signature = (least_share=0.01))]
    fn imbalances(&self, least_share: f64) -> Vec<(usize, String, String, f64, f64)> {
        let found = self.0.imbalances(least_share).into_iter();
        let told = found.map(|one| (one.rank, one.call, one.site, one.longer, one.saved));
        told.collect()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let comm::Profile {
            seconds, threads, ..
        } = self.0;
        let ranks = self.0.ranks.len();
        format!("<Profile of {ranks} ranks on {threads} threads, {seconds:.3} s>")
    }

    /// The same of the bytes that a pickle holds.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Profile> {
        Ok(Profile(read(bytes)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PickleParts<'py>> {
        reduced::<Profile>(py, &self.0)
    }
}
