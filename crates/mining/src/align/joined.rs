//! The matrix of all distances, from what the ranks have worked out.

use super::{PairDistances, Work};
use crate::memory_request::zeros;
use crate::{DataError, Sequences};

impl PairDistances {
    /// The whole symmetric matrix, row after row, from the parts of all ranks in rank order. It is
    /// `None` if a part is missing or of other sequences.
    ///
    /// # Errors
    ///
    /// [`DataError::Memory`] where there is no room for the matrix.
    pub fn join(
        sequences: &Sequences,
        parts: &[PairDistances],
    ) -> Result<Option<Vec<f32>>, DataError> {
        let mut matrix = square(sequences.len())?;
        let whole = filled(&mut matrix, sequences, parts).is_some();
        Ok(whole.then_some(matrix))
    }
}

/// A matrix of so many rows, with zeros.
fn square(rows: usize) -> Result<Vec<f32>, DataError> {
    let (what, advice) = ("the distances of all pairs", "take a sample");
    zeros(what, (rows as u128).pow(2), advice)
}

/// Puts the distances where they belong; `None` if it has not got all.
fn filled(matrix: &mut [f32], sequences: &Sequences, parts: &[PairDistances]) -> Option<()> {
    let (rows, work) = (sequences.len(), Work::new(sequences));
    let mut next = 0;
    for part in parts {
        if part.items.start != next || part.items.end > work.items() {
            return None;
        }
        next = part.items.end;
        let mut values = part.values.iter();
        for batch in work.batches(part.items.clone()) {
            for first in batch.firsts {
                for second in batch.seconds.start.max(first + 1)..batch.seconds.end {
                    let (i, j) = (work.order[first], work.order[second]);
                    let value = *values.next()?;
                    (matrix[i * rows + j], matrix[j * rows + i]) = (value, value);
                }
            }
        }
        if values.next().is_some() {
            return None;
        }
    }
    (next == work.items()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g617_a_matrix_without_room_is_an_error_with_its_bytes() {
        assert_eq!(square(3), Ok(vec![0.0; 9]));
        let told = square(1 << 24).unwrap_err().to_string();
        let words = format!(
            "the distances of all pairs would take {} bytes",
            1_u64 << 50
        );
        assert!(told.starts_with(&words), "{told}");
    }
}
