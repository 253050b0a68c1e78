//! What can go wrong with a window.

use crate::Op;
use motet_comm::{CommError, LayoutError};
use std::fmt;

/// A call of a window failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowError {
    /// An access does not lie in the window of the rank. Nothing was accessed.
    Beyond {
        /// Whose window.
        rank: usize,
        /// The first element that was to be accessed.
        offset: usize,
        /// How many elements.
        length: usize,
        /// How many elements the window of that rank has.
        window: usize,
    },
    /// The rank has dropped its window without freeing it.
    Closed {
        /// The rank.
        rank: usize,
    },
    /// The numbers do not have this operation.
    Operation {
        /// The operation.
        op: Op,
        /// The type of the numbers.
        type_name: &'static str,
    },
    /// This rank holds a lock on the window of that rank, or waits for it.
    Locked {
        /// The rank that is locked.
        rank: usize,
    },
    /// The rank lives in another process, and its memory cannot be looked at from here.
    Elsewhere {
        /// The rank.
        rank: usize,
        /// Its process.
        process: usize,
    },
    /// The ranks could not communicate.
    Comm(CommError),
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowError::Beyond {
                rank,
                offset,
                length,
                window,
            } => write!(
                f,
                "{length} elements from offset {offset} do not lie in the window of rank {rank}, \
                 which has {window}"
            ),
            WindowError::Closed { rank } => write!(
                f,
                "rank {rank} has dropped its window; all ranks must call free when all are done"
            ),
            WindowError::Operation { op, type_name } => write!(
                f,
                "there is no {op:?} of {type_name}; bits are combined of integers only"
            ),
            WindowError::Locked { rank } => write!(
                f,
                "this rank has locked the window of rank {rank}, or waits for it; unlock it first"
            ),
            WindowError::Elsewhere { rank, process } => write!(
                f,
                "rank {rank} lives in process {process}: its memory cannot be looked at; use get"
            ),
            WindowError::Comm(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for WindowError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WindowError::Comm(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CommError> for WindowError {
    fn from(error: CommError) -> Self {
        WindowError::Comm(error)
    }
}

impl From<LayoutError> for WindowError {
    fn from(error: LayoutError) -> Self {
        WindowError::Comm(error.into())
    }
}
