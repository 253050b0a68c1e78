//! A cell of the [combining tree](super::combining_tree).

use super::any_cell::AnyCell;
use super::call::{RankCall, mismatch, other_type};
use super::operators::ValueKind;
use crate::CommError;

/// What a rank, or the first rank of a subtree for all of it, has brought.
pub(super) struct Cell {
    pub(super) value: AnyCell,
    /// What it has called, and what is to be known of the type of the value.
    pub(super) called: Option<(RankCall, &'static ValueKind)>,
    pub(super) failed: Option<Box<CommError>>,
}

impl Cell {
    /// Whether what `other` holds can be combined with what this cell holds; if not, this cell has
    /// failed. `ranks` says whose cells they are.
    pub(super) fn agrees_with(&mut self, other: &mut Cell, ranks: [usize; 2]) -> bool {
        if self.failed.is_none() {
            self.failed = other.failed.take();
        }
        if self.failed.is_none()
            && let (Some((mine, kind)), Some((theirs, other))) = (&self.called, &other.called)
        {
            self.failed = mismatch(ranks, mine, theirs)
                .or_else(|| (kind.id != other.id).then(|| other_type(ranks, mine, theirs)));
        }
        self.failed.is_none()
    }
}
