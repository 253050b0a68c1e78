//! Mixtures of normal distributions.

use crate::cluster::{labels, matrix};
use crate::fit::{FitRanks, FitRun, watched};
use crate::pickled::{PickleParts, read, reduced};
use crate::points::points;
use motet::mining::{Control, Covariance, MiningError, MixtureModel, MixtureStart};
use motet::{RunError, mining};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What a fit of a mixture has found. It never changes.
#[pyclass(frozen, module = "motet._motet")]
#[derive(Debug)]
pub(crate) struct Mixture(MixtureModel);

#[pymethods]
impl Mixture {
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.weights)
    }

    #[getter]
    fn means<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix(py, self.0.means.clone(), self.0.dim)
    }

    /// As they lie in memory; the shape depends on their kind.
    #[getter]
    fn covariances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.covariances)
    }

    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        labels(py, &self.0.labels)
    }

    #[getter]
    fn log_likelihood(&self) -> f64 {
        self.0.log_likelihood
    }

    #[getter]
    fn bic(&self) -> f64 {
        self.0.bic
    }

    #[getter]
    fn aic(&self) -> f64 {
        self.0.aic
    }

    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.trace)
    }

    #[getter]
    fn converged(&self) -> bool {
        self.0.converged
    }

    /// The same of the bytes that a pickle holds.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Mixture> {
        Ok(Mixture(read(bytes)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PickleParts<'py>> {
        reduced::<Mixture>(py, &self.0)
    }
}

/// The kind of covariances that has this name.
fn covariance(name: &str) -> PyResult<Covariance> {
    Ok(match name {
        "full" => Covariance::Full,
        "tied" => Covariance::Tied,
        "diag" => Covariance::Diagonal,
        "spherical" => Covariance::Spherical,
        other => {
            let said = format!(
                "covariance_type is {other:?}: it must be 'full', 'tied', 'diag' or 'spherical'"
            );
            return Err(PyValueError::new_err(said));
        }
    })
}

/// Fits a mixture to rows.
#[pyfunction]
#[pyo3(signature = (rows, components, kind, floor, tolerance, iterations, starts, seed, run))]
#[allow(
    clippy::too_many_arguments,
    reason = "the one caller names them all, from the parameters of its class"
)]
pub(crate) fn mixture(
    py: Python<'_>,
    rows: PyReadonlyArray2<'_, f64>,
    components: usize,
    kind: &str,
    floor: f64,
    tolerance: f64,
    iterations: usize,
    starts: usize,
    seed: u64,
    run: &FitRun,
) -> PyResult<Mixture> {
    let points = points(&rows, None)?;
    let method = mining::Mixture {
        components,
        covariance: covariance(kind)?,
        floor,
        tolerance,
        iterations,
        start: MixtureStart::Several {
            count: starts,
            seed,
        },
    };
    let fit = move |ranks: &FitRanks, control: &Control<'_>| -> Result<_, RunError<MiningError>> {
        let parts = ranks.run(async |comm| match ranks.kept() {
            Some(kept) => method.fit_kept(&comm, &points, control, kept).await,
            None => method.fit(&comm, &points, control).await,
        })?;
        Ok(MixtureModel::join(parts).expect("the parts of all ranks make a whole"))
    };
    Ok(Mixture(watched(py, run, usize::MAX, fit)?))
}
