//! What a folder of rows promises: whole lines, one machine, one form, and an experiment's newest
//! rows.

use super::*;
use crate::measuring::{MeasuringConfig, Point, RowOutcome, Setting};
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeSet;

/// A folder that goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBERS: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("motet-store-{}-{number}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }

    fn rows(&self) -> Vec<(String, f64)> {
        let value = |row: &Row| match row.outcome {
            RowOutcome::Measured { median, .. } => median,
            RowOutcome::Absent { .. } => f64::NAN,
        };
        let rows = read(&self.0).unwrap();
        rows.iter()
            .map(|row| (row.experiment.clone(), value(row)))
            .collect()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.0.join(ROWS)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn machine() -> Machine {
    Machine::here(&Setting::new(MeasuringConfig::default()))
}

fn row(experiment: &str, value: f64) -> Row {
    Row {
        schema: SCHEMA,
        experiment: experiment.to_owned(),
        series: "motet".to_owned(),
        point: Point::new().with("word", "ü").with("place", value),
        quantity: "time".to_owned(),
        unit: "us".to_owned(),
        outcome: RowOutcome::Measured {
            median: value,
            least: value,
            most: value,
            runs: 1,
        },
        disturbed: false,
    }
}

#[test]
fn an_experiments_newest_rows_take_the_place_of_the_old_ones() {
    let (folder, machine) = (Folder::new(), machine());
    let mut first = RowStore::open(&folder.0, &machine, &[]).unwrap();
    for (key, value) in [("E01", 1.0), ("E02", 2.0), ("E01", 3.0)] {
        first.write(&[row(key, value)]).unwrap();
    }
    let expected = [("E01", 1.0), ("E02", 2.0), ("E01", 3.0)].map(|(k, v)| (k.to_owned(), v));
    assert_eq!(folder.rows(), expected);
    drop(first);
    let mut second = RowStore::open(&folder.0, &machine, &[]).unwrap();
    second.write(&[row("E01", 4.0)]).unwrap();
    // A run that is ended before the experiment is leaves the old ones.
    let both = [("E01", 1.0), ("E02", 2.0), ("E01", 3.0), ("E01", 4.0)];
    assert_eq!(folder.rows(), both.map(|(k, v)| (k.to_owned(), v)));
    let mut again = row("E01", 1.0);
    again.unit = "ms".to_owned();
    second.write(std::slice::from_ref(&again)).unwrap();
    // But the one that was measured again is there once.
    let all = read(&folder.0).unwrap();
    let first = row("E01", 1.0);
    let alike: Vec<&Row> = all.iter().filter(|row| row.point == first.point).collect();
    assert_eq!(alike, [&again]);
    second.end("E03").unwrap();
    assert_eq!(folder.rows().len(), 4);
    second.end("E01").unwrap();
    let expected = [("E02", 2.0), ("E01", 4.0), ("E01", 1.0)].map(|(k, v)| (k.to_owned(), v));
    assert_eq!(folder.rows(), expected);
    assert_eq!(folder.text().lines().count(), 3);
    assert_eq!(read_machine(&folder.0).unwrap(), machine);
    let names: BTreeSet<String> = fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, [MACHINE, ROWS].map(str::to_owned).into());
}

#[test]
fn a_line_that_was_cut_off_is_no_row_wherever_the_cut_is() {
    let (folder, machine) = (Folder::new(), machine());
    let mut store = RowStore::open(&folder.0, &machine, &[]).unwrap();
    store.write(&[row("E01", 1.0)]).unwrap();
    store.write(&[row("E01", 2.0)]).unwrap();
    let whole = folder.text().into_bytes();
    drop(store);
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in first..whole.len() {
        fs::write(folder.0.join(ROWS), &whole[..cut]).unwrap();
        assert_eq!(folder.rows(), [("E01".to_owned(), 1.0)], "cut at {cut}");
        // A run goes on behind the last whole line.
        let mut store = RowStore::open(&folder.0, &machine, &[]).unwrap();
        store.write(&[row("E02", 3.0)]).unwrap();
        assert_eq!(folder.rows().len(), 2, "cut at {cut}");
    }
    fs::write(folder.0.join(ROWS), &whole[..first / 2]).unwrap();
    assert!(folder.rows().is_empty());
}

#[cfg(unix)]
#[test]
fn a_writer_that_is_killed_leaves_whole_lines() {
    // A shell stands for the writer: it appends half a line and is killed.
    let (folder, machine) = (Folder::new(), machine());
    let mut store = RowStore::open(&folder.0, &machine, &[]).unwrap();
    store.write(&[row("E01", 1.0)]).unwrap();
    let half = line(&row("E01", 2.0));
    let script = format!(
        "printf '%s' '{}' >> {}; kill -9 $$",
        &half[..half.len() / 2],
        folder.0.join(ROWS).display()
    );
    let ended = std::process::Command::new("sh")
        .args(["-c", &script])
        .status()
        .unwrap();
    assert!(!ended.success());
    assert!(!folder.text().ends_with('\n'), "half a line is there");
    assert_eq!(folder.rows(), [("E01".to_owned(), 1.0)]);
}

#[test]
fn rows_of_another_machine_or_form_are_refused() {
    let (folder, here) = (Folder::new(), machine());
    let mut there = here.clone();
    there.machine.cores += 1;
    RowStore::open(&folder.0, &there, &[])
        .unwrap()
        .write(&[row("E01", 1.0)])
        .unwrap();
    let refused = RowStore::open(&folder.0, &here, &[]).unwrap_err();
    assert!(
        matches!(refused, StoreError::OtherMachine { .. }),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("name another folder"),
        "{refused}"
    );
    assert_eq!(
        read_machine(&folder.0).unwrap(),
        there,
        "nothing is changed"
    );

    fs::write(folder.0.join(ROWS), "{\"schema\":2,\"news\":[]}\n").unwrap();
    let refused = RowStore::open(&folder.0, &there, &[]).unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::Schema {
                line: 1,
                found: 2,
                ..
            }
        ),
        "{refused}"
    );

    fs::write(folder.0.join(ROWS), "{\"schema\":1}\nno row\n").unwrap();
    let refused = read(&folder.0).unwrap_err();
    assert!(
        matches!(refused, StoreError::Line { line: 1, .. }),
        "{refused}"
    );

    fs::write(folder.0.join(ROWS), line(&row("E01", 1.0))).unwrap();
    fs::remove_file(folder.0.join(MACHINE)).unwrap();
    let refused = RowStore::open(&folder.0, &here, &[]).unwrap_err();
    assert!(matches!(refused, StoreError::NoRecord { .. }), "{refused}");
}

#[test]
fn rows_of_another_manner_are_refused_unless_they_are_measured_again() {
    let (folder, quick) = (Folder::new(), machine());
    let mut trial = quick.clone();
    (trial.effort, trial.pinned) = ("trial".to_owned(), false);
    let mut store = RowStore::open(&folder.0, &quick, &["E01", "E02"]).unwrap();
    store.write(&[row("E01", 1.0)]).unwrap();
    store.write(&[row("E02", 2.0)]).unwrap();
    drop(store);
    let refused = RowStore::open(&folder.0, &trial, &["E01"]).unwrap_err();
    let told = refused.to_string();
    assert!(
        told.contains("holds quick, bound rows") && told.contains("--out"),
        "{told}"
    );
    assert_eq!(read_machine(&folder.0).unwrap(), quick);
    assert_eq!(folder.rows().len(), 2);
    drop(RowStore::open(&folder.0, &trial, &["E02", "E01"]).unwrap());
    assert!(folder.rows().is_empty());
    assert_eq!(read_machine(&folder.0).unwrap(), trial);
}

#[test]
fn two_runs_do_not_write_into_one_folder() {
    let (folder, machine) = (Folder::new(), machine());
    let store = RowStore::open(&folder.0, &machine, &[]).unwrap();
    let refused = RowStore::open(&folder.0, &machine, &[]).unwrap_err();
    assert!(
        refused.to_string().starts_with("another run writes into"),
        "{refused}"
    );
    drop(store);
    RowStore::open(&folder.0, &machine, &[]).unwrap();
}

#[test]
fn a_record_of_another_form_is_refused() {
    let (folder, machine) = (Folder::new(), machine());
    drop(RowStore::open(&folder.0, &machine, &[]).unwrap());
    fs::write(folder.0.join(MACHINE), "{\"schema\":7}").unwrap();
    let refused = read_machine(&folder.0).unwrap_err().to_string();
    assert!(refused.contains("has form 7 there"), "{refused}");
}

#[test]
fn a_row_without_values_says_what_is_missing() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    let text = line(&row("E01", 1.0)).replace("\"median\":1.0", "\"median\":null");
    fs::write(folder.0.join(ROWS), text).unwrap();
    let refused = read(&folder.0).unwrap_err().to_string();
    let said = "neither median, least, most and runs, nor absent";
    assert!(refused.contains(said), "{refused}");
}
