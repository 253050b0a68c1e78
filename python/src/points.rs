//! Arrays of Python as what the methods read.

use crate::errors::of_data;
use motet::mining::Points;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// A matrix of numbers, row after row, whatever its strides.
pub(crate) fn rows(matrix: &PyReadonlyArray2<'_, f64>) -> Vec<f64> {
    let matrix = matrix.as_array();
    match matrix.as_slice() {
        Some(values) => values.to_vec(),
        // Another order in memory.
        None => matrix.iter().copied().collect(),
    }
}

/// Points with these weights.
pub(crate) fn points(
    matrix: &PyReadonlyArray2<'_, f64>,
    weights: Option<&PyReadonlyArray1<'_, f64>>,
) -> PyResult<Points> {
    let columns = matrix.as_array().ncols();
    let points = Points::new(rows(matrix), columns).map_err(|error| of_data(&error))?;
    let Some(weights) = weights else {
        return Ok(points);
    };
    let weights = weights.as_array().iter().copied().collect();
    points.weighted(weights).map_err(|error| of_data(&error))
}
