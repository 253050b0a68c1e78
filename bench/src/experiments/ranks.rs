//! Ranks: what they cost that wait for each other, beside MPI (papers E14, E15; R017, R034 to
//! R041).
//!
//! Question: is a rank that is a task as fast as a process of MPI, where there is a core for each
//! and where there is none? Definition: rows as those of [`core`](crate::core): motet's program and
//! each peer's in turn, ratios of pairs, bars. Method: the peers are C programs, built with each
//! `mpicc` that is found and run at that library's best setting (`bench/peers/mpi/README.md`), and
//! tokio's and Go's rings of messages.
//!
//! Threats: other load, from which processes that spin suffer most; starting processes takes much
//! longer than measuring them, so that pairs lie further apart than those of `core`.

use crate::contest::{Contest, CoreRecord};
use crate::kernels::Lazy;
use crate::peers::go::Go;
use crate::peers::mpi::Mpi;
use crate::rows::rank_stages::Peers;
use crate::rows::{long_messages, many_ranks, over_processes, rank_collectives, rank_stages};
use crate::selection::{Missing, Selection};
use std::path::PathBuf;
use std::rc::Rc;

/// What to measure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RanksConfig {
    /// Which rows, and how thoroughly.
    pub selection: Selection,
    /// Folders of MPI installations, beside those on the search path.
    pub mpi: Vec<PathBuf>,
    /// The program `motet`, which runs [`RankProgram`](crate::RankProgram)s on several processes;
    /// without it those rows are left out.
    pub motet: Option<PathBuf>,
}

/// Measures row after row and tells each, before it starts by its name, and when it is done.
///
/// ```
/// use motet_bench::ranks::{RanksConfig, measure};
/// use motet_bench::{Effort, Selection};
///
/// let selection = Selection { effort: Effort::Trial, rows: vec!["memory of".into()], ..Selection::default() };
/// let mut rows = 0;
/// let config = RanksConfig { selection, ..RanksConfig::default() };
/// measure(&config, |_| (), |outcome| rows += usize::from(outcome.is_ok()));
/// assert_eq!(rows, 2);
/// ```
pub fn measure(
    config: &RanksConfig,
    begin: impl FnMut(&str),
    tell: impl FnMut(Result<CoreRecord, Missing>),
) {
    let mut missing = Vec::new();
    let groups = groups(config, &mut missing);
    config.selection.measure(groups, missing, begin, tell);
}

/// All rows, those together that belong together, with the number of rounds that fits them.
fn groups(config: &RanksConfig, missing: &mut Vec<Missing>) -> [(Vec<Contest>, usize); 6] {
    let selection = &config.selection;
    let by_effort = |trial, quick, full| selection.by_effort(trial, quick, full);
    let many = [10_000, by_effort(20_000, 1_000_000, 1_000_000) as usize];
    // Building the peers takes seconds: not for rows that have none.
    let has_peers = |part: &String| !part.contains("memory") && !part.contains("exchange of");
    let with_peers = selection.rows.is_empty() || selection.rows.iter().any(has_peers);
    let mpi = match with_peers {
        true => installations(config, missing),
        false => Rc::from([]),
    };
    let compiler = selection.go.clone();
    let go = Lazy::shared(move || Go::build(&compiler));
    let peers = Peers {
        mpi: &mpi,
        go: &go,
        budget_us: by_effort(1_000, 30_000, 300_000) as f64,
    };
    let steps = by_effort(20_000, 4_000_000, 20_000_000) as usize;
    let rank_stages = rank_stages::contests(by_effort(50, 20_000, 200_000), peers);
    let long_messages = long_messages::contests(by_effort(5, 1_000, 20_000), peers);
    let over_processes = over_processes::contests(peers, config.motet.as_deref());
    let rounds = |quick, full| selection.rounds(quick, full);
    [
        // First: they measure memory, of which others leave some behind.
        (many_ranks::memory(many), rounds(1, 1)),
        (many_ranks::stages(many, steps), rounds(1, 5)),
        (rank_stages, rounds(1, 7)),
        (rank_collectives::contests(peers), rounds(1, 7)),
        (long_messages, rounds(1, 7)),
        (over_processes, rounds(1, 7)),
    ]
}

/// The MPI libraries there are; what cannot be used is told with the reason.
fn installations(config: &RanksConfig, missing: &mut Vec<Missing>) -> Rc<[Mpi]> {
    let (found, absent) = Mpi::all(&config.mpi);
    missing.extend(absent.into_iter().map(|absent| Missing {
        row: format!("the peer {}", absent.name),
        reason: absent.reason,
    }));
    if found.is_empty() {
        missing.push(Missing {
            row: "every MPI peer".to_owned(),
            reason: "no mpicc is found: name installations with --mpi".to_owned(),
        });
    }
    found.into()
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
        let config = RanksConfig {
            selection,
            mpi: vec![PathBuf::from("/nowhere")],
            motet: None,
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
        assert_eq!(rows.len(), 2 + 2 + 4 * 6 * 3 + 6 * 2 + 6, "{rows:?}");
        for record in &records {
            // So few ranks may fit into memory that was there before.
            let motet = record.motet > 0.0 || record.unit == "bytes a rank";
            assert!(motet && record.runs == 1, "{record:?}");
            assert!(record.peers.values().all(|&time| time > 0.0), "{record:?}");
        }
        let exchange = records
            .iter()
            .find(|r| r.row == "ranks exchange, P = 8, U = 0");
        let absent = &exchange.unwrap().absent;
        assert!(
            absent["go, two shifts"].starts_with("no-such-go does not run"),
            "{absent:?}"
        );
        let told = missing
            .iter()
            .find(|m| m.row == "the peer /nowhere/bin/mpicc");
        assert!(told.is_some(), "{missing:?}");
    }
}
