//! What can be wrong with data, with parameters, and with a run.

use motet_comm::CommError;
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
    /// A row is not at dissimilarity zero from itself.
    Diagonal {
        /// The row, from 0.
        row: usize,
        /// The value found there.
        value: f64,
    },
    /// Of a row no dissimilarity to another row is known.
    NoKnownPair {
        /// The row, from 0.
        row: usize,
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
            DataError::TooManyPoints { points } => write!(
                f,
                "{points} points are more than {}: give a sample, or rows joined by weight",
                u32::MAX
            ),
            DataError::NotFinite { row, column, value } => write!(
                f,
                "row {row}, column {column} holds {value}: leave the row out or fill the gap"
            ),
            DataError::WeightCount { weights, points } => {
                write!(
                    f,
                    "{weights} weights for {points} points: give one weight per row"
                )
            }
            DataError::BadWeight { row, weight } => {
                write!(
                    f,
                    "row {row} has weight {weight}: weights are finite and not negative"
                )
            }
            DataError::WeightSum { sum } => {
                write!(
                    f,
                    "the weights add up to {sum}: the sum must be positive and finite"
                )
            }
            DataError::NotSquare { values, rows } => write!(
                f,
                "{values} values are not the dissimilarities of {rows} rows: give a square matrix"
            ),
            DataError::NegativePair { row, column, value } => write!(
                f,
                "row {row}, column {column} holds {value}: a dissimilarity is not negative"
            ),
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
        }
    }
}

impl std::error::Error for DataError {}

/// A text is not a set of sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SequenceError {
    /// There is no sequence.
    Empty,
    /// Letters come before the first line that begins with `>`.
    NoHeader {
        /// The line, from 1.
        line: usize,
    },
    /// A record has no letters.
    NoLetters {
        /// The record, from 1.
        record: usize,
        /// Its name.
        name: String,
    },
    /// A letter is not in the alphabet.
    Letter {
        /// The record, from 1.
        record: usize,
        /// Its name.
        name: String,
        /// The place in the sequence, from 1.
        position: usize,
        /// The letter found there.
        letter: char,
        /// What the alphabet is called.
        alphabet: &'static str,
    },
}

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequenceError::Empty => write!(f, "there are no sequences: give at least one record"),
            SequenceError::NoHeader { line } => write!(
                f,
                "line {line} is not below a line that begins with >: give each sequence a name"
            ),
            SequenceError::NoLetters { record, name } => write!(
                f,
                "record {record} ({name}) has no letters: leave the record out"
            ),
            SequenceError::Letter {
                record,
                name,
                position,
                letter,
                alphabet,
            } => write!(
                f,
                "record {record} ({name}), letter {position} is {letter:?}, which is no letter of \
                 {alphabet}: correct it or choose the other alphabet"
            ),
        }
    }
}

impl std::error::Error for SequenceError {}

/// A parameter of an algorithm makes no sense, whatever the data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ParameterError {
    /// A count that must be at least one is zero.
    Zero {
        /// The field.
        field: &'static str,
    },
    /// A number is outside its range, or not a number.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What it must be, in words.
        range: &'static str,
    },
    /// A choice does not suit the data.
    Unfit {
        /// The field.
        field: &'static str,
        /// Why not, and what to choose.
        advice: &'static str,
    },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Zero { field } => write!(f, "`{field}` is 0: it must be at least 1"),
            ParameterError::OutOfRange {
                field,
                value,
                range,
            } => {
                write!(f, "`{field}` is {value}: it must be {range}")
            }
            ParameterError::Unfit { field, advice } => write!(f, "`{field}`: {advice}"),
        }
    }
}

impl std::error::Error for ParameterError {}

/// A clustering run failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum MiningError {
    /// The data cannot be clustered as they are.
    Data(DataError),
    /// A parameter makes no sense.
    Parameter(ParameterError),
    /// More clusters are asked for than there are points.
    FewPoints {
        /// How many clusters are asked for.
        clusters: usize,
        /// How many points there are.
        points: usize,
    },
    /// More clusters are asked for than there are different points with a positive weight.
    FewDistinctPoints {
        /// How many clusters are asked for.
        clusters: usize,
        /// How many different points weigh something.
        distinct: usize,
    },
    /// A cancel token was set; all ranks stopped together.
    Cancelled,
    /// The ranks could not talk to each other.
    Comm(CommError),
}

impl fmt::Display for MiningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MiningError::Data(_) => write!(f, "the data cannot be clustered as they are"),
            MiningError::Parameter(_) => write!(f, "a parameter makes no sense"),
            MiningError::FewPoints { clusters, points } => write!(
                f,
                "{clusters} clusters are asked for but there are only {points} points: \
                 ask for fewer clusters"
            ),
            MiningError::FewDistinctPoints { clusters, distinct } => write!(
                f,
                "{clusters} clusters are asked for but only {distinct} different points weigh \
                 something: ask for fewer clusters"
            ),
            MiningError::Cancelled => write!(f, "the run was cancelled"),
            MiningError::Comm(_) => write!(f, "the ranks could not talk to each other"),
        }
    }
}

impl std::error::Error for MiningError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MiningError::Data(error) => Some(error),
            MiningError::Parameter(error) => Some(error),
            MiningError::Comm(error) => Some(error),
            MiningError::FewPoints { .. }
            | MiningError::FewDistinctPoints { .. }
            | MiningError::Cancelled => None,
        }
    }
}

impl From<ParameterError> for MiningError {
    fn from(error: ParameterError) -> MiningError {
        MiningError::Parameter(error)
    }
}

impl From<CommError> for MiningError {
    fn from(error: CommError) -> MiningError {
        MiningError::Comm(error)
    }
}
