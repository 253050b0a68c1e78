//! Arrays of Python as what the methods read.

use crate::errors::{of_data, room_for};
use motet::mining::Points;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// A matrix of numbers, row after row, whatever its strides.
pub(crate) fn rows(matrix: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<f64>> {
    let matrix = matrix.as_array();
    let mut all = room_for("a copy of the rows", matrix.len())?;
    match matrix.as_slice() {
        Some(values) => all.extend_from_slice(values),
        // Another order in memory.
        None => all.extend(matrix.iter().copied()),
    }
    Ok(all)
}

/// Points with these weights.
pub(crate) fn points(
    matrix: &PyReadonlyArray2<'_, f64>,
    weights: Option<&PyReadonlyArray1<'_, f64>>,
) -> PyResult<Points> {
    let columns = matrix.as_array().ncols();
    let points = Points::new(rows(matrix)?, columns).map_err(|error| of_data(&error))?;
    let Some(weights) = weights else {
        return Ok(points);
    };
    let weights = weights.as_array().iter().copied().collect();
    points.weighted(weights).map_err(|error| of_data(&error))
}
