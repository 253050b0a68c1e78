//! How code finds out that it runs inside a task.

use crate::clock::Clock;
use crate::{inline, worker};
use std::fmt;

/// Why a blocking wait did not begin: the thread runs a task, and what it would wait for might need
/// that very thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsideTask;

/// Whether this thread runs a task: it is a worker of a dispatcher, or inside a task of an
/// [`Inline`](crate::Inline) or of a [`Replay`](crate::Replay). Code that would block the thread
/// can say so instead.
///
/// ```
/// use motet_dispatch::{Enqueue, Inline, Task, inside_task};
///
/// assert!(!inside_task());
/// Inline::new("here").enqueue(Task::new(|| assert!(inside_task()))).unwrap();
/// ```
#[must_use]
pub fn inside_task() -> bool {
    worker::with_current(|_| ()).is_some() || inline::is_running() || Clock::of_thread().is_some()
}

impl fmt::Display for InsideTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a blocking wait inside a task of a dispatcher would hold its thread; \
             make the handler async and await instead",
        )
    }
}

impl std::error::Error for InsideTask {}
