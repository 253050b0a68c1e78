//! Ranks: what they cost that wait for each other, beside MPI (papers E14, E15; R017, R034 to
//! R041).
//!
//! Question: is a rank that is a task as fast as a process of MPI? It is asked where there is a
//! core for each and where there is none. Definition: rows as those of
//! [`core`](crate::experiments::core): motet's program and each peer's in turn, ratios of rounds,
//! bars. Method: the peers are C programs, and tokio's and Go's rings of messages. The C programs
//! are built with each `mpicc` that is found and run at that library's best setting
//! (`bench/peers/mpi/README.md`).
//!
//! Threats: other load, from which processes that spin suffer most. Starting processes takes much
//! longer than measuring them, so that pairs lie further apart than those of `core`.

use crate::measuring::Setting;
use crate::rows::rank_stages::Peers;
use crate::rows::{long_messages, many_ranks, over_processes, rank_collectives, rank_stages};
use crate::selection::{Missing, RepeatedRows, Selection};
use std::rc::Rc;

/// All rows, those together that belong together, with the number of rounds that fits them.
pub(crate) fn groups(
    setting: &Setting,
    selection: &Selection,
    missing: &mut Vec<Missing>,
) -> Vec<RepeatedRows> {
    let by_effort = |trial, quick, full| setting.by_effort(trial, quick, full);
    let many = [10_000, by_effort(20_000, 1_000_000, 1_000_000) as usize];
    // Building the peers takes seconds: not for rows that have none.
    let has_peers = |part: &String| !part.contains("memory") && !part.contains("exchange of");
    let with_peers = selection.rows.is_empty() || selection.rows.iter().any(has_peers);
    let mpi = match with_peers {
        true => setting.mpi(),
        false => Rc::from([]),
    };
    if with_peers {
        let every = "no mpicc is found: name installations with --mpi".to_owned();
        let every = mpi.is_empty().then(|| ("every MPI peer".to_owned(), every));
        let absent = setting.mpi_absent().iter();
        let absent = absent.map(|mpi| (format!("the peer {}", mpi.name), mpi.reason.clone()));
        let told = |(row, reason)| Missing { row, reason };
        missing.extend(absent.chain(every).map(told));
    }
    let peers = Peers {
        mpi: &mpi,
        go: &setting.go,
        budget_us: setting.by_effort(1_000.0, 30_000.0, 300_000.0),
    };
    let steps = by_effort(20_000, 4_000_000, 20_000_000) as usize;
    let rank_stages = rank_stages::contests(by_effort(50, 20_000, 200_000), peers);
    let long_messages = long_messages::contests(by_effort(5, 1_000, 20_000), peers);
    let over_processes = over_processes::contests(peers, setting.config().motet.as_deref());
    let rounds = |quick, full| setting.by_effort(1, quick, full);
    vec![
        // First: they measure memory, of which others leave some behind.
        (many_ranks::memory(many), rounds(1, 1)),
        (many_ranks::stages(many, steps), rounds(1, 5)),
        (rank_stages, rounds(1, 7)),
        (rank_collectives::contests(peers), rounds(1, 7)),
        (long_messages, rounds(1, 7)),
        (over_processes, rounds(1, 7)),
    ]
}
