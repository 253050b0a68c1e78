//! What the exclusion tells those who ask it.

use super::pending::{Pending, Work};
use crate::delivery::QueueHandle;
use motet_dispatch::{Task, TaskList};

/// What the caller has to do now, outside of all locks.
#[must_use]
pub(super) enum Next<N> {
    Nothing,
    /// Queue a turn.
    Turn(QueueHandle, N),
    /// Queue tasks that were held, and call
    /// [`Exclusion::admitted_one_ended`](super::exclusion::Exclusion::admitted_one_ended) for each
    /// when it has run.
    Admit(Pending),
    /// Give back the room of these and bring back what they carry.
    BringBack(Vec<Work>),
}

/// What a turn has to do now.
pub(super) enum Step<N> {
    /// Run these on this turn's queue, one after the other.
    Run(TaskList),
    /// Take all members off their ports, then [collect](super::exclusion::Exclusion::collect).
    Close,
    /// Bring these back to their ports, then run the teardown task.
    Teardown(Task, Vec<Work>),
    /// The turn is over.
    End(Next<N>),
}

/// What became of a concurrent task that wanted to enter.
#[must_use]
pub(super) enum Entry<N> {
    In,
    Held(Next<N>),
}
