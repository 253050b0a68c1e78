//! Why a parallel loop has no result.

use motet_dispatch::{Exception, QueueError};
use std::fmt;

/// Why a loop has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoopError {
    /// A body panicked. Chunks that had not begun were dropped.
    Panicked(Exception),
    /// The queue took none of the tasks.
    Queue(QueueError),
    /// The tasks were dropped before all blocks had run: the queue was stopped, or the causality
    /// cancelled.
    Dropped,
}

impl fmt::Display for LoopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the parallel loop has no result: ")?;
        match self {
            LoopError::Panicked(exception) => write!(
                f,
                "its body panicked on queue '{}': {}",
                exception.queue(),
                exception.message()
            ),
            LoopError::Queue(reason) => reason.fmt(f),
            LoopError::Dropped => f.write_str(
                "its tasks were dropped before all blocks had run; see whether the queue was stopped \
                 or the causality cancelled",
            ),
        }
    }
}

impl std::error::Error for LoopError {}
