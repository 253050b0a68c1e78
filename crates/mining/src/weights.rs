//! The weights of rows.

use crate::DataError;

/// The least share of all weight that a row may have: what is computed with less loses digits, or
/// becomes zero.
const LEAST_SHARE: f64 = f64::MIN_POSITIVE / f64::EPSILON;

/// Checks the weights of so many rows; their sum.
pub(crate) fn sum(weights: &[f64], rows: usize) -> Result<f64, DataError> {
    if weights.len() != rows {
        return Err(DataError::WeightCount {
            weights: weights.len(),
            points: rows,
        });
    }
    if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        return Err(DataError::BadWeight {
            row,
            weight: weights[row],
        });
    }
    let sum: f64 = weights.iter().sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return Err(DataError::WeightSum { sum });
    }
    let vanishes = |&weight: &f64| weight > 0.0 && weight / sum < LEAST_SHARE;
    match weights.iter().position(vanishes) {
        None => Ok(sum),
        Some(row) => Err(DataError::VanishingWeight {
            row,
            weight: weights[row],
            sum,
        }),
    }
}

/// Weights that add up to 1.
pub(crate) fn normalised(weights: Option<&[f64]>, rows: usize) -> Result<Vec<f64>, DataError> {
    let Some(weights) = weights else {
        return Ok(vec![1.0 / rows as f64; rows]);
    };
    let sum = sum(weights, rows)?;
    Ok(weights.iter().map(|w| w / sum).collect())
}
