//! What can be wrong with data.

use std::fmt;

/// The data cannot be clustered as they are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DataError {
    /// There are no points.
    Empty,
    /// Points have no columns.
    NoColumns,
    /// The number of values is not a whole number of rows.
    Ragged {
        /// How many values were given.
        values: usize,
        /// How many columns a row has.
        dim: usize,
    },
    /// The points have not as many columns as those that were fitted.
    Columns {
        /// How many columns there are.
        columns: usize,
        /// How many there were.
        fitted: usize,
    },
    /// There are more rows than can be numbered.
    TooManyPoints {
        /// How many rows there are.
        points: usize,
    },
    /// A value is infinite or not a number.
    NotFinite {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The value found there.
        value: f64,
    },
    /// A value is so large that sums of squares of its column are not finite.
    LargeValue {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The value found there, the largest of the column.
        value: f64,
    },
    /// The number of weights is not the number of points.
    WeightCount {
        /// How many weights were given.
        weights: usize,
        /// How many points there are.
        points: usize,
    },
    /// A weight is negative, infinite or not a number.
    BadWeight {
        /// The row, from 0.
        row: usize,
        /// The weight found there.
        weight: f64,
    },
    /// The weights add up to zero or to infinity.
    WeightSum {
        /// What they add up to.
        sum: f64,
    },
    /// A weight is so small beside the others that the row's share of all weight is lost.
    VanishingWeight {
        /// The row, from 0.
        row: usize,
        /// The weight found there.
        weight: f64,
        /// What all weights add up to.
        sum: f64,
    },
    /// The number of dissimilarities is not the square of the number of rows.
    NotSquare {
        /// How many values were given.
        values: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// A dissimilarity is negative.
    NegativePair {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The value found there.
        value: f64,
    },
    /// A dissimilarity is so large that sums of squares are not finite.
    LargePair {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The value found there.
        value: f64,
    },
    /// A row is not at dissimilarity zero from itself.
    Diagonal {
        /// The row, from 0.
        row: usize,
        /// The value found there.
        value: f64,
    },
    /// Codes of a pair differ by direction.
    Asymmetric {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
    },
    /// The step of codes is not finite and positive.
    Scale {
        /// The step.
        scale: f64,
    },
    /// Of a row no dissimilarity to another row is known.
    NoKnownPair {
        /// The row, from 0.
        row: usize,
    },
    /// A sequence has no places.
    EmptySequence {
        /// The sequence, from 0.
        sequence: usize,
    },
    /// A symbol is not one of those there are.
    Symbol {
        /// The sequence, from 0.
        sequence: usize,
        /// The place in it, from 0.
        position: usize,
        /// The symbol found there.
        symbol: u32,
        /// How many symbols there are.
        symbols: usize,
    },
    /// Probabilities are negative or do not add up to 1.
    Distribution {
        /// Whose they are.
        what: &'static str,
        /// The row, from 0.
        row: usize,
        /// What they add up to.
        sum: f64,
    },
    /// A variance is not positive and finite.
    Variance {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The value found there.
        value: f64,
    },
    /// There are more or fewer numbers than there should be.
    Shape {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// No chain of known pairs links a row with row 0.
    NotLinked {
        /// The row, from 0.
        row: usize,
    },
    /// A bit is set past the width of the rows.
    StrayBit {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// How many columns a row has.
        width: usize,
    },
    /// Rows of bits have more columns than can be numbered.
    TooWide {
        /// How many columns there are.
        width: usize,
        /// How many there may be.
        most: usize,
    },
    /// There is not the memory for what so many rows, columns or parts need.
    Memory {
        /// What needs it.
        what: &'static str,
        /// How many bytes it needs.
        bytes: u64,
        /// What to do.
        advice: &'static str,
    },
    /// A latitude is outside ±90 degrees.
    Latitude {
        /// The row, from 0.
        row: usize,
        /// The latitude found there, degrees.
        latitude: f64,
    },
    /// A longitude is outside ±360 degrees.
    Longitude {
        /// The row, from 0.
        row: usize,
        /// The longitude found there, degrees.
        longitude: f64,
    },
}

fn large_pair(
    f: &mut fmt::Formatter<'_>,
    (row, column): (usize, usize),
    value: f64,
) -> fmt::Result {
    write!(
        f,
        "row {row}, column {column} holds {value:e}: sums of squares of dissimilarities above \
         1e140 are not finite; divide all of them by the same number"
    )
}

fn large_value(
    f: &mut fmt::Formatter<'_>,
    (row, column): (usize, usize),
    value: f64,
) -> fmt::Result {
    write!(
        f,
        "row {row}, column {column} holds {value:e}: sums of squares of the column are beyond all \
         numbers; divide the column by a large one"
    )
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Empty => write!(f, "there are no points: give at least one row"),
            DataError::NoColumns => write!(f, "points have no columns: give at least one"),
            DataError::Ragged { values, dim } => write!(
                f,
                "{values} values are not a whole number of rows of {dim} columns: \
                 a row is cut short or the number of columns is wrong"
            ),
            DataError::Columns { columns, fitted } => write!(
                f,
                "there are {columns} columns, and there were {fitted} when the model was fitted"
            ),
            DataError::TooManyPoints { points } => write!(
                f,
                "{points} points are more than {}: give a sample, or rows joined by weight",
                u32::MAX
            ),
            DataError::NotFinite { row, column, value } => write!(
                f,
                "row {row}, column {column} holds {value}: leave the row out or fill the gap"
            ),
            DataError::WeightCount { weights, points } => write!(
                f,
                "{weights} weights for {points} points: give one weight per row"
            ),
            DataError::BadWeight { row, weight } => write!(
                f,
                "row {row} has weight {weight}: weights are finite and not negative"
            ),
            DataError::WeightSum { sum } => write!(
                f,
                "the weights add up to {sum}: the sum must be positive and finite"
            ),
            DataError::VanishingWeight { row, weight, sum } => write!(
                f,
                "row {row} has weight {weight:e} of {sum:e} in all, which cannot be told from \
                 nothing: give it weight 0, or bring the weights nearer together"
            ),
            DataError::NotSquare { values, rows } => write!(
                f,
                "{values} values are not the dissimilarities of {rows} rows: give a square matrix"
            ),
            DataError::NegativePair { row, column, value } => write!(
                f,
                "row {row}, column {column} holds {value}: a dissimilarity is not negative"
            ),
            DataError::LargePair { row, column, value } => large_pair(f, (*row, *column), *value),
            DataError::Diagonal { row, value } => write!(
                f,
                "row {row} has dissimilarity {value} from itself: it must be 0"
            ),
            DataError::NoKnownPair { row } => write!(
                f,
                "row {row} has no known dissimilarity to another row: leave the row out"
            ),
            DataError::Latitude { row, latitude } => write!(
                f,
                "row {row} has latitude {latitude}, outside ±90 degrees: \
                 are latitude and longitude swapped?"
            ),
            DataError::Longitude { row, longitude } => write!(
                f,
                "row {row} has longitude {longitude}, outside ±360 degrees: is it in degrees?"
            ),
            other => other.fmt_model(f),
        }
    }
}

impl DataError {
    /// What is wrong with a model or with sequences for it.
    fn fmt_model(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::EmptySequence { sequence } => {
                write!(f, "sequence {sequence} is empty: leave it out")
            }
            DataError::Symbol {
                sequence,
                position,
                symbol,
                symbols,
            } => write!(
                f,
                "sequence {sequence}, position {position} holds {symbol}: give 0 to {}",
                symbols.saturating_sub(1)
            ),
            DataError::Distribution { what, row, sum } => write!(
                f,
                "{what}, row {row} adds up to {sum}: give probabilities that add up to 1"
            ),
            DataError::Variance { row, column, value } => write!(
                f,
                "row {row}, column {column} has variance {value}: it must be positive and finite"
            ),
            DataError::Shape {
                what,
                found,
                expected,
            } => write!(f, "{what}: {found} numbers are given: give {expected}"),
            DataError::NotLinked { row } => write!(
                f,
                "no chain of known pairs links row {row} with row 0: scale the parts by themselves"
            ),
            DataError::StrayBit { row, column, width } => write!(
                f,
                "row {row} has bit {column} set, and rows have {width} bits: \
                 give the right width or clear the bits past it"
            ),
            DataError::TooWide { width, most } => {
                write!(f, "rows have {width} bits: give at most {most}")
            }
            DataError::Asymmetric { row, column } => write!(
                f,
                "the values of ({row}, {column}) and ({column}, {row}) differ: give one for both"
            ),
            DataError::Memory {
                what,
                bytes,
                advice,
            } => write!(
                f,
                "{what} would take {bytes} bytes, and there is not so much memory: {advice}"
            ),
            DataError::LargeValue { row, column, value } => large_value(f, (*row, *column), *value),
            DataError::Scale { scale } => {
                write!(
                    f,
                    "the scale is {scale}: it must be positive, and 1e135 at most"
                )
            }
            _ => write!(f, "the data are wrong"),
        }
    }
}

impl std::error::Error for DataError {}
