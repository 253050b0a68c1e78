//! Which rows of an experiment are measured, and how thoroughly.

use crate::contest::{Contest, CoreRecord};
use std::path::PathBuf;

/// What to measure, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// How much work and how many rounds.
    pub effort: Effort,
    /// Rounds; `None`: as many as fit the row and the effort.
    pub runs: Option<usize>,
    /// Only rows whose names contain one of these; empty: all.
    pub rows: Vec<String>,
    /// The Go compiler.
    pub go: PathBuf,
}

/// How much work each row does, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// To see that everything runs: the numbers say nothing.
    Trial,
    /// Little work and few rounds.
    Quick,
    /// What is to be quoted.
    Full,
}

impl Effort {
    /// What belongs to the effort.
    pub(crate) fn pick<T>(self, trial: T, quick: T, full: T) -> T {
        match self {
            Effort::Trial => trial,
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// A row, or a peer, that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The row.
    pub row: String,
    /// Why.
    pub reason: String,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            effort: Effort::Full,
            runs: None,
            rows: Vec::new(),
            go: PathBuf::from("go"),
        }
    }
}

impl Selection {
    /// Whether a row is to be measured.
    pub(crate) fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|part| row.contains(part.as_str()))
    }

    /// The number that belongs to the effort.
    pub(crate) fn by_effort(&self, trial: u64, quick: u64, full: u64) -> u64 {
        self.effort.pick(trial, quick, full)
    }

    /// The number of rounds that belongs to the effort.
    pub(crate) fn rounds(&self, quick: u64, full: u64) -> usize {
        self.by_effort(1, quick, full) as usize
    }

    /// Measures what is wanted of `groups`, each with the number of rounds that fits it, row after
    /// row, and tells each; then what is missing.
    pub(crate) fn measure(
        &self,
        groups: impl IntoIterator<Item = (Vec<Contest>, usize)>,
        missing: Vec<Missing>,
        mut begin: impl FnMut(&str),
        mut tell: impl FnMut(Result<CoreRecord, Missing>),
    ) {
        for (contests, runs) in groups {
            let wanted = contests
                .into_iter()
                .filter(|contest| self.wants(&contest.row));
            for contest in wanted {
                let row = contest.row.clone();
                begin(&row);
                let runs = self.runs.unwrap_or(runs);
                tell(contest.run(runs).map_err(|reason| Missing { row, reason }));
            }
        }
        missing.into_iter().for_each(|absent| tell(Err(absent)));
    }
}
