//! What rank 0 knows of the nodes visited.

use crate::Search;
use crate::settings::{OnProgress, Progress};
use std::time::Duration;

/// What rank 0 knows of the nodes visited.
pub(super) struct Tally<'s> {
    /// Nodes after which a rank tells rank 0; `u64::MAX`: never.
    each: u64,
    /// Nodes on all ranks that are too many.
    pub(super) limit: u64,
    progress: Option<&'s OnProgress>,
    pub(super) told: u64,
    pub(super) told_at: Duration,
    pub(super) total: u64,
    shown_at: Duration,
}

impl<'s> Tally<'s> {
    pub(super) fn new(search: &'s Search, size: usize) -> Self {
        let each = match search.limits.nodes {
            u64::MAX => u64::MAX,
            nodes => (nodes / (8 * size as u64)).max(1),
        };
        Tally {
            each,
            limit: search.limits.nodes,
            progress: search.progress.as_ref(),
            told: 0,
            told_at: Duration::ZERO,
            total: 0,
            shown_at: Duration::ZERO,
        }
    }

    pub(super) fn is_due(&mut self, new: u64, elapsed: impl FnOnce() -> Duration) -> bool {
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

    pub(super) fn show(&mut self, state: Progress) {
        if let Some(progress) = self.progress
            && state.elapsed - self.shown_at >= progress.every
        {
            self.shown_at = state.elapsed;
            (progress.tell)(state);
        }
    }
}
