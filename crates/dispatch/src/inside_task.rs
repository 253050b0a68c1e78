//! How code finds out that it runs inside a task.

use crate::clock::Clock;
use crate::{inline, worker};

/// Whether this thread runs a task: it is a worker of a dispatcher, or inside a task of an
/// [`Inline`](crate::Inline) or of a [`Replay`](crate::Replay). Code that would block the thread can say so instead.
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
