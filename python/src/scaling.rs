//! Places of rows of which only dissimilarities are known.

use crate::cluster::matrix;
use crate::errors::of_data;
use crate::fit::{FitRanks, FitRun, watched};
use crate::pickled::{PickleParts, read, reduced};
use crate::points::rows;
use motet::RunError;
use motet::mining::{Control, Dissimilarities, MiningError, Scaled, Scaling, ScalingMethod};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What a fit has found. It never changes.
#[pyclass(frozen, module = "motet._motet")]
#[derive(Debug)]
pub(crate) struct Places(Scaled);

#[pymethods]
impl Places {
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix(py, self.0.places.clone(), self.0.dim)
    }

    /// The stress, and its share of the sum of the squared dissimilarities.
    #[getter]
    fn stress(&self) -> (f64, f64) {
        (self.0.stress, self.0.relative_stress)
    }

    #[getter]
    fn eigenvalues<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.eigenvalues)
    }

    /// The temperatures in order: temperature, stress, iterations.
    #[getter]
    fn trace(&self) -> Vec<(f64, f64, usize)> {
        let steps = self.0.trace.iter();
        let step = steps.map(|step| (step.temperature, step.stress, step.iterations));
        step.collect()
    }

    /// The same of the bytes that a pickle holds.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Places> {
        Ok(Places(read(bytes)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PickleParts<'py>> {
        reduced::<Places>(py, &self.0)
    }
}

/// Finds places in `dim` dimensions for rows with these dissimilarities.
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    reason = "the one caller names them all, from the parameters of its class"
)]
pub(crate) fn scale(
    py: Python<'_>,
    pairs: PyReadonlyArray2<'_, f64>,
    dim: usize,
    method: &str,
    cooling: f64,
    tolerance: f64,
    iterations: usize,
    run: &FitRun,
) -> PyResult<Places> {
    let count = pairs.as_array().nrows();
    let pairs = Dissimilarities::new(rows(&pairs)?, count).map_err(|error| of_data(&error))?;
    let method = match method {
        "annealed" => ScalingMethod::Annealed,
        "majorised" => ScalingMethod::Majorised,
        "classical" => ScalingMethod::Classical,
        other => {
            let said =
                format!("method is {other:?}: it must be 'annealed', 'majorised' or 'classical'");
            return Err(PyValueError::new_err(said));
        }
    };
    let scaling = Scaling {
        dim,
        method,
        cooling,
        tolerance,
        iterations,
    };
    let fit = move |ranks: &FitRanks, control: &Control<'_>| -> Result<_, RunError<MiningError>> {
        let parts = ranks.run(async |comm| match ranks.kept() {
            Some(kept) => scaling.fit_kept(&comm, &pairs, control, kept).await,
            None => scaling.fit(&comm, &pairs, control).await,
        })?;
        Ok(parts.into_iter().next().expect("there is a rank"))
    };
    Ok(Places(watched(py, run, usize::MAX, fit)?))
}
