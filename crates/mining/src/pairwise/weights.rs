//! The weights of rows.

use crate::DataError;

/// Weights that add up to 1.
pub(super) fn normalised(weights: Option<&[f64]>, rows: usize) -> Result<Vec<f64>, DataError> {
    let Some(weights) = weights else {
        return Ok(vec![1.0 / rows as f64; rows]);
    };
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
    Ok(weights.iter().map(|w| w / sum).collect())
}
