//! What it scores when two letters stand below each other.

use super::Scores;
use crate::Alphabet;

/// BLOSUM62 in half bits: S. Henikoff, J. G. Henikoff, Amino acid substitution matrices from
/// protein blocks, Proceedings of the National Academy of Sciences 89 (1992). The order of rows
/// and columns is that of the codes of proteins.
const BLOSUM62: [[i8; 24]; 24] = [
    [
        4, -1, -2, -2, 0, -1, -1, 0, -2, -1, -1, -1, -1, -2, -1, 1, 0, -3, -2, 0, -2, -1, 0, -4,
    ],
    [
        -1, 5, 0, -2, -3, 1, 0, -2, 0, -3, -2, 2, -1, -3, -2, -1, -1, -3, -2, -3, -1, 0, -1, -4,
    ],
    [
        -2, 0, 6, 1, -3, 0, 0, 0, 1, -3, -3, 0, -2, -3, -2, 1, 0, -4, -2, -3, 3, 0, -1, -4,
    ],
    [
        -2, -2, 1, 6, -3, 0, 2, -1, -1, -3, -4, -1, -3, -3, -1, 0, -1, -4, -3, -3, 4, 1, -1, -4,
    ],
    [
        0, -3, -3, -3, 9, -3, -4, -3, -3, -1, -1, -3, -1, -2, -3, -1, -1, -2, -2, -1, -3, -3, -2,
        -4,
    ],
    [
        -1, 1, 0, 0, -3, 5, 2, -2, 0, -3, -2, 1, 0, -3, -1, 0, -1, -2, -1, -2, 0, 3, -1, -4,
    ],
    [
        -1, 0, 0, 2, -4, 2, 5, -2, 0, -3, -3, 1, -2, -3, -1, 0, -1, -3, -2, -2, 1, 4, -1, -4,
    ],
    [
        0, -2, 0, -1, -3, -2, -2, 6, -2, -4, -4, -2, -3, -3, -2, 0, -2, -2, -3, -3, -1, -2, -1, -4,
    ],
    [
        -2, 0, 1, -1, -3, 0, 0, -2, 8, -3, -3, -1, -2, -1, -2, -1, -2, -2, 2, -3, 0, 0, -1, -4,
    ],
    [
        -1, -3, -3, -3, -1, -3, -3, -4, -3, 4, 2, -3, 1, 0, -3, -2, -1, -3, -1, 3, -3, -3, -1, -4,
    ],
    [
        -1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4, -2, 2, 0, -3, -2, -1, -2, -1, 1, -4, -3, -1, -4,
    ],
    [
        -1, 2, 0, -1, -3, 1, 1, -2, -1, -3, -2, 5, -1, -3, -1, 0, -1, -3, -2, -2, 0, 1, -1, -4,
    ],
    [
        -1, -1, -2, -3, -1, 0, -2, -3, -2, 1, 2, -1, 5, 0, -2, -1, -1, -1, -1, 1, -3, -1, -1, -4,
    ],
    [
        -2, -3, -3, -3, -2, -3, -3, -3, -1, 0, 0, -3, 0, 6, -4, -2, -2, 1, 3, -1, -3, -3, -1, -4,
    ],
    [
        -1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7, -1, -1, -4, -3, -2, -2, -1, -2,
        -4,
    ],
    [
        1, -1, 1, 0, -1, 0, 0, 0, -1, -2, -2, 0, -1, -2, -1, 4, 1, -3, -2, -2, 0, 0, 0, -4,
    ],
    [
        0, -1, 0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1, 5, -2, -2, 0, -1, -1, 0, -4,
    ],
    [
        -3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1, -4, -3, -2, 11, 2, -3, -4, -3, -2,
        -4,
    ],
    [
        -2, -2, -2, -3, -2, -1, -2, -3, 2, -1, -1, -2, -1, 3, -3, -2, -2, 2, 7, -1, -3, -2, -1, -4,
    ],
    [
        0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4, -3, -2, -1, -4,
    ],
    [
        -2, -1, 3, 4, -3, 0, 1, -1, 0, -3, -4, 0, -3, -3, -2, 0, -1, -4, -3, -3, 4, 1, -1, -4,
    ],
    [
        -1, 0, 0, 1, -3, 3, 4, -2, 0, -3, -3, 1, -1, -3, -1, 0, -1, -3, -2, -2, 1, 4, -1, -4,
    ],
    [
        0, -1, -1, -1, -2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -2, 0, 0, -2, -1, -1, -1, -1, -1, -4,
    ],
    [
        -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4,
        1,
    ],
];

/// The score of each pair of codes, and whether they are identical.
#[derive(Debug)]
pub(super) struct Table {
    codes: usize,
    /// Twice the score, plus one where the letters are identical.
    both: Vec<i16>,
    /// The largest score.
    pub(super) most: i32,
    /// The lowest score.
    pub(super) least: i32,
}

impl Table {
    pub(super) fn new(scores: Scores, alphabet: Alphabet) -> Table {
        let (codes, certain) = (alphabet.codes(), alphabet.certain());
        let mut both = Vec::with_capacity(codes * codes);
        for a in 0..codes as u8 {
            for b in 0..codes as u8 {
                let (same, known) = (a == b, a < certain && b < certain);
                let score = match scores {
                    Scores::Blosum62 => i16::from(BLOSUM62[usize::from(a)][usize::from(b)]),
                    Scores::Letters { .. } if !known => 0,
                    Scores::Letters { same: score, .. } if same => score,
                    Scores::Letters { other, .. } => other,
                };
                both.push(score * 2 + i16::from(same && known));
            }
        }
        let scores = both.iter().map(|both| i32::from(both >> 1));
        Table {
            codes,
            most: scores.clone().max().unwrap_or(0),
            least: scores.min().unwrap_or(0),
            both,
        }
    }

    /// Twice the score of two codes, plus one where the letters are identical.
    pub(super) fn both(&self, a: u8, b: u8) -> i16 {
        self.both[usize::from(a) * self.codes + usize::from(b)]
    }

    pub(super) fn codes(&self) -> usize {
        self.codes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_symmetric_and_has_the_known_sums() {
        let both = (0..24).flat_map(|a| (0..24).map(move |b| (a, b)));
        let unequal: Vec<_> = both
            .filter(|(a, b)| BLOSUM62[*a][*b] != BLOSUM62[*b][*a])
            .collect();
        assert!(unequal.is_empty(), "{unequal:?}");
        let diagonal: i32 = (0..20).map(|a| i32::from(BLOSUM62[a][a])).sum();
        assert_eq!(diagonal, 116);
    }
}
