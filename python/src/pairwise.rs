//! Clusterings of rows of which only dissimilarities are known.

use crate::annealed::{AnnealedMethod, ChoiceReason, WantedClusters, annealed};
use crate::cluster::{labels, steps};
use crate::errors::of_data;
use crate::fit::{FitRanks, FitRun, watched};
use crate::pickled::{PickleParts, read, reduced};
use crate::points::rows;
use motet::Communicator;
use motet::mining::{
    self, Checkpoints, ClusterChoice, Clusters, Control, Dissimilarities, MiningError, Pairwise,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        steps(py, &self.0.trace)
    }

    /// The same of the bytes that a pickle holds.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<PairwiseClustering> {
        Ok(PairwiseClustering(read(bytes)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PickleParts<'py>> {
        reduced::<PairwiseClustering>(py, &self.0)
    }
}

/// The annealing of pairs.
struct Pairs {
    method: Pairwise,
    pairs: Dissimilarities,
    weights: Option<Vec<f64>>,
}

impl AnnealedMethod for Pairs {
    type Part = mining::PairwiseClustering;

    async fn choose(
        &self,
        comm: &Communicator,
        at_most: usize,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<ClusterChoice, MiningError> {
        let (method, weights) = (&self.method, self.weights.as_deref());
        let pairs = &self.pairs;
        match kept {
            Some(kept) => {
                let choice = method.choose_kept(comm, (pairs, weights), at_most, control, kept);
                choice.await
            }
            None => method.choose(comm, pairs, weights, at_most, control).await,
        }
    }

    async fn fit(
        &self,
        comm: &Communicator,
        clusters: Clusters,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<mining::PairwiseClustering, MiningError> {
        let method = Pairwise {
            clusters,
            ..self.method.clone()
        };
        let weights = self.weights.as_deref();
        let pairs = &self.pairs;
        match kept {
            Some(kept) => method.fit_kept(comm, pairs, weights, control, kept).await,
            None => method.fit(comm, pairs, weights, control).await,
        }
    }

    fn join(parts: Vec<mining::PairwiseClustering>) -> Option<mining::PairwiseClustering> {
        mining::PairwiseClustering::join(parts)
    }
}

/// Anneals rows with these dissimilarities to `clusters` clusters. Without that number it anneals
/// to those that there are at `t_min`. Without both it anneals to as many as the pairs speak for.
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
    run: &FitRun,
) -> PyResult<(PairwiseClustering, ChoiceReason)> {
    let asked = WantedClusters::new(clusters, t_min, at_most);
    let count = pairs.as_array().nrows();
    // A step over pairs does more for each number than one over rows.
    let factor = asked.most().saturating_mul(16);
    let numbers = pairs.len().saturating_mul(factor);
    let pairs = Pairs {
        method: Pairwise {
            cooling,
            ..Pairwise::default()
        },
        pairs: Dissimilarities::new(rows(&pairs)?, count).map_err(|error| of_data(&error))?,
        weights: weights.map(|weights| weights.as_array().iter().copied().collect()),
    };
    let fit =
        move |ranks: &FitRanks, control: &Control<'_>| annealed(ranks, control, asked, &pairs);
    let (found, reason) = watched(py, run, numbers, fit)?;
    Ok((PairwiseClustering(found), reason))
}
