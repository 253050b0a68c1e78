//! Core: what messages cost, beside peers that do the same work (papers E03, E04, E14).
//!
//! Question: is the way from post to handler as cheap as it should be? Definition: rows, each with
//! a program of motet, the same program of peers, a limit of the machine where one bounds the row,
//! and a bar that is to hold. Method: motet and one peer in turn, then motet and the next, for all
//! rounds; medians, and ratios from pairs, so that a change of the machine hits both sides. All
//! sides use the same number of threads, pinned where they can be.
//!
//! Threats: other load on the machine: a bar that fails once fails by chance, look at the ratios of
//! several runs; a peer that its experts would write in another way: the programs are in
//! `bench/src/peers` and `bench/peers`, each says what it is.

pub use crate::contest::{CoreRecord, CoreSpeed};

use crate::contest::Contest;
use crate::kernels::Lazy;
use crate::peers::go::Go;
use crate::rows::{fork_join, handlers, interleaves, joins, posters, spawned_stages, threads};
use crate::selection::{Missing, Selection};
use crate::uts;
use std::path::PathBuf;

/// What to measure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreConfig {
    /// Which rows, and how thoroughly.
    pub selection: Selection,
    /// The folder of the data sets, for the unbalanced tree.
    pub data: Option<PathBuf>,
}

/// Measures row after row and tells each, before it starts by its name, and when it is done.
///
/// ```
/// use motet_bench::core::{CoreConfig, measure};
/// use motet_bench::{Effort, Selection};
///
/// let selection = Selection { effort: Effort::Trial, rows: vec!["join of".into()], ..Selection::default() };
/// let mut records = Vec::new();
/// let config = CoreConfig { selection, ..CoreConfig::default() };
/// measure(&config, |_| (), |outcome| records.push(outcome.unwrap()));
/// assert!(records[0].ratios["two receives"] > 0.0);
/// ```
pub fn measure(
    config: &CoreConfig,
    begin: impl FnMut(&str),
    tell: impl FnMut(Result<CoreRecord, Missing>),
) {
    let mut missing = Vec::new();
    let groups = groups(config, &mut missing);
    config.selection.measure(groups, missing, begin, tell);
}

/// All rows, those together that belong together, with the number of rounds that fits them.
fn groups(config: &CoreConfig, missing: &mut Vec<Missing>) -> [(Vec<Contest>, usize); 7] {
    const TREE: &str = "T1";
    let selection = &config.selection;
    let by_effort = |trial, quick, full| selection.by_effort(trial, quick, full);
    let compiler = selection.go.clone();
    let go = Lazy::shared(move || Go::build(&compiler));
    let tree = config
        .data
        .as_deref()
        .ok_or_else(|| "name the folder of the data sets: --data DIR".to_owned())
        .and_then(|data| uts::read(data, TREE));
    let tree = tree.map_err(|reason| {
        let row = format!("fork-join, UTS {TREE}");
        missing.extend(selection.wants(&row).then_some(Missing { row, reason }));
    });
    let tree = tree.ok().map(|(tree, nodes)| (TREE, tree, nodes));
    let handlers = handlers::contests(by_effort(2_000, 1_000_000, 10_000_000));
    let spawned_stages = spawned_stages::contests(by_effort(200, 20_000, 100_000), &go);
    let posters = posters::contests(by_effort(2_000, 1_000_000, 10_000_000));
    let joins = joins::contests(by_effort(500, 50_000, 500_000));
    let interleaves = interleaves::contests(by_effort(10, 500, 5_000));
    let fork_join = fork_join::contests(by_effort(20, 30, 35) as u32, tree);
    let threads = threads::contests(by_effort(100, 10_000, 50_000));
    let rounds = |quick, full| selection.rounds(quick, full);
    [
        // First: it measures memory, of which others leave some behind.
        (handlers, rounds(1, 1)),
        (spawned_stages, rounds(5, 11)),
        (posters, rounds(3, 5)),
        (joins, rounds(11, 21)),
        (interleaves, rounds(11, 21)),
        (fork_join, rounds(3, 7)),
        (threads, rounds(7, 15)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Effort;

    #[test]
    fn every_row_runs_and_is_sane() {
        let selection = Selection {
            effort: Effort::Trial,
            go: PathBuf::from("no-such-go"),
            ..Selection::default()
        };
        let config = CoreConfig {
            selection,
            data: None,
        };
        let (mut begun, mut records, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        measure(
            &config,
            |row| begun.push(row.to_owned()),
            |outcome| match outcome {
                Ok(record) => records.push(record),
                Err(absent) => missing.push(absent),
            },
        );
        let rows: Vec<&str> = records.iter().map(|record| record.row.as_str()).collect();
        assert_eq!(rows, begun);
        for record in &records {
            let numbers = record.peers.values().chain(record.ratios.values());
            let sane = numbers.chain(&record.limit).all(|&n| n > 0.0);
            // So few handlers may fit into memory that was there before.
            let motet = record.motet > 0.0 || record.unit == "bytes each";
            assert!(sane && motet && record.runs == 1, "{record:?}");
            assert_eq!(record.holds.is_some(), !record.bar.is_empty(), "{record:?}");
        }
        let spawned: Vec<_> = records
            .iter()
            .filter(|r| r.row.contains("spawned"))
            .collect();
        assert_eq!(spawned.len(), 12 + 3, "{rows:?}");
        assert!(spawned[0].absent["go"].starts_with("no-such-go does not run"));
        assert_eq!(missing.len(), 1, "the tree, whose data was not named");
    }

    #[test]
    fn rows_are_chosen_by_parts_of_their_names() {
        let selection = Selection {
            effort: Effort::Trial,
            rows: vec!["join of".to_owned(), "UTS".to_owned()],
            ..Selection::default()
        };
        let config = CoreConfig {
            selection,
            data: Some(PathBuf::from("nowhere")),
        };
        let mut outcomes = Vec::new();
        measure(&config, |_| (), |outcome| outcomes.push(outcome));
        assert_eq!(outcomes[0].as_ref().unwrap().row, "join of two items");
        let missing = outcomes[1].as_ref().unwrap_err();
        assert!(missing.reason.contains("uts.tsv"), "{missing:?}");
        assert_eq!(outcomes.len(), 2);
    }
}
