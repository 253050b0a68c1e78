//! Why a handle gives no value.

use crate::{Exception, InsideTask};
use std::fmt;

/// Why a [`JoinHandle`](crate::JoinHandle) gives no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// The future panicked.
    Panicked(Exception),
    /// The future was [aborted](crate::JoinHandle::abort).
    Aborted,
    /// The future was dropped before it ended: its queue was stopped, or its causality cancelled.
    Dropped,
    /// The caller would block a thread that runs a task. The future goes on.
    InsideTask,
}

impl JoinError {
    /// Whether the future was aborted.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        matches!(self, JoinError::Aborted)
    }

    /// The panic, if the future panicked.
    #[must_use]
    pub fn into_panic(self) -> Option<Exception> {
        match self {
            JoinError::Panicked(exception) => Some(exception),
            _ => None,
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Panicked(exception) => {
                write!(
                    f,
                    "the future gave no value: it panicked on queue '{}': {}",
                    exception.queue(),
                    exception.message()
                )
            }
            JoinError::Aborted => f.write_str("the future gave no value: it was aborted"),
            JoinError::Dropped => f.write_str(
                "the future gave no value: it was dropped before it ended; see whether its queue was \
                 stopped or its causality cancelled",
            ),
            JoinError::InsideTask => InsideTask.fmt(f),
        }
    }
}

impl std::error::Error for JoinError {}
