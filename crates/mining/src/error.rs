//! What can be wrong with data, with parameters, and with a run.

mod data;
mod sequences;

pub use data::DataError;
pub use sequences::SequenceError;

use motet_comm::CommError;
use std::fmt;

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
    /// A component of a model has lost its rows or its extent.
    Degenerate {
        /// The component, from 0.
        component: usize,
        /// What is wrong with it, and what to do.
        problem: &'static str,
    },
    /// A sequence has probability 0 under the model.
    Impossible {
        /// The sequence, from 0.
        sequence: usize,
        /// The first place in it, from 0, that cannot be.
        position: usize,
    },
    /// A quantity fell that cannot fall: a fault of the program.
    Fell {
        /// The quantity.
        quantity: &'static str,
        /// The step, from 0.
        step: usize,
        /// Its value before.
        before: f64,
        /// Its value after.
        after: f64,
    },
    /// A quantity rose that cannot rise: a fault of the program.
    Rose {
        /// The quantity.
        quantity: &'static str,
        /// The step, from 0.
        step: usize,
        /// Its value before.
        before: f64,
        /// Its value after.
        after: f64,
    },
    /// A checkpoint cannot be read or written, or belongs to another run.
    Checkpoint {
        /// The file.
        path: String,
        /// What is wrong, and what to do.
        problem: String,
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
            MiningError::Degenerate { component, problem } => {
                write!(f, "component {component} {problem}")
            }
            MiningError::Impossible { sequence, position } => write!(
                f,
                "sequence {sequence} is impossible from position {position} on: \
                 give the model a chance of it"
            ),
            MiningError::Fell {
                quantity,
                step,
                before,
                after,
            } => write!(
                f,
                "{quantity} fell from {before} to {after} at step {step}: please report it"
            ),
            MiningError::Rose {
                quantity,
                step,
                before,
                after,
            } => write!(
                f,
                "{quantity} rose from {before} to {after} at step {step}: please report it"
            ),
            MiningError::Checkpoint { path, problem } => {
                write!(f, "checkpoint {path}: {problem}")
            }
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
            | MiningError::Degenerate { .. }
            | MiningError::Impossible { .. }
            | MiningError::Fell { .. }
            | MiningError::Rose { .. }
            | MiningError::Checkpoint { .. }
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
