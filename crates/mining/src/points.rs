//! Points to cluster.

use crate::DataError;
use crate::power::power_of_two_above;
use crate::weights;

/// Points in a space of `dim` columns, checked once. Every value is finite, and there is at least
/// one row and one column. Weights are finite, not negative, and add up to something positive.
///
/// All ranks read the same `Points` by shared reference. Duplicates, rows of weight zero and
/// constant columns are legal. Values keep the units they came in.
///
/// # Examples
///
/// ```
/// use motet_mining::{DataError, Points};
///
/// let points = Points::new(vec![0.0, 1.0, 2.0, 1.0], 2)?.weighted(vec![1.0, 3.0])?;
/// assert_eq!((points.len(), points.dim()), (2, 2));
/// assert_eq!(points.row(1), [2.0, 1.0]);
/// assert_eq!(points.constant_columns(), [1]);
///
/// let broken = Points::new(vec![0.0, 1.0, f64::NAN, 1.0], 2);
/// assert!(matches!(broken, Err(DataError::NotFinite { row: 1, column: 0, .. })));
/// # Ok::<(), DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    values: Vec<f64>,
    dim: usize,
    weights: Option<Vec<f64>>,
    constant: Vec<usize>,
}

impl Points {
    /// Takes `values` as rows of `dim` columns, row after row, each of weight one.
    ///
    /// # Errors
    ///
    /// Any [`DataError`] but those on weights and places; it names the first bad row and column.
    pub fn new(values: Vec<f64>, dim: usize) -> Result<Points, DataError> {
        if dim == 0 {
            return Err(DataError::NoColumns);
        }
        if values.is_empty() {
            return Err(DataError::Empty);
        }
        if !values.len().is_multiple_of(dim) {
            return Err(DataError::Ragged {
                values: values.len(),
                dim,
            });
        }
        countable(values.len() / dim)?;
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(DataError::NotFinite {
                row: at / dim,
                column: at % dim,
                value: values[at],
            });
        }
        let (first, rest) = values.split_at(dim);
        let varies = |j: &usize| rest.iter().skip(*j).step_by(dim).any(|v| *v != first[*j]);
        let constant = (0..dim).filter(|j| !varies(j)).collect();
        Ok(Points {
            values,
            dim,
            weights: None,
            constant,
        })
    }

    /// Gives each row a weight, in any unit: only proportions matter to the centres.
    ///
    /// # Errors
    ///
    /// [`DataError::WeightCount`], [`DataError::BadWeight`], [`DataError::WeightSum`] or
    /// [`DataError::VanishingWeight`].
    pub fn weighted(mut self, weights: Vec<f64>) -> Result<Points, DataError> {
        weights::sum(&weights, self.len())?;
        self.weights = Some(weights);
        Ok(self)
    }

    /// The same points with every column brought to mean 0 and variance 1 by weight, for columns
    /// of mixed units. A column that is constant in the rows of positive weight becomes 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_mining::Points;
    ///
    /// let points = Points::new(vec![1.0, 700.0, 3.0, 900.0], 2)?.standardised();
    /// assert_eq!(points.values(), [-1.0, -1.0, 1.0, 1.0]);
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    #[must_use]
    pub fn standardised(mut self) -> Points {
        let total: f64 = (0..self.len()).map(|row| self.weight(row)).sum();
        for j in 0..self.dim {
            let column = self.values.iter().skip(j).step_by(self.dim);
            let counts = |row: usize| self.weight(row) > 0.0;
            let counted = column.clone().enumerate().filter(|(row, _)| counts(*row));
            // A power of two: squares stay finite and no bit changes.
            let scale = power_of_two_above(counted.fold(0.0, |m, (_, v)| v.abs().max(m)));
            let scaled: Vec<f64> = column.map(|value| value / scale).collect();
            let mean_of = |f: &dyn Fn(f64) -> f64| {
                let rows = scaled.iter().enumerate().filter(|(row, _)| counts(*row));
                let terms = rows.map(|(i, &v)| self.weight(i) / total * f(v));
                terms.sum::<f64>()
            };
            let mean = mean_of(&|v| v);
            let deviation = mean_of(&|v| (v - mean) * (v - mean)).sqrt();
            // What a sum rounds would be the deviation of a column without any.
            let flat = deviation == 0.0 || self.is_flat(&scaled);
            if flat && !self.constant.contains(&j) {
                self.constant.push(j);
            }
            for (new, old) in self
                .values
                .iter_mut()
                .skip(j)
                .step_by(self.dim)
                .zip(&scaled)
            {
                // A row without weight may be farther away than any number.
                let apart = ((old - mean) / deviation).clamp(f64::MIN, f64::MAX);
                *new = if flat { 0.0 } else { apart };
            }
        }
        self.constant.sort_unstable();
        self
    }

    /// Whether a column has the same value in all rows of positive weight.
    fn is_flat(&self, column: &[f64]) -> bool {
        let rows = column.iter().enumerate();
        let mut counted = rows.filter(|(row, _)| self.weight(*row) > 0.0);
        let first = counted.next();
        counted.all(|(_, value)| first.is_some_and(|(_, first)| value == first))
    }

    /// The number of rows.
    #[allow(clippy::len_without_is_empty, reason = "points are never empty")]
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// The number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// One row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.dim..][..self.dim]
    }

    /// The weights, if they were given.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The weight of one row: one if none were given.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn weight(&self, row: usize) -> f64 {
        assert!(row < self.len(), "row {row} of {}", self.len());
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// Names the largest value of a column whose squares are beyond all numbers.
    pub(crate) fn too_large(&self, column: usize) -> DataError {
        let counted = (0..self.len()).filter(|row| self.weight(*row) > 0.0);
        let size = |row: &usize| self.row(*row)[column].abs();
        let row = counted.max_by(|a, b| size(a).total_cmp(&size(b)));
        let row = row.unwrap_or_default();
        DataError::LargeValue {
            row,
            column,
            value: self.row(row)[column],
        }
    }

    /// The columns whose value is the same in every row.
    pub fn constant_columns(&self) -> &[usize] {
        &self.constant
    }
}

/// Rows are numbered by 32 bits inside: half the memory of the order in which they are sorted.
fn countable(points: usize) -> Result<(), DataError> {
    match u32::try_from(points) {
        Ok(_) => Ok(()),
        Err(_) => Err(DataError::TooManyPoints { points }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn sem_g120_more_points_than_numbers_for_them() {
        assert_eq!(countable(u32::MAX as usize), Ok(()));
        let points = 1 << 32;
        assert_eq!(countable(points), Err(DataError::TooManyPoints { points }));
    }

    #[test]
    fn a_row_of_no_weight_takes_the_others_no_digits() {
        for far in [1e200, -1.7e308] {
            let points = Points::new(vec![1e-160, 3e-160, far], 1).unwrap();
            let points = points.weighted(vec![1.0, 1.0, 0.0]).unwrap().standardised();
            let near = &points.values()[..2];
            assert!((near[0] + 1.0).abs() < 1e-12 && (near[1] - 1.0).abs() < 1e-12);
            assert!(points.values()[2].is_finite() && points.constant_columns().is_empty());
        }
    }

    #[test]
    fn a_column_that_is_constant_but_for_rows_of_no_weight_becomes_0() {
        let column = [0.1, 0.1, 7.0, 0.1, 0.1, 0.1, 0.1];
        let values: Vec<f64> = (0..7).flat_map(|row| [row as f64, column[row]]).collect();
        let weights = column.map(|value| if value == 0.1 { 0.3 } else { 0.0 });
        let points = Points::new(values, 2).unwrap();
        let points = points.weighted(weights.to_vec()).unwrap().standardised();
        let mut columns = points.values().iter().skip(1).step_by(2);
        assert!(columns.all(|value| *value == 0.0), "{:?}", points.values());
        assert_eq!(points.constant_columns(), [1]);
        let first = |row: usize| points.row(row)[0];
        assert!(first(0) < -1.0 && first(6) > 1.0);
    }
}
