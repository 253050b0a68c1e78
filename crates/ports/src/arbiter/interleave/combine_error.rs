//! Why two interleaves were not combined.

use super::Interleave;
use motet_dispatch::QueueError;
use std::fmt;

/// Why an interleave could not be combined into one at work. It is handed back.
#[non_exhaustive]
pub enum CombineError {
    /// A teardown item has come there: nothing will run any more.
    TornDown(Interleave),
    /// The queue takes no task.
    Queue(Interleave, QueueError),
}

impl CombineError {
    /// The interleave that was not combined.
    pub fn into_interleave(self) -> Interleave {
        match self {
            CombineError::TornDown(other) | CombineError::Queue(other, _) => other,
        }
    }
}

impl fmt::Debug for CombineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CombineError::TornDown(_) => f.debug_tuple("TornDown").finish_non_exhaustive(),
            CombineError::Queue(_, reason) => {
                f.debug_tuple("Queue").field(reason).finish_non_exhaustive()
            }
        }
    }
}

impl fmt::Display for CombineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CombineError::TornDown(_) => f.write_str(
                "interleave not combined: the one at work has been torn down; activate it on its own",
            ),
            CombineError::Queue(_, reason) => write!(f, "interleave not combined: {reason}"),
        }
    }
}

impl std::error::Error for CombineError {}
