//! What rank 0 knows of the nodes visited.

use crate::Search;
use crate::outcome::Report;
use crate::settings::{OnProgress, Progress};
use std::time::Duration;

/// What the rounds before have done, of a search in rounds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EarlierRounds {
    /// Nodes that were visited, or left out, on all ranks.
    pub(crate) nodes: u64,
    /// When progress was told last.
    pub(crate) shown_at: Duration,
}

/// What rank 0 knows of the nodes visited.
pub(crate) struct NodeTally<'s> {
    /// Nodes after which a rank tells rank 0; `u64::MAX`: never.
    each: u64,
    /// More nodes than this on all ranks are too many.
    pub(crate) limit: u64,
    progress: Option<&'s OnProgress>,
    pub(crate) told: u64,
    pub(crate) told_at: Duration,
    pub(crate) total: u64,
    pub(crate) shown_at: Duration,
}

impl EarlierRounds {
    /// These, and one more.
    pub(crate) fn with(self, report: &Report, shown_at: Duration) -> Self {
        EarlierRounds {
            nodes: self.nodes + report.nodes + report.pruned,
            shown_at,
        }
    }
}

impl<'s> NodeTally<'s> {
    pub(crate) fn new(search: &'s Search, size: usize) -> Self {
        let each = match search.limits.nodes {
            u64::MAX => u64::MAX,
            nodes => (nodes / (8 * size as u64)).max(1),
        };
        NodeTally {
            each,
            limit: search.limits.nodes,
            progress: search.progress.as_ref(),
            told: 0,
            told_at: Duration::ZERO,
            total: 0,
            shown_at: Duration::ZERO,
        }
    }

    /// The same in another round.
    pub(crate) fn after(self, earlier: EarlierRounds) -> Self {
        NodeTally {
            total: earlier.nodes,
            shown_at: earlier.shown_at,
            ..self
        }
    }

    pub(crate) fn is_due(&mut self, new: u64, elapsed: impl FnOnce() -> Duration) -> bool {
        let Some(progress) = self.progress else {
            return new >= self.each;
        };
        let now = elapsed();
        let due = new >= self.each || now - self.told_at >= progress.every;
        if due {
            self.told_at = now;
        }
        due
    }

    pub(crate) fn show(&mut self, state: Progress) {
        if let Some(progress) = self.progress
            && state.elapsed - self.shown_at >= progress.every
        {
            self.shown_at = state.elapsed;
            (progress.tell)(state);
        }
    }
}
