//! Simulation: what an event costs that ranks or processes in virtual time handle, beside plain
//! loops and SimPy (R058, R065).
//!
//! Question: does a simulation whose order, random numbers and trace are the same on any ranks cost
//! what its events cost? Definition: time of a whole run over its events, on one rank, on all, and
//! by processes. Method: that of [`core`](crate::core). Threats: those of `core`; the plain loops
//! are in the crate `motet-problems`.

use crate::contest::CoreRecord;
use crate::rows::events;
use crate::selection::{Missing, Selection};
use std::path::PathBuf;

/// What to measure, and where the peer is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimConfig {
    /// Which rows, and how thoroughly.
    pub selection: Selection,
    /// A Python that has SimPy; `None`: that peer is left out.
    pub python: Option<PathBuf>,
}

/// Measures row after row and tells each, before it starts by its name, and when it is done.
///
/// ```
/// use motet_bench::sim::{SimConfig, measure};
/// use motet_bench::{Effort, Selection};
///
/// let selection = Selection { effort: Effort::Trial, rows: vec!["M/M/1".into()], ..Selection::default() };
/// let config = SimConfig { selection, python: None };
/// let mut records = Vec::new();
/// measure(&config, |_| (), |outcome| records.push(outcome.unwrap()));
/// assert!(records[0].ratios["plain"] > 0.0);
/// ```
pub fn measure(
    config: &SimConfig,
    begin: impl FnMut(&str),
    tell: impl FnMut(Result<CoreRecord, Missing>),
) {
    let selection = &config.selection;
    let events = events::contests(selection.effort, config.python.as_deref());
    selection.measure([(events, selection.rounds(3, 9))], Vec::new(), begin, tell);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Effort;

    #[test]
    fn every_row_runs() {
        let selection = Selection {
            effort: Effort::Trial,
            ..Selection::default()
        };
        let config = SimConfig {
            selection,
            python: None,
        };
        let mut rows = Vec::new();
        measure(&config, |_| (), |outcome| rows.push(outcome.unwrap()));
        assert_eq!(rows.len(), 7);
        assert!(rows.iter().all(|row| row.motet > 0.0));
        let absent: Vec<_> = rows.iter().filter(|row| !row.absent.is_empty()).collect();
        assert_eq!(absent.len(), 1, "SimPy was not asked for: {absent:?}");
    }
}
