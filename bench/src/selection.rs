//! Which rows of a set are measured, and how often.

use crate::contest::Contest;

/// Which rows of a set to measure, and how often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Rounds; `None`: as many as fit the row and the effort.
    pub runs: Option<usize>,
    /// Only rows whose names contain one of these; empty: all.
    pub rows: Vec<String>,
}

/// Rows, with the number of rounds that fits them.
pub(crate) type RepeatedRows = (Vec<Contest>, usize);

/// A row, or a peer, that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The row.
    pub row: String,
    /// Why.
    pub reason: String,
}

impl Selection {
    /// Whether a row is to be measured.
    pub(crate) fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|part| row.contains(part.as_str()))
    }
}
