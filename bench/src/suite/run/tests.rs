//! Every experiment at trial effort, into a folder.

use super::*;
use crate::measuring::{Case, Effort, MeasuringConfig};
use crate::suite::{all, read, read_machine};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Counts what it hears.
#[derive(Default)]
struct Heard {
    experiments: Vec<String>,
    cases: usize,
    rows: usize,
    stop_at_case: Option<usize>,
}

impl RunListener for Heard {
    fn experiment(
        &mut self,
        (round, most): (usize, usize),
        (at, of): (usize, usize),
        _: &'static Experiment,
    ) {
        assert!(at < of && round < most);
    }

    fn results(&mut self, experiment: &'static Experiment, _: usize, _: Duration) {
        self.experiments.push(experiment.key.clone());
    }

    fn row(&mut self, row: &Row) {
        assert_eq!(Some(&row.experiment), self.experiments.last());
        self.rows += 1;
    }
}

impl Listener for Heard {
    fn case(&mut self, at: usize, of: usize, _: &Case) {
        assert!(at < of);
        self.cases += 1;
    }

    fn disturbed(&mut self, _: &Case, _: f64, _: bool) {}

    fn cancelled(&self) -> bool {
        self.stop_at_case.is_some_and(|cases| self.cases >= cases)
    }
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("motet-suite-{name}-{}", std::process::id()))
}

fn trial() -> Setting {
    Setting::new(MeasuringConfig {
        effort: Effort::Trial,
        go: PathBuf::from("no-such-go"),
        ..MeasuringConfig::default()
    })
}

#[test]
fn every_experiment_runs_and_its_rows_are_sane() {
    let (out, mut heard) = (folder("all"), Heard::default());
    run(&trial(), &all(), &out, &mut heard).unwrap();
    let rows = read(&out).unwrap();
    assert_eq!(rows.len(), heard.rows);
    for experiment in all() {
        let key = &experiment.key;
        let own: Vec<&Row> = rows.iter().filter(|row| row.experiment == *key).collect();
        assert!(!own.is_empty(), "{key} has no row");
        let parameters = experiment.parameters.iter();
        let names: BTreeSet<&str> = parameters.map(|(name, _)| name.as_str()).collect();
        for row in own {
            for (name, _) in row.point.iter() {
                assert!(names.contains(name), "{key}: {name} is not explained");
            }
            match &row.outcome {
                RowOutcome::Measured {
                    median,
                    least,
                    most,
                    ..
                } => {
                    assert!(least <= median && median <= most, "{row:?}");
                    // A difference of two short runs may be anything; what is a time may not.
                    let difference =
                        row.quantity.contains("overhead") || row.quantity.contains("difference");
                    assert!(difference || *least >= 0.0, "{row:?}");
                }
                RowOutcome::Absent { absent } => assert!(!absent.is_empty(), "{row:?}"),
            }
            // A peer that cannot be asked for by its name would be in no run with --vs.
            let asked = MeasuringConfig {
                peers: Some(vec![row.series.clone()]),
                ..MeasuringConfig::default()
            };
            let known = row.series.starts_with("motet") || asked.check_peers().is_ok();
            let several = row.series.starts_with("OpenMP ");
            assert!(known || several, "{}", row.series);
            // What is motet's own runs everywhere, but for what needs data or processes, neither of
            // which is named here.
            let own = row.series.starts_with("motet") && row.quantity != "all";
            if let (true, RowOutcome::Absent { absent }) = (own, &row.outcome) {
                let needs = ["--data", "the program motet"];
                let needs = needs.iter().any(|what| absent.contains(what));
                assert!(row.quantity == "shown by" || needs, "{row:?}");
            }
        }
        for picture in &experiment.pictures {
            // A series is a row's own.
            let x = |row: &&Row| picture.x.of == "series" || row.point.get(&picture.x.of).is_some();
            let mut drawn = rows
                .iter()
                .filter(|row| row.experiment == *key && row.quantity == picture.y.of);
            assert!(drawn.any(|row| x(&row)), "{} draws nothing", picture.key);
        }
    }
    let go = rows.iter().find(|row| row.series == "Go").unwrap();
    let RowOutcome::Absent { absent } = &go.outcome else {
        panic!("{go:?}");
    };
    assert!(absent.starts_with("no-such-go does not run"), "{absent}");
    assert_eq!(read_machine(&out).unwrap().effort, "trial");
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn results_come_in_order() {
    let (out, mut heard) = (folder("order"), Heard::default());
    let some: Vec<_> = ["E02", "E01"]
        .map(|key| crate::suite::find(key).unwrap()[0])
        .into();
    run(&trial(), &some, &out, &mut heard).unwrap();
    assert_eq!(heard.experiments, ["E02", "E01"]);
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn cancelling_keeps_whole_rows() {
    let (out, setting) = (folder("cancelled"), trial());
    let mut heard = Heard {
        stop_at_case: Some(4),
        ..Heard::default()
    };
    let experiments = [crate::suite::find("E01").unwrap()[0]];
    let stop = run(&setting, &experiments, &out, &mut heard).unwrap_err();
    assert!(matches!(stop, Stop::Cancelled));
    // The fourth case had not run.
    assert_eq!((read(&out).unwrap().len(), heard.rows), (3, 3));
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn cancelling_in_the_first_round_keeps_what_was_measured_before() {
    let (out, setting) = (folder("again"), trial());
    let experiments = [crate::suite::find("E01").unwrap()[0]];
    run(&setting, &experiments, &out, &mut Heard::default()).unwrap();
    let names = || -> BTreeSet<[String; 4]> { read(&out).unwrap().iter().map(Row::name).collect() };
    let before = names();
    let mut heard = Heard {
        stop_at_case: Some(2),
        ..Heard::default()
    };
    let stop = run(&setting, &experiments, &out, &mut heard).unwrap_err();
    assert!(matches!(stop, Stop::Cancelled));
    assert!(heard.rows > 0 && before.len() > heard.rows);
    assert_eq!(names(), before);
    std::fs::remove_dir_all(out).unwrap();
}
