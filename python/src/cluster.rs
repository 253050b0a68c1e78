//! Clusterings.

use crate::annealed::{AnnealedMethod, ChoiceReason, WantedClusters, annealed};
use crate::errors::of_data;
use crate::fit::{FitRanks, FitRun, watched};
use crate::pickled::{PickleParts, read, reduced};
use crate::points::{points, rows as rows_of};
use motet::mining::{
    self, Annealing, Checkpoints, ClusterChoice, Clusters, Control, Init, KMeans, MiningError,
    Points,
};
use motet::{Communicator, RunError};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What a fit has found. It never changes.
#[pyclass(frozen, module = "motet._motet")]
#[derive(Debug)]
pub(crate) struct Clustering(mining::Clustering);

/// A matrix of so many columns.
pub(crate) fn matrix(
    py: Python<'_>,
    values: Vec<f64>,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = values.len() / columns.max(1);
    PyArray1::from_vec(py, values).reshape([rows, columns])
}

/// Labels as scikit-learn has them.
pub(crate) fn labels<'py>(py: Python<'py>, labels: &[u32]) -> Bound<'py, PyArray1<i32>> {
    PyArray1::from_iter(py, labels.iter().map(|&label| label as i32))
}

/// Temperatures in order, as the bytes of an array of `TRACE`, of which each field has eight.
pub(crate) fn steps<'py>(py: Python<'py>, trace: &[mining::TraceStep]) -> Bound<'py, PyBytes> {
    let fields = |step: &mining::TraceStep| {
        let (clusters, iterations) = (step.clusters as u64, step.iterations as u64);
        let reals = [step.temperature, step.free_energy].map(f64::to_bits);
        [reals[0], reals[1], clusters, iterations]
    };
    let bytes = trace.iter().flat_map(fields).flat_map(u64::to_ne_bytes);
    PyBytes::new(py, &bytes.collect::<Vec<u8>>())
}

#[pymethods]
impl Clustering {
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        labels(py, &self.0.labels)
    }

    #[getter]
    fn centers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix(py, self.0.centres.clone(), self.0.dim)
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
    fn spread<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.spread)
    }

    #[getter]
    fn inertia(&self) -> f64 {
        self.0.inertia
    }

    /// Passes over the data (or a summary of them), times clusters.
    #[getter]
    fn work(&self) -> u64 {
        self.0.cluster_iterations
    }

    /// The steps of the start of K-means that counts.
    #[getter]
    fn iterations(&self) -> usize {
        self.0.iterations
    }

    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        steps(py, &self.0.trace)
    }

    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let points = points(&rows, None)?;
        let found = py.detach(|| self.0.predict(&points));
        Ok(labels(py, &found.map_err(|error| of_data(&error))?))
    }

    fn transform<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = points(&rows, None)?;
        let found = py.detach(|| self.0.transform(&points));
        let found = found.map_err(|error| of_data(&error))?;
        matrix(py, found, self.0.clusters())
    }

    /// The same of the bytes that a pickle holds.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Clustering> {
        Ok(Clustering(read(bytes)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PickleParts<'py>> {
        reduced::<Clustering>(py, &self.0)
    }
}

/// The annealing of points.
struct Rows {
    method: Annealing,
    points: Points,
}

impl AnnealedMethod for Rows {
    type Part = mining::Clustering;

    async fn choose(
        &self,
        comm: &Communicator,
        at_most: usize,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<ClusterChoice, MiningError> {
        let Rows { method, points } = self;
        match kept {
            Some(kept) => {
                let choice = method.choose_kept(comm, points, at_most, control, kept);
                choice.await
            }
            None => method.choose(comm, points, at_most, control).await,
        }
    }

    async fn fit(
        &self,
        comm: &Communicator,
        clusters: Clusters,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<mining::Clustering, MiningError> {
        let method = Annealing {
            clusters,
            ..self.method.clone()
        };
        match kept {
            Some(kept) => method.fit_kept(comm, &self.points, control, kept).await,
            None => method.fit(comm, &self.points, control).await,
        }
    }

    fn join(parts: Vec<mining::Clustering>) -> Option<mining::Clustering> {
        mining::Clustering::join(parts)
    }
}

/// Anneals rows to `clusters` clusters; without that number, to those that there are at `t_min`;
/// without both, to as many as the rows speak for.
#[pyfunction]
#[pyo3(signature = (rows, weights, clusters, t_min, at_most, cooling, search, run))]
#[allow(
    clippy::too_many_arguments,
    reason = "the one caller names them all, from the parameters of its class"
)]
pub(crate) fn anneal(
    py: Python<'_>,
    rows: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    clusters: Option<usize>,
    t_min: Option<f64>,
    at_most: usize,
    cooling: f64,
    search: usize,
    run: &FitRun,
) -> PyResult<(Clustering, ChoiceReason)> {
    let asked = WantedClusters::new(clusters, t_min, at_most);
    let numbers = rows.len().saturating_mul(asked.most());
    let rows = Rows {
        method: Annealing {
            cooling,
            search,
            ..Annealing::default()
        },
        points: points(&rows, weights.as_ref())?,
    };
    let fit = move |ranks: &FitRanks, control: &Control<'_>| annealed(ranks, control, asked, &rows);
    let (found, reason) = watched(py, run, numbers, fit)?;
    Ok((Clustering(found), reason))
}

/// Where K-means begins.
#[derive(FromPyObject)]
pub(crate) enum FirstCentres<'py> {
    #[pyo3(transparent)]
    /// By k-means++, or at random.
    PlusPlus(bool),
    /// One in each row.
    #[pyo3(transparent)]
    Given(PyReadonlyArray2<'py, f64>),
}

/// K-means of rows, from centres that are given, or chosen by k-means++ or at random.
#[pyfunction]
#[pyo3(signature = (rows, weights, clusters, init, seed, restarts, iterations, tolerance, run))]
#[allow(
    clippy::too_many_arguments,
    reason = "the one caller names them all, from the parameters of its class"
)]
pub(crate) fn kmeans(
    py: Python<'_>,
    rows: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    clusters: usize,
    init: FirstCentres<'_>,
    seed: u64,
    restarts: usize,
    iterations: usize,
    tolerance: f64,
    run: &FitRun,
) -> PyResult<Clustering> {
    let points = points(&rows, weights.as_ref())?;
    let numbers = rows
        .len()
        .saturating_mul(clusters)
        .saturating_mul(restarts.max(1));
    let method = KMeans {
        clusters,
        init: match init {
            FirstCentres::PlusPlus(true) => Init::PlusPlus,
            FirstCentres::PlusPlus(false) => Init::Random,
            FirstCentres::Given(centres) => Init::Centres(rows_of(&centres)?),
        },
        seed,
        restarts,
        max_iterations: iterations,
        tolerance,
    };
    let fit = move |ranks: &FitRanks, control: &Control<'_>| -> Result<_, RunError<MiningError>> {
        let parts = ranks.run(async |comm| match ranks.kept() {
            Some(kept) => method.fit_kept(&comm, &points, control, kept).await,
            None => method.fit(&comm, &points, control).await,
        })?;
        Ok(mining::Clustering::join(parts).expect("the parts of all ranks make a whole"))
    };
    Ok(Clustering(watched(py, run, numbers, fit)?))
}
