//! What an interleave knows under its lock.

use super::next::Next;
use super::pending::{Pending, Work};

/// Who goes first when both exclusive and concurrent work waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Fairness {
    /// Exclusive work, as in CCR: a stream of it that does not end keeps concurrent work waiting.
    #[default]
    ExclusiveFirst,
    /// In turns: what is concurrent and waits is let in after at most 16 exclusive handlers.
    Alternate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Concurrent tasks enter.
    Open,
    /// An exclusive task waits until the concurrent handlers have ended.
    Draining,
    /// Someone holds the exclusion.
    Taken,
    /// The end: waits until the concurrent handlers have ended and the tasks on their way are here.
    Collecting,
    /// Nothing runs any more.
    Done,
}

/// Who holds the exclusion, and who waits for it.
pub(super) struct State<N> {
    pub(super) phase: Phase,
    pub(super) fairness: Fairness,
    pub(super) exclusive: Pending,
    pub(super) held: Pending,
    pub(super) teardown: Option<Work>,
    /// All members are off their ports.
    pub(super) off: bool,
    pub(super) node: Option<N>,
    /// The async handler that holds the exclusion.
    pub(super) async_holder: Option<&'static str>,
}

/// What an interleave looks like now.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) phase: Phase,
    pub(super) async_holder: Option<&'static str>,
    pub(super) exclusive: usize,
    pub(super) held: usize,
}

impl<N> State<N> {
    /// Taken.
    pub(super) fn new(node: N, fairness: Fairness) -> Self {
        State {
            phase: Phase::Taken,
            fairness,
            exclusive: Pending::default(),
            held: Pending::default(),
            teardown: None,
            off: false,
            node: Some(node),
            async_holder: None,
        }
    }

    pub(super) fn look(&self) -> Look {
        Look {
            phase: self.phase,
            async_holder: self.async_holder,
            exclusive: self.exclusive.len(),
            held: self.held.len(),
        }
    }

    /// Passes the exclusion to a turn, for the teardown task or the oldest exclusive one.
    pub(super) fn give_to_turn(&mut self) -> Next<N> {
        self.phase = Phase::Taken;
        let teardown = self.teardown.as_ref().map(|(queue, _)| queue);
        let queue = teardown.or_else(|| self.exclusive.front()).cloned();
        match (queue, self.node.take()) {
            (Some(queue), Some(node)) => Next::Turn(queue, node),
            _ => unreachable!("the exclusion is passed to a task that waits, and the node is here"),
        }
    }

    /// Takes what waits, oldest first in each group.
    pub(super) fn take_all(&mut self) -> Vec<Work> {
        let exclusive = std::mem::take(&mut self.exclusive);
        exclusive.chain(std::mem::take(&mut self.held)).collect()
    }
}
