//! Rows of bits: fingerprints of molecules, keys, sets.
//!
//! Centres and shares are whole numbers of a fixed step, so every sum over rows is exact. The order
//! in which rows and ranks are added does not matter.

mod annealing;
mod choose;
mod compare;
mod exchange;
mod finish;
mod found;
mod hard;
mod kept;
mod kernel;
mod kmeans;
mod passes;
mod phases;
mod sample;
mod similar;
mod swap;
#[cfg(test)]
mod tests;
mod text;
mod tiles;

use crate::DataError;
use crate::checkpoint::Digest;

pub use annealing::BitAnnealing;
pub use compare::Likeness;
pub use found::BitClustering;
pub use kmeans::BitKMeans;
pub use similar::{Neighbour, Neighbours, Similar};
pub use text::FingerprintError;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;
/// Rows at most: sums over all rows fit their numbers.
const MOST_ROWS: usize = 1 << 26;
/// Columns at most: a column is a number of 16 bits.
const MOST_COLUMNS: usize = 1 << 16;

/// Rows of `width` bits each, checked once: no bit is set past the width.
///
/// A row without set bits and a column that is the same in all rows are legal. All ranks read the
/// same `Bits` by shared reference.
///
/// # Examples
///
/// ```
/// use motet_mining::{Bits, DataError};
///
/// let bits = Bits::new(vec![0b0011, 0b0110, 0b0000], 4)?;
/// assert_eq!((bits.len(), bits.width(), bits.ones(1)), (3, 4, 2));
/// assert_eq!(bits.hamming(0, 1), 2);
/// assert_eq!(bits.tanimoto(0, 1), 1.0 / 3.0);
/// assert_eq!((bits.empty_rows(), bits.constant_columns()), (1, &[3][..]));
///
/// let broken = Bits::new(vec![0b0011, 0b1_0000], 4);
/// assert_eq!(broken, Err(DataError::StrayBit { row: 1, column: 4, width: 4 }));
/// # Ok::<(), DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bits {
    words: Vec<u64>,
    width: usize,
    constant: Vec<usize>,
    empty: usize,
    names: Option<Vec<String>>,
}

impl Bits {
    /// Takes rows of 64-bit words, row after row; column 0 is the lowest bit of the first word.
    ///
    /// # Errors
    ///
    /// [`DataError::NoColumns`], [`DataError::TooWide`], [`DataError::Empty`],
    /// [`DataError::Ragged`], [`DataError::TooManyPoints`], and [`DataError::StrayBit`] with the
    /// first bit that is set past the width.
    pub fn new(words: Vec<u64>, width: usize) -> Result<Bits, DataError> {
        if width == 0 {
            return Err(DataError::NoColumns);
        }
        if width > MOST_COLUMNS {
            return Err(DataError::TooWide {
                width,
                most: MOST_COLUMNS,
            });
        }
        if words.is_empty() {
            return Err(DataError::Empty);
        }
        let stride = width.div_ceil(WORD);
        if !words.len().is_multiple_of(stride) {
            return Err(DataError::Ragged {
                values: words.len(),
                dim: stride,
            });
        }
        let rows = words.len() / stride;
        if rows > MOST_ROWS {
            return Err(DataError::TooManyPoints { points: rows });
        }
        let mut counts = vec![0_u32; width];
        let mut empty = 0;
        for (row, words) in words.chunks_exact(stride).enumerate() {
            let mut any = false;
            for column in set_bits(words) {
                let count = counts.get_mut(column);
                *count.ok_or(DataError::StrayBit { row, column, width })? += 1;
                any = true;
            }
            empty += usize::from(!any);
        }
        let whole = |column: &usize| [0, rows as u32].contains(&counts[*column]);
        Ok(Bits {
            words,
            width,
            constant: (0..width).filter(whole).collect(),
            empty,
            names: None,
        })
    }

    /// Takes rows of `row_bytes` bytes each; column 0 is the lowest bit of the first byte, as
    /// numpy packs with `bitorder="little"`.
    ///
    /// # Errors
    ///
    /// As [`Bits::new`].
    pub fn from_bytes(bytes: &[u8], row_bytes: usize, width: usize) -> Result<Bits, DataError> {
        if row_bytes == 0 || width == 0 {
            return Err(DataError::NoColumns);
        }
        if !bytes.len().is_multiple_of(row_bytes) {
            return Err(DataError::Ragged {
                values: bytes.len(),
                dim: row_bytes,
            });
        }
        if width > 8 * row_bytes {
            return Err(DataError::Shape {
                what: "bits of a row",
                found: 8 * row_bytes,
                expected: width,
            });
        }
        let stride = width.div_ceil(WORD);
        let mut words = Vec::with_capacity(bytes.len() / row_bytes * stride);
        for (row, bytes) in bytes.chunks_exact(row_bytes).enumerate() {
            let (inside, past) = bytes.split_at(bytes.len().min(8 * stride));
            if let Some(at) = past.iter().position(|byte| *byte != 0) {
                let bit = past[at].trailing_zeros() as usize;
                let column = 8 * (inside.len() + at) + bit;
                return Err(DataError::StrayBit { row, column, width });
            }
            words.extend((0..stride).map(|word| {
                let part = inside.chunks(8).nth(word).unwrap_or_default();
                let digits = part.iter().rev();
                digits.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
            }));
        }
        Bits::new(words, width)
    }

    /// Gives the rows names.
    ///
    /// # Errors
    ///
    /// [`DataError::Shape`] if there are more or fewer names than rows.
    pub fn named(mut self, names: Vec<String>) -> Result<Bits, DataError> {
        if names.len() != self.len() {
            return Err(DataError::Shape {
                what: "names of rows",
                found: names.len(),
                expected: self.len(),
            });
        }
        self.names = Some(names);
        Ok(self)
    }

    /// The number of rows.
    #[allow(clippy::len_without_is_empty, reason = "there is at least one row")]
    pub fn len(&self) -> usize {
        self.words.len() / self.stride()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The words of one row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.stride()..][..self.stride()]
    }

    /// The number of bits that are set in a row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn ones(&self, row: usize) -> usize {
        let words = self.row(row).iter();
        words.map(|word| word.count_ones() as usize).sum()
    }

    /// The columns that are the same in every row.
    pub fn constant_columns(&self) -> &[usize] {
        &self.constant
    }

    /// The number of rows without a set bit.
    pub fn empty_rows(&self) -> usize {
        self.empty
    }

    /// The names of the rows, if they have names.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The columns that are set in a row, in ascending order.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn columns(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        set_bits(self.row(row))
    }

    /// What tells a run's rows from others.
    fn digest(&self, digest: &mut Digest) {
        digest.word(self.width as u64);
        self.words.iter().for_each(|word| digest.word(*word));
    }

    fn stride(&self) -> usize {
        self.width.div_ceil(WORD)
    }
}

/// The set bits of some words in ascending order.
fn set_bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(at * WORD + bit)
        })
    })
}
