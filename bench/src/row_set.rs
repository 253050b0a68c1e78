//! Sets of rows with bars, by their names, and how one is measured.

use crate::contest::CoreRecord;
use crate::experiments::{core, ranks, search, sim};
use crate::measuring::Setting;
use crate::selection::{Missing, Selection};
use std::ops::ControlFlow;

/// Rows that belong together. How much work each does, and what its peers are made with, the
/// [`Setting`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSet {
    /// Messages, joins, tasks.
    Core,
    /// Ranks, beside MPI.
    Ranks,
    /// Search of trees.
    Search,
    /// Simulation of events.
    Sim,
}

impl RowSet {
    /// Measures the rows that are selected and tells each, before it starts by its name, and when
    /// it is done; then what is missing. It ends early when `tell` breaks: nobody listens any more.
    ///
    /// ```
    /// use motet_bench::measuring::{Effort, MeasuringConfig, Setting};
    /// use motet_bench::{RowSet, Selection};
    /// use std::ops::ControlFlow;
    ///
    /// let config = MeasuringConfig { effort: Effort::Trial, ..MeasuringConfig::default() };
    /// let selection = Selection { rows: vec!["join of".into()], runs: None };
    /// let mut records = Vec::new();
    /// RowSet::Core.measure(&Setting::new(config), &selection, |_| (), |outcome| {
    ///     records.extend(outcome);
    ///     ControlFlow::Continue(())
    /// });
    /// assert!(records[0].ratios["two receives"] > 0.0);
    /// ```
    pub fn measure(
        self,
        setting: &Setting,
        selection: &Selection,
        mut begin: impl FnMut(&str),
        mut tell: impl FnMut(Result<CoreRecord, Missing>) -> ControlFlow<()>,
    ) {
        let mut missing = Vec::new();
        let groups = match self {
            RowSet::Core => core::groups(setting, selection, &mut missing),
            RowSet::Ranks => ranks::groups(setting, selection, &mut missing),
            RowSet::Search => search::groups(setting),
            RowSet::Sim => sim::groups(setting),
        };
        for (contests, runs) in groups {
            let wanted = contests.into_iter();
            for contest in wanted.filter(|contest| selection.wants(&contest.row)) {
                let row = contest.row.clone();
                begin(&row);
                let runs = selection.runs.unwrap_or(runs);
                let outcome = contest.run(runs).map_err(|reason| Missing { row, reason });
                if tell(outcome).is_break() {
                    return;
                }
            }
        }
        let _ = missing.into_iter().try_for_each(|absent| tell(Err(absent)));
    }
}

#[cfg(test)]
#[path = "row_set/tests.rs"]
mod tests;
