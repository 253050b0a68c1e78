//! Clusterings of rows of which only dissimilarities are known.

use crate::cluster::{Steps, labels, steps};
use crate::errors::of_data;
use crate::fit::{Size, watched};
use crate::pickled::{Reduced, read, reduced};
use crate::points::rows;
use motet::mining::{self, Clusters, Control, Dissimilarities, MiningError, Pairwise};
use motet::{RunError, World};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What a fit has found. It never changes.
#[pyclass(frozen, module = "motet._motet")]
#[derive(Debug)]
pub(crate) struct PairwiseClustering(mining::PairwiseClustering);

#[pymethods]
impl PairwiseClustering {
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        labels(py, &self.0.labels)
    }

    #[getter]
    fn sizes(&self) -> Vec<usize> {
        self.0.sizes.clone()
    }

    #[getter]
    fn masses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.masses)
    }

    #[getter]
    fn medoids(&self) -> Vec<usize> {
        self.0.medoids.clone()
    }

    #[getter]
    fn mean_costs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.mean_costs)
    }

    #[getter]
    fn cost(&self) -> f64 {
        self.0.cost
    }

    /// The temperatures in order: temperature, free energy, clusters, iterations.
    #[getter]
    fn trace(&self) -> Steps {
        steps(&self.0.trace)
    }

    /// The same of the bytes that a pickle holds.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<PairwiseClustering> {
        Ok(PairwiseClustering(read(bytes)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<PairwiseClustering>(py, &self.0)
    }
}

/// Anneals rows with these dissimilarities to `clusters` clusters, or, without that number, to
/// those that there are at `t_min`.
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    reason = "the one caller names them all, from the parameters of its class"
)]
pub(crate) fn anneal_pairs(
    py: Python<'_>,
    pairs: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    clusters: Option<usize>,
    t_min: Option<f64>,
    at_most: usize,
    cooling: f64,
    threads: usize,
    callback: Option<Py<PyAny>>,
) -> PyResult<PairwiseClustering> {
    let count = pairs.as_array().nrows();
    let numbers = count * count * clusters.unwrap_or(at_most);
    let pairs = Dissimilarities::new(rows(&pairs), count).map_err(|error| of_data(&error))?;
    let weights: Option<Vec<f64>> =
        weights.map(|weights| weights.as_array().iter().copied().collect());
    let clusters = match (clusters, t_min) {
        (Some(clusters), _) => Clusters::Exactly(clusters),
        (None, Some(t_min)) => Clusters::Found { t_min, at_most },
        (None, None) => {
            let said = "without n_clusters there must be a t_min";
            return Err(PyValueError::new_err(said));
        }
    };
    let method = Pairwise {
        clusters,
        cooling,
        ..Pairwise::default()
    };
    let fit = move |world: &World, control: &Control<'_>| -> Result<_, RunError<MiningError>> {
        let fit = async |comm| method.fit(&comm, &pairs, weights.as_deref(), control).await;
        let parts = world.run(fit)?;
        let whole = mining::PairwiseClustering::join(parts);
        Ok(whole.expect("the parts of all ranks make a whole"))
    };
    let size = Size {
        ranks: threads,
        numbers: numbers.saturating_mul(16),
    };
    Ok(PairwiseClustering(watched(
        py,
        size,
        callback.as_ref(),
        fit,
    )?))
}
