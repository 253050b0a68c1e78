//! The parameters of a hidden Markov model, and what is observed.

use crate::DataError;
use crate::checkpoint::Digest;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a state shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Emissions {
    /// One of some symbols.
    Discrete {
        /// The number of symbols.
        symbols: usize,
        /// For each state the probability of each symbol.
        probabilities: Vec<f64>,
    },
    /// Numbers from a normal distribution without correlations.
    Gaussian {
        /// The number of columns.
        dim: usize,
        /// For each state the means of the columns.
        means: Vec<f64>,
        /// For each state the variances of the columns.
        variances: Vec<f64>,
    },
}

/// A hidden Markov model, checked once: probabilities add up to 1, variances are positive.
///
/// # Examples
///
/// ```
/// use motet_mining::{DataError, Emissions, HmmModel};
///
/// let coins = Emissions::Discrete { symbols: 2, probabilities: vec![0.5, 0.5, 0.9, 0.1] };
/// let model = HmmModel::new(vec![0.5, 0.5], vec![0.9, 0.1, 0.2, 0.8], coins.clone())?;
/// assert_eq!(model.states(), 2);
///
/// let broken = HmmModel::new(vec![0.5, 0.5], vec![0.9, 0.1, 0.2, 0.9], coins);
/// assert!(matches!(broken, Err(DataError::Distribution { row: 1, .. })));
/// # Ok::<(), DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmModel {
    pub(super) start: Vec<f64>,
    pub(super) transitions: Vec<f64>,
    pub(super) emissions: Emissions,
}

impl HmmModel {
    /// A model of `start.len()` states; `transitions` holds, row after row, the probabilities of
    /// the next state.
    ///
    /// # Errors
    ///
    /// [`DataError::NoColumns`], [`DataError::Shape`], [`DataError::Distribution`],
    /// [`DataError::NotFinite`], [`DataError::Variance`].
    pub fn new(
        start: Vec<f64>,
        transitions: Vec<f64>,
        emissions: Emissions,
    ) -> Result<HmmModel, DataError> {
        let states = start.len();
        if states == 0 {
            return Err(DataError::NoColumns);
        }
        let shape = |what, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(DataError::Shape {
                what,
                found,
                expected,
            }),
        };
        shape("transitions", transitions.len(), states * states)?;
        distributions("start", &start, states)?;
        distributions("transitions", &transitions, states)?;
        match &emissions {
            Emissions::Discrete {
                symbols,
                probabilities,
            } => {
                if *symbols == 0 {
                    return Err(DataError::NoColumns);
                }
                shape("probabilities", probabilities.len(), states * symbols)?;
                distributions("probabilities", probabilities, *symbols)?;
            }
            Emissions::Gaussian {
                dim,
                means,
                variances,
            } => {
                if *dim == 0 {
                    return Err(DataError::NoColumns);
                }
                shape("means", means.len(), states * dim)?;
                shape("variances", variances.len(), states * dim)?;
                let place = |at: usize| (at / dim, at % dim);
                if let Some(at) = means.iter().position(|mean| !mean.is_finite()) {
                    let (row, column) = place(at);
                    let value = means[at];
                    return Err(DataError::NotFinite { row, column, value });
                }
                let good = |v: &f64| *v > 0.0 && v.is_finite() && (1.0 / v).is_normal();
                if let Some(at) = variances.iter().position(|v| !good(v)) {
                    let (row, column) = place(at);
                    let value = variances[at];
                    return Err(DataError::Variance { row, column, value });
                }
            }
        }
        Ok(HmmModel {
            start,
            transitions,
            emissions,
        })
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.start.len()
    }

    /// The probability of each state at the first place.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The probabilities of the next state, row after row.
    pub fn transitions(&self) -> &[f64] {
        &self.transitions
    }

    /// What the states show.
    pub fn emissions(&self) -> &Emissions {
        &self.emissions
    }
}

/// Rows of probabilities that add up to 1.
fn distributions(what: &'static str, values: &[f64], columns: usize) -> Result<(), DataError> {
    for (row, values) in values.chunks_exact(columns).enumerate() {
        let sum: f64 = values.iter().sum();
        let good = values
            .iter()
            .all(|value| (0.0..=1.0 + 1e-9).contains(value));
        if !good || (sum - 1.0).abs() > 1e-9 {
            return Err(DataError::Distribution { what, row, sum });
        }
    }
    Ok(())
}

/// Sequences that are observed, checked once: none is empty, symbols and numbers are in range.
///
/// # Examples
///
/// ```
/// use motet_mining::{DataError, Observations};
///
/// let seen = Observations::symbols(&[vec![0, 1, 1], vec![1]], 2)?;
/// assert_eq!((seen.len(), seen.places(0)), (2, 3));
///
/// let broken = Observations::symbols(&[vec![0, 2]], 2);
/// assert!(matches!(broken, Err(DataError::Symbol { sequence: 0, position: 1, .. })));
/// # Ok::<(), DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    pub(super) values: Seen,
    /// Where each sequence ends, in places.
    ends: Vec<usize>,
}

/// All places of all sequences.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seen {
    Symbols { symbols: usize, values: Vec<u32> },
    Numbers { dim: usize, values: Vec<f64> },
}

impl Observations {
    /// Sequences of symbols from 0 to `symbols - 1`.
    ///
    /// # Errors
    ///
    /// [`DataError::Empty`], [`DataError::EmptySequence`], [`DataError::Symbol`].
    pub fn symbols(sequences: &[Vec<u32>], symbols: usize) -> Result<Observations, DataError> {
        for (sequence, values) in sequences.iter().enumerate() {
            if let Some(position) = values.iter().position(|v| *v as usize >= symbols) {
                return Err(DataError::Symbol {
                    sequence,
                    position,
                    symbol: values[position],
                    symbols,
                });
            }
        }
        let ends = ends(sequences.iter().map(Vec::len))?;
        let values = sequences.concat();
        let values = Seen::Symbols { symbols, values };
        Ok(Observations { values, ends })
    }

    /// Sequences of rows of `dim` numbers, row after row.
    ///
    /// # Errors
    ///
    /// [`DataError::Empty`], [`DataError::NoColumns`], [`DataError::EmptySequence`],
    /// [`DataError::Ragged`], and [`DataError::NotFinite`] with the row counted over all
    /// sequences.
    pub fn numbers(sequences: &[Vec<f64>], dim: usize) -> Result<Observations, DataError> {
        if dim == 0 {
            return Err(DataError::NoColumns);
        }
        if let Some(cut) = sequences
            .iter()
            .find(|values| !values.len().is_multiple_of(dim))
        {
            let values = cut.len();
            return Err(DataError::Ragged { values, dim });
        }
        let ends = ends(sequences.iter().map(|values| values.len() / dim))?;
        let values = sequences.concat();
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (row, column, value) = (at / dim, at % dim, values[at]);
            return Err(DataError::NotFinite { row, column, value });
        }
        let values = Seen::Numbers { dim, values };
        Ok(Observations { values, ends })
    }

    /// The number of sequences.
    #[allow(
        clippy::len_without_is_empty,
        reason = "there is at least one sequence"
    )]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of places of a sequence.
    ///
    /// # Panics
    ///
    /// If there is no such sequence.
    pub fn places(&self, sequence: usize) -> usize {
        self.range(sequence).len()
    }

    /// Puts all that is observed into a digest.
    pub(super) fn digest(&self, digest: &mut Digest) {
        self.ends.iter().for_each(|end| digest.word(*end as u64));
        match &self.values {
            Seen::Symbols { symbols, values } => {
                digest.word(*symbols as u64);
                values
                    .iter()
                    .for_each(|value| digest.word(u64::from(*value)));
            }
            Seen::Numbers { dim, values } => {
                digest.word(*dim as u64);
                digest.numbers(values);
            }
        }
    }

    /// The places of a sequence among all.
    pub(super) fn range(&self, sequence: usize) -> Range<usize> {
        let start = match sequence {
            0 => 0,
            _ => self.ends[sequence - 1],
        };
        start..self.ends[sequence]
    }
}

fn ends(lengths: impl Iterator<Item = usize>) -> Result<Vec<usize>, DataError> {
    let mut ends: Vec<usize> = Vec::new();
    for (sequence, length) in lengths.enumerate() {
        if length == 0 {
            return Err(DataError::EmptySequence { sequence });
        }
        ends.push(ends.last().copied().unwrap_or(0) + length);
    }
    match ends.is_empty() {
        true => Err(DataError::Empty),
        false => Ok(ends),
    }
}
