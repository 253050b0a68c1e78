//! Search: what a node of a tree costs when ranks search it, beside plain programs and rayon (R052,
//! R100).
//!
//! Question: does a search of a tree that nobody can split in advance cost what the tree costs?
//! Definition: time of the whole search over the number of nodes, on one thread and on all. Method:
//! that of [`core`](crate::core). Threats: those of `core`; the peers of rayon are in
//! `bench/src/rows/trees.rs`, and each is the better of two forms.

use crate::contest::CoreRecord;
use crate::rows::trees;
use crate::selection::{Missing, Selection};

/// Measures row after row and tells each, before it starts by its name, and when it is done.
///
/// ```
/// use motet_bench::search::measure;
/// use motet_bench::{Effort, Selection};
///
/// let selection = Selection { effort: Effort::Trial, rows: vec!["queens".into()], ..Selection::default() };
/// let mut records = Vec::new();
/// measure(&selection, |_| (), |outcome| records.push(outcome.unwrap()));
/// assert!(records[0].ratios["plain"] > 0.0);
/// ```
pub fn measure(
    selection: &Selection,
    begin: impl FnMut(&str),
    tell: impl FnMut(Result<CoreRecord, Missing>),
) {
    let trees = trees::contests(selection.effort);
    selection.measure([(trees, selection.rounds(3, 9))], Vec::new(), begin, tell);
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
        let mut rows = Vec::new();
        measure(&selection, |_| (), |outcome| rows.push(outcome.unwrap()));
        assert_eq!(rows.len(), 8);
        assert!(
            rows.iter()
                .all(|row| row.motet > 0.0 && row.absent.is_empty())
        );
    }
}
