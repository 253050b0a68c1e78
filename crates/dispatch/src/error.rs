//! Why a queue does not take a task.

use crate::Task;
use std::fmt;

/// Why a queue takes no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue holds as many tasks as its depth allows, or others wait for room before.
    Full,
    /// The queue takes tasks at a limited rate, which is exceeded.
    RateExceeded,
    /// The queue's dispatcher has been stopped.
    Stopped,
    /// The caller would block a worker of the queue's own dispatcher.
    OnOwnWorker,
    /// A causality of the work was cancelled before that had begun.
    Cancelled,
}

/// A task that was not queued, and why.
#[derive(Debug)]
pub struct Refused {
    /// The task, as it was.
    pub task: Task,
    /// What the queue said.
    pub reason: QueueError,
}

impl QueueError {
    /// Whether the queue will have room again, so that waiting for it makes sense.
    #[must_use]
    pub fn is_want_of_room(self) -> bool {
        matches!(self, QueueError::Full | QueueError::RateExceeded)
    }
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QueueError::Full => "the dispatcher queue is full",
            QueueError::RateExceeded => {
                "the dispatcher queue takes tasks at a limited rate, which is exceeded"
            }
            QueueError::Stopped => "the dispatcher has been stopped",
            QueueError::OnOwnWorker => {
                "a worker must not block until its own dispatcher has room; await it instead"
            }
            QueueError::Cancelled => "a causality of the work was cancelled before it had begun",
        })
    }
}

impl std::error::Error for QueueError {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task not queued: {}", self.reason)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}
