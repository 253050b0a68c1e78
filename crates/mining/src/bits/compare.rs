//! How like two rows of bits are.

use super::Bits;
use crate::lanes::{Instructions, Isa, NumericLoop, run};

/// A measure of likeness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Likeness {
    /// Columns set in both over columns set in either; 1 for two rows without set bits.
    Tanimoto,
    /// Minus the number of columns that differ.
    Hamming,
}

impl Bits {
    /// The number of columns in which two rows differ.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn hamming(&self, a: usize, b: usize) -> usize {
        let pairs = self.row(a).iter().zip(self.row(b));
        pairs.map(|(a, b)| (a ^ b).count_ones() as usize).sum()
    }

    /// The columns set in both rows over those set in either: the likeness of Tanimoto, also
    /// called Jaccard's. It is 1 for two rows without set bits.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn tanimoto(&self, a: usize, b: usize) -> f64 {
        let both = both(self.row(a), self.row(b));
        tanimoto(self.ones(a), self.ones(b), both as usize)
    }

    /// Writes the dissimilarities of one row to all rows: the number of columns that differ, or 1
    /// minus the likeness of Tanimoto.
    ///
    /// # Panics
    ///
    /// If there is no such row, or if `to` is shorter than the number of rows.
    pub fn dissimilarities(&self, likeness: Likeness, row: usize, to: &mut [f64]) {
        let query = self.row(row);
        let mut counts = vec![0; self.len()];
        shared(query, &self.words, &mut counts);
        let own = self.ones(row);
        for (other, (to, &both)) in to[..self.len()].iter_mut().zip(&counts).enumerate() {
            *to = match likeness {
                Likeness::Tanimoto => 1.0 - tanimoto(own, self.ones(other), both as usize),
                Likeness::Hamming => (own + self.ones(other) - 2 * both as usize) as f64,
            };
        }
    }
}

/// Of rows with `a` and `b` set columns, `both` of them shared.
pub(super) fn tanimoto(a: usize, b: usize, both: usize) -> f64 {
    match a + b - both {
        0 => 1.0,
        either => both as f64 / either as f64,
    }
}

fn both(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

/// The number of columns that `query` shares with each of some rows of as many words.
pub(super) fn shared(query: &[u64], rows: &[u64], counts: &mut [u32]) {
    run(Instructions::best(), Shared(query, rows, counts));
}

struct Shared<'a>(&'a [u64], &'a [u64], &'a mut [u32]);

impl NumericLoop for Shared<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Shared(query, rows, counts) = self;
        for (row, count) in rows.chunks_exact(query.len()).zip(counts) {
            let mut sum = 0;
            for (a, b) in query.iter().zip(row) {
                sum += (a & b).count_ones();
            }
            *count = sum;
        }
    }
}
