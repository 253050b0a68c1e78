//! Distances of some sequences to others.

use super::kernel::MOST;
use super::scores::Table;
use crate::{Alignment, Control, ParameterError, Sequences};
use std::cmp::Ordering;

/// A sequence, and its place in a list.
type Placed<'s> = (usize, &'s [u8]);

/// What sequences are ordered by.
fn by_length(codes: &[u8]) -> (usize, &[u8]) {
    (codes.len(), codes)
}

impl Alignment {
    /// Writes the distances of some sequences, `rows`, to others, `columns`, row after row. They
    /// are those that [`distances`](Alignment::distances) gives.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] for costs that cannot be.
    ///
    /// # Panics
    ///
    /// If there is no such sequence, or `to` has not a place for each value.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_mining::{Alignment, Alphabet, Sequences};
    ///
    /// let text = b">a\nACGTACGT\n>b\nACGTACGA\n>c\nACGACGT\n";
    /// let sequences = Sequences::from_fasta(text, Alphabet::Dna).unwrap();
    /// let mut to = [0.0; 2];
    /// Alignment::dna().between(&sequences, &[1], &[0, 1], &mut to).unwrap();
    /// assert_eq!(to, [f64::from(1.0_f32 / 8.0), 0.0]);
    /// ```
    pub fn between(
        &self,
        sequences: &Sequences,
        rows: &[usize],
        columns: &[usize],
        to: &mut [f64],
    ) -> Result<(), ParameterError> {
        assert_eq!(to.len(), rows.len() * columns.len(), "places for values");
        self.check(sequences.alphabet())?;
        let table = Table::new(self.scores, sequences.alphabet());
        let sorted = |all: &[usize]| {
            let codes = all.iter().map(|at| sequences.codes(*at));
            let mut placed: Vec<Placed<'_>> = codes.enumerate().collect();
            placed.sort_by_key(|(_, codes)| by_length(codes));
            placed
        };
        let (by_row, by_column) = (sorted(rows), sorted(columns));
        let mut put = |row: usize, column: usize, value: f32| {
            to[row * columns.len() + column] = f64::from(value);
        };
        // The shorter one is the first; of equal ones it is the column.
        let ends = [Ordering::Greater, Ordering::Equal];
        self.align_after(&table, &by_column, &by_row, &ends, &mut put);
        let turned = |column, row, value| put(row, column, value);
        self.align_after(&table, &by_row, &by_column, &ends[..1], turned);
        Ok(())
    }

    /// Aligns each first with those seconds that compare with it in one of these ways; tells the
    /// places of second and first, and the distance. Both are in the order by length.
    fn align_after(
        &self,
        table: &Table,
        firsts: &[Placed<'_>],
        seconds: &[Placed<'_>],
        wanted: &[Ordering],
        mut tell: impl FnMut(usize, usize, f32),
    ) {
        for seconds in seconds.chunks(MOST) {
            let batch: Vec<&[u8]> = seconds.iter().map(|(_, codes)| *codes).collect();
            let before = |first: &[u8]| {
                batch.partition_point(|second| {
                    !wanted.contains(&by_length(second).cmp(&by_length(first)))
                })
            };
            let firsts = firsts
                .iter()
                .map(|(place, codes)| (place, *codes, before(codes)));
            let firsts: Vec<_> = firsts.take_while(|first| first.2 < batch.len()).collect();
            let mut values = Vec::new();
            let codes = firsts.iter().map(|(_, codes, before)| (*codes, *before));
            let codes: Vec<_> = codes.collect();
            self.align_batch(table, &batch, &codes, &mut values, &Control::default());
            let mut values = values.into_iter();
            for (first, _, before) in firsts {
                for ((second, _), value) in seconds[before..].iter().zip(&mut values) {
                    tell(*second, *first, value);
                }
            }
        }
    }
}
