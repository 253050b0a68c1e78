//! Hidden Markov models.

use crate::cluster::matrix;
use crate::errors::{MotetError, of_data};
use crate::fit::{FitRanks, FitRun, watched_on};
use crate::pickled::{PickleParts, read, reduced};
use crate::points::rows;
use motet::RunError;
use motet::mining::{Control, Emissions, Hmm, HmmModel, MiningError, Observations};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A model. It never changes.
#[pyclass(frozen, module = "motet._motet")]
#[derive(Debug)]
pub(crate) struct Markov(HmmModel);

fn model(start: Vec<f64>, transitions: Vec<f64>, shown: Emissions) -> PyResult<Markov> {
    let model = HmmModel::new(start, transitions, shown);
    Ok(Markov(model.map_err(|error| of_data(&error))?))
}

/// Rows that are cut into sequences of these lengths.
fn observations(
    emissions: &Emissions,
    matrix: &PyReadonlyArray2<'_, f64>,
    lengths: &[usize],
) -> PyResult<Observations> {
    let (values, columns) = (rows(matrix)?, matrix.as_array().ncols());
    let ends: usize = lengths.iter().sum();
    if ends * columns != values.len() {
        let there = values.len() / columns.max(1);
        let said = format!("the lengths add up to {ends}, and there are {there} rows");
        return Err(PyValueError::new_err(said));
    }
    let mut rest = &values[..];
    let mut sequences = Vec::new();
    for length in lengths {
        let (own, others) = rest.split_at(length * columns);
        sequences.push(own.to_vec());
        rest = others;
    }
    let seen = match emissions {
        Emissions::Discrete { symbols, .. } => {
            let symbols_of = |values: &Vec<f64>| values.iter().map(|&value| value as u32).collect();
            let sequences: Vec<Vec<u32>> = sequences.iter().map(symbols_of).collect();
            Observations::symbols(&sequences, *symbols)
        }
        _ => Observations::numbers(&sequences, columns),
    };
    seen.map_err(|error| of_data(&error))
}

#[pymethods]
impl Markov {
    /// A model whose states show symbols from 0 on.
    #[staticmethod]
    fn categorical(
        start: Vec<f64>,
        transitions: PyReadonlyArray2<'_, f64>,
        probabilities: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Markov> {
        let shown = Emissions::Discrete {
            symbols: probabilities.as_array().ncols(),
            probabilities: rows(&probabilities)?,
        };
        model(start, rows(&transitions)?, shown)
    }

    /// A model whose states show numbers of normal distributions.
    #[staticmethod]
    fn gaussian(
        start: Vec<f64>,
        transitions: PyReadonlyArray2<'_, f64>,
        means: PyReadonlyArray2<'_, f64>,
        variances: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Markov> {
        let shown = Emissions::Gaussian {
            dim: means.as_array().ncols(),
            means: rows(&means)?,
            variances: rows(&variances)?,
        };
        model(start, rows(&transitions)?, shown)
    }

    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.start())
    }

    #[getter]
    fn transitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix(py, self.0.transitions().to_vec(), self.0.states())
    }

    /// Of each state the probabilities of symbols, or the means; then nothing, or the variances.
    #[getter]
    #[allow(clippy::type_complexity, reason = "the two matrices of a model")]
    fn emissions<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray2<f64>>>)> {
        match self.0.emissions() {
            Emissions::Discrete {
                symbols,
                probabilities,
            } => Ok((matrix(py, probabilities.clone(), *symbols)?, None)),
            Emissions::Gaussian {
                dim,
                means,
                variances,
            } => {
                let variances = matrix(py, variances.clone(), *dim)?;
                Ok((matrix(py, means.clone(), *dim)?, Some(variances)))
            }
            _ => Err(MotetError::new_err("this kind of states is not known here")),
        }
    }

    /// The logarithm of the probability of each sequence.
    fn score<'py>(
        &self,
        py: Python<'py>,
        shown: PyReadonlyArray2<'py, f64>,
        lengths: Vec<usize>,
        run: &FitRun,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (seen, model) = (
            observations(self.0.emissions(), &shown, &lengths)?,
            self.0.clone(),
        );
        let work = work(&seen, self.0.states(), 1);
        let scores = watched_on(py, run, work, move |ranks, control| {
            let all = ranks.run(async |comm| model.score(&comm, &seen, control).await)?;
            Ok(all.into_iter().next().unwrap_or_default())
        })?;
        Ok(PyArray1::from_vec(py, scores))
    }

    /// The most probable states of all places, and the logarithm of the probability of each
    /// sequence with them.
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        shown: PyReadonlyArray2<'py, f64>,
        lengths: Vec<usize>,
        run: &FitRun,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i32>>)> {
        let (seen, model) = (
            observations(self.0.emissions(), &shown, &lengths)?,
            self.0.clone(),
        );
        let work = work(&seen, self.0.states(), 1);
        let parts = watched_on(py, run, work, move |ranks, control| {
            ranks.run(async |comm| model.decode(&comm, &seen, control).await)
        })?;
        let states = parts.iter().flat_map(|part| part.paths.iter().flatten());
        let states = PyArray1::from_iter(py, states.map(|&state| state as i32));
        let logs = parts.iter().flat_map(|part| part.log_p.iter().copied());
        Ok((PyArray1::from_iter(py, logs), states))
    }

    /// The probability of each state at each place.
    fn posteriors<'py>(
        &self,
        py: Python<'py>,
        shown: PyReadonlyArray2<'py, f64>,
        lengths: Vec<usize>,
        run: &FitRun,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (seen, model) = (
            observations(self.0.emissions(), &shown, &lengths)?,
            self.0.clone(),
        );
        let work = work(&seen, self.0.states(), 1);
        let parts = watched_on(py, run, work, move |ranks, control| {
            ranks.run(async |comm| model.posteriors(&comm, &seen, control).await)
        })?;
        let shares = parts.iter().flat_map(|part| part.shares.iter().flatten());
        let shares = PyArray1::from_iter(py, shares.copied());
        let places = lengths.iter().sum::<usize>();
        shares.reshape([places, self.0.states()])
    }

    /// The same of the bytes that a pickle holds.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Markov> {
        Ok(Markov(read(bytes)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PickleParts<'py>> {
        reduced::<Markov>(py, &self.0)
    }
}

/// How much there is to do in so many passes, and how many ranks can share it.
fn work(seen: &Observations, states: usize, passes: usize) -> (usize, usize) {
    let places: usize = (0..seen.len()).map(|sequence| seen.places(sequence)).sum();
    let numbers = places.saturating_mul(states).saturating_mul(passes);
    (numbers, seen.blocks())
}

/// Fits a model to sequences from `start` on. Gives the model, the logarithms of the probability
/// before each step, and whether they stood still at the end.
#[pyfunction]
#[pyo3(signature = (start, shown, lengths, tolerance, iterations, floor, run))]
#[allow(
    clippy::too_many_arguments,
    reason = "the one caller names them all, from the parameters of its class"
)]
pub(crate) fn fit_markov(
    py: Python<'_>,
    start: &Markov,
    shown: PyReadonlyArray2<'_, f64>,
    lengths: Vec<usize>,
    tolerance: f64,
    iterations: usize,
    floor: f64,
    run: &FitRun,
) -> PyResult<(Markov, Vec<f64>, bool)> {
    let seen = observations(start.0.emissions(), &shown, &lengths)?;
    let work = work(&seen, start.0.states(), iterations);
    let (start, method) = (
        start.0.clone(),
        Hmm {
            tolerance,
            iterations,
            floor,
        },
    );
    let fit = move |ranks: &FitRanks, control: &Control<'_>| -> Result<_, RunError<MiningError>> {
        let parts = ranks.run(async |comm| match ranks.kept() {
            Some(kept) => method.fit_kept(&comm, &start, &seen, control, kept).await,
            None => method.fit(&comm, &start, &seen, control).await,
        })?;
        Ok(parts.into_iter().next().expect("there is a rank"))
    };
    let fitted = watched_on(py, run, work, fit)?;
    Ok((Markov(fitted.model), fitted.trace, fitted.converged))
}
