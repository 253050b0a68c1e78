//! Core: what messages cost, beside peers that do the same work (papers E03, E04, E14).
//!
//! Question: is the way from post to handler as cheap as it should be? Definition: rows, each with
//! a program of motet, the same program of peers, and a bar that is to hold. A row also has a limit
//! of the machine where one bounds it. Method: the suite's, where a row is one case: motet and its
//! peers in turn, round after round. Medians, and ratios from rounds, so that a change of the
//! machine hits all. All sides use the same number of threads, pinned where they can be.
//!
//! Threats: other load on the machine: a bar that fails once fails by chance, look at the ratios of
//! several runs. A peer that its experts would write in another way: the programs are in
//! `bench/src/peers` and `bench/peers`, each says what it is.

use crate::measuring::Setting;
use crate::rows::{fork_join, handlers, interleaves, joins, posters, spawned_stages, threads};
use crate::selection::{Missing, RepeatedRows, Selection};
use crate::uts;

/// All rows, those together that belong together, with the number of rounds that fits them.
pub(crate) fn groups(
    setting: &Setting,
    selection: &Selection,
    missing: &mut Vec<Missing>,
) -> Vec<RepeatedRows> {
    const TREE: &str = "T1";
    let config = setting.config();
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
    let by_effort = |trial, quick, full| setting.by_effort(trial, quick, full);
    let handlers = handlers::contests(by_effort(2_000, 1_000_000, 10_000_000));
    let spawned_stages = spawned_stages::contests(by_effort(200, 20_000, 100_000), &setting.go);
    let posters = posters::contests(by_effort(2_000, 1_000_000, 10_000_000));
    let joins = joins::contests(by_effort(500, 50_000, 500_000));
    let interleaves = interleaves::contests(by_effort(10, 500, 5_000));
    let fork_join = fork_join::contests(setting.by_effort(20, 30, 35), tree);
    let threads = threads::contests(by_effort(100, 10_000, 50_000));
    let rounds = |quick, full| setting.by_effort(1, quick, full);
    vec![
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
