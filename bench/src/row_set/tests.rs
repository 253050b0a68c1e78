//! Every row of every set runs.

use super::*;
use crate::measuring::{Effort, MeasuringConfig};
use std::path::PathBuf;

/// What a set of rows gives in a trial.
fn tried(set: RowSet, config: MeasuringConfig, rows: &[&str]) -> (Vec<CoreRecord>, Vec<Missing>) {
    let setting = Setting::new(MeasuringConfig {
        effort: Effort::Trial,
        ..config
    });
    let rows = rows.iter().map(|&row| row.to_owned()).collect();
    let selection = Selection { rows, runs: None };
    let (mut begun, mut records, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    set.measure(
        &setting,
        &selection,
        |row| begun.push(row.to_owned()),
        |outcome| {
            match outcome {
                Ok(record) => records.push(record),
                Err(absent) => missing.push(absent),
            }
            ControlFlow::Continue(())
        },
    );
    assert!(begun.iter().eq(records.iter().map(|record| &record.row)));
    (records, missing)
}

#[test]
fn every_row_of_core_runs() {
    let config = MeasuringConfig {
        go: PathBuf::from("no-such-go"),
        ..MeasuringConfig::default()
    };
    let (records, missing) = tried(RowSet::Core, config, &[]);
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
    assert_eq!(spawned.len(), 12 + 3);
    assert!(spawned[0].absent["go"].starts_with("no-such-go does not run"));
    assert_eq!(missing.len(), 1, "the tree, whose data was not named");
}

#[test]
fn rows_are_chosen_by_parts_of_their_names() {
    let config = MeasuringConfig {
        data: Some(PathBuf::from("nowhere")),
        ..MeasuringConfig::default()
    };
    let (records, missing) = tried(RowSet::Core, config, &["join of", "UTS"]);
    assert_eq!((records.len(), missing.len()), (1, 1));
    assert_eq!(records[0].row, "join of two items");
    assert!(missing[0].reason.contains("uts.tsv"), "{missing:?}");
}

#[test]
fn nothing_is_measured_when_nobody_listens_any_more() {
    let setting = Setting::new(MeasuringConfig {
        effort: Effort::Trial,
        go: PathBuf::from("no-such-go"),
        ..MeasuringConfig::default()
    });
    let (mut begun, mut told) = (0, 0);
    RowSet::Core.measure(
        &setting,
        &Selection::default(),
        |_| begun += 1,
        |_| {
            told += 1;
            ControlFlow::Break(())
        },
    );
    assert_eq!((begun, told), (1, 1));
}

#[test]
fn every_row_of_ranks_runs() {
    let config = MeasuringConfig {
        go: PathBuf::from("no-such-go"),
        mpi: vec![PathBuf::from("/nowhere")],
        ..MeasuringConfig::default()
    };
    let (records, missing) = tried(RowSet::Ranks, config, &[]);
    assert_eq!(records.len(), 2 + 2 + 4 * 6 * 3 + 6 * 2 + 6);
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

#[test]
fn every_row_of_search_runs() {
    let (rows, missing) = tried(RowSet::Search, MeasuringConfig::default(), &[]);
    assert_eq!((rows.len(), missing.len()), (10, 0));
    assert!(
        rows.iter()
            .all(|row| row.motet > 0.0 && row.absent.is_empty())
    );
}

#[test]
fn every_row_of_sim_runs() {
    let config = MeasuringConfig {
        python: "no-such-python".into(),
        ..MeasuringConfig::default()
    };
    let (rows, missing) = tried(RowSet::Sim, config, &[]);
    assert_eq!((rows.len(), missing.len()), (7, 0), "{missing:?}");
    assert!(rows.iter().all(|row| row.motet > 0.0));
    let absent: Vec<_> = rows.iter().filter(|row| !row.absent.is_empty()).collect();
    assert_eq!(absent.len(), 1, "there is no SimPy: {absent:?}");
}
