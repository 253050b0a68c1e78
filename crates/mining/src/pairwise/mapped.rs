//! Dissimilarities that lie elsewhere, as in a mapped file, and are read when they are needed.

use crate::DataError;
use std::sync::Arc;

/// The side of the squares in which a matrix is compared with its transpose: few pages at a time.
const TILE: usize = 64;

/// Numbers as they lie in memory or in a file, lowest byte first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Floats {
    /// `f32`, four bytes each.
    Single,
    /// `f64`, eight bytes each.
    Double,
}

#[derive(Clone)]
pub(super) struct Mapped {
    bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
    floats: Floats,
    rows: usize,
}

impl Mapped {
    /// Checks all numbers; gives whether there are gaps too.
    pub(super) fn new(
        bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
        floats: Floats,
        rows: usize,
    ) -> Result<(Mapped, bool), DataError> {
        let mapped = Mapped {
            bytes,
            floats,
            rows,
        };
        if rows == 0 {
            return Err(DataError::Empty);
        }
        let bytes = (*mapped.bytes).as_ref().len();
        let count = rows.checked_mul(rows);
        if count.and_then(|count| count.checked_mul(floats.size())) != Some(bytes) {
            let values = bytes / floats.size();
            return Err(DataError::NotSquare { values, rows });
        }
        mapped.check_values()?;
        mapped.check_symmetry()?;
        let gaps = mapped.check_gaps()?;
        Ok((mapped, gaps))
    }

    /// Writes one row, NaN where it is not known.
    pub(super) fn read(&self, row: usize, to: &mut [f64]) {
        let size = self.floats.size();
        let bytes = &(*self.bytes).as_ref()[row * self.rows * size..][..self.rows * size];
        match self.floats {
            Floats::Single => {
                for (to, bytes) in to.iter_mut().zip(bytes.as_chunks().0) {
                    *to = f64::from(f32::from_le_bytes(*bytes));
                }
            }
            Floats::Double => {
                for (to, bytes) in to.iter_mut().zip(bytes.as_chunks().0) {
                    // The mean of both directions, as a matrix in memory has it.
                    let half = f64::from_le_bytes(*bytes) / 2.0;
                    *to = half + half;
                }
            }
        }
        to[row] = 0.0;
    }

    /// The numbers by their places.
    fn numbers(&self) -> impl Fn(usize, usize) -> f64 {
        let (bytes, rows, size) = ((*self.bytes).as_ref(), self.rows, self.floats.size());
        move |row, column| {
            let number = &bytes[(row * rows + column) * size..][..size];
            match size {
                4 => f64::from(f32::from_le_bytes(number.as_chunks().0[0])),
                _ => f64::from_le_bytes(number.as_chunks().0[0]),
            }
        }
    }

    fn check_values(&self) -> Result<(), DataError> {
        let number = self.numbers();
        let mut places = (0..self.rows).flat_map(|row| (0..self.rows).map(move |at| (row, at)));
        places.try_for_each(|(row, at)| check_one(row, at, number(row, at)))
    }

    /// Whether there are any; a row that consists of them is an error.
    fn check_gaps(&self) -> Result<bool, DataError> {
        let (mut gaps, mut line) = (false, vec![0.0; self.rows]);
        for row in 0..self.rows {
            self.read(row, &mut line);
            let known = line.iter().filter(|value| !value.is_nan()).count();
            gaps |= known < self.rows;
            if known < self.rows.min(2) {
                return Err(DataError::NoKnownPair { row });
            }
        }
        Ok(gaps)
    }

    /// The first place, row by row, that differs from the one across is told.
    fn check_symmetry(&self) -> Result<(), DataError> {
        let number = self.numbers();
        for first in (0..self.rows).step_by(TILE) {
            let rows = first..self.rows.min(first + TILE);
            let mut bad: Option<(usize, usize)> = None;
            for left in (0..rows.end).step_by(TILE) {
                for row in rows.clone() {
                    let mut columns = left..row.min(left + TILE);
                    let differs = |column: &usize| {
                        let (a, b) = (number(row, *column), number(*column, row));
                        a != b && !(a.is_nan() && b.is_nan())
                    };
                    if let Some(column) = columns.find(differs) {
                        bad = Some(bad.map_or((row, column), |bad| bad.min((row, column))));
                    }
                }
            }
            if let Some((row, column)) = bad {
                return Err(DataError::Asymmetric { row, column });
            }
        }
        Ok(())
    }
}

impl Floats {
    /// Bytes of a number.
    fn size(self) -> usize {
        match self {
            Floats::Single => 4,
            Floats::Double => 8,
        }
    }
}

/// Squares of dissimilarities up to here have a finite sum, however many rows there are.
const LARGEST: f64 = 1e140;

/// Whether a dissimilarity may have this value; NaN may stand anywhere.
pub(super) fn check_one(row: usize, column: usize, value: f64) -> Result<(), DataError> {
    if value.is_infinite() {
        return Err(DataError::NotFinite { row, column, value });
    }
    if value < 0.0 {
        return Err(DataError::NegativePair { row, column, value });
    }
    if value > LARGEST {
        return Err(DataError::LargePair { row, column, value });
    }
    if row == column && value != 0.0 && !value.is_nan() {
        return Err(DataError::Diagonal { row, value });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clusters, Control, Dissimilarities, Pairwise, PairwiseClustering};
    use motet_comm::World;

    fn bytes(values: &[f64], floats: Floats) -> Vec<u8> {
        let double = values.iter().flat_map(|value| value.to_le_bytes());
        let single = values
            .iter()
            .flat_map(|value| (*value as f32).to_le_bytes());
        match floats {
            Floats::Single => single.collect(),
            Floats::Double => double.collect(),
        }
    }

    /// Distances of 150 points on a line, some of them unknown; of more than one square of `TILE`.
    fn matrix() -> Vec<f64> {
        let at = |i: usize| (i % 3 * 40) as f64 + (i * 37 % 19) as f64 / 7.0;
        let value = |place: usize| {
            let (i, j) = (place / 150, place % 150);
            match i != j && (i + j) % 11 == 0 {
                true => f64::NAN,
                false => (at(i) - at(j)).powi(2),
            }
        };
        (0..150 * 150).map(value).collect()
    }

    #[test]
    fn sem_g156_numbers_that_lie_elsewhere_give_the_bits_of_those_in_memory() {
        let mut values = matrix();
        // The mean of the smallest number with itself is not that number.
        (values[1], values[150], values[151]) = (5e-324, 5e-324, f64::NAN);
        let method = Pairwise {
            clusters: Clusters::Exactly(4),
            ..Pairwise::default()
        };
        let fit = |pairs: &Dissimilarities, ranks: usize| {
            let run = World::threads(ranks)
                .run(async |comm| method.fit(&comm, pairs, None, &Control::default()).await);
            PairwiseClustering::join(run.unwrap()).unwrap()
        };
        let single = values.iter().map(|value| *value as f32).collect();
        for (floats, owned) in [
            (Floats::Double, Dissimilarities::new(values.clone(), 150)),
            (Floats::Single, Dissimilarities::from_single(single, 150)),
        ] {
            let owned = owned.unwrap();
            let mapped = Dissimilarities::mapped(bytes(&values, floats), floats, 150).unwrap();
            assert!(mapped.has_gaps() && mapped.get(1, 1) == 0.0);
            assert_eq!(mapped.get(0, 1).to_bits(), owned.get(0, 1).to_bits());
            let whole = fit(&owned, 1);
            for ranks in [1, 2, 3] {
                assert_eq!(fit(&mapped, ranks), whole, "{floats:?}, {ranks} ranks");
            }
        }
    }

    #[test]
    fn sem_g156_what_is_no_symmetric_matrix_is_told_with_its_first_place() {
        let told = |values: &[f64], rows: usize| {
            let bytes = bytes(values, Floats::Double);
            let mapped = Dissimilarities::mapped(bytes, Floats::Double, rows);
            mapped.unwrap_err().to_string()
        };
        for (values, words) in [
            ([0.0, 1.0, 2.0, 0.0], "(1, 0)"),
            ([0.0, f64::NAN, 2.0, 0.0], "(1, 0)"),
            ([0.0, 1.0, -1.0, 0.0], "row 1, column 0"),
            ([0.0, 1.0, 1.0, 3.0], "row 1"),
            ([0.0, f64::INFINITY, 1.0, 0.0], "row 0, column 1"),
            ([0.0, f64::NAN, f64::NAN, 0.0], "row 0"),
        ] {
            let told = told(&values, 2);
            assert!(told.contains(words), "{words}: {told}");
        }
        assert!(told(&[0.0; 3], 2).contains("3 values"));
        assert!(Dissimilarities::mapped(vec![], Floats::Single, 0).is_err());
        assert!(Dissimilarities::mapped(vec![0; 17], Floats::Single, 2).is_err());
        let mut values = matrix();
        for (row, column) in [(140, 4), (139, 137), (139, 71)] {
            values[row * 150 + column] += 1.0;
        }
        assert!(told(&values, 150).contains("(139, 71)"));
    }
}
