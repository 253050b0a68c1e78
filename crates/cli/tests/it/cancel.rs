//! Interrupts and readers that go away.

use std::io::Read;
use std::process::{Child, Stdio};

use crate::program::{ProgramFolder, three_groups};

/// Starts the program with its two outputs on pipes.
fn start(place: &ProgramFolder, arguments: &str) -> Child {
    let mut command = place.command(arguments);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn read(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

/// A table that keeps annealing busy for long enough to be interrupted.
#[cfg(target_os = "linux")]
fn long_table() -> String {
    let ratios = [0.754_877_666, 0.569_840_290, 0.438_579_021, 0.324_717_957];
    let value = |row: u32, ratio: f64| format!("{:.6}", (f64::from(row) * ratio).fract());
    let line = |row: u32| ratios.map(|ratio| value(row, ratio)).join(",") + "\n";
    (0..100_000).map(line).collect()
}

/// Waits until the process has taken over its interrupt signal, which the system shows as the
/// second bit of its caught signals.
#[cfg(target_os = "linux")]
fn wait_for_handler(process: &mut Child) {
    let status = format!("/proc/{}/status", process.id());
    loop {
        assert!(
            process.try_wait().unwrap().is_none(),
            "it ended before it was interrupted"
        );
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if mask.is_some_and(|mask| mask & 0b10 != 0) {
            return;
        }
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_run_and_leaves_nothing() {
    let place = ProgramFolder::with("points.csv", long_table());
    let mut process = start(&place, "cluster points.csv --clusters 400 --out out");
    wait_for_handler(&mut process);
    let id = process.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let (out, err) = (
        read(process.stdout.take().unwrap()),
        read(process.stderr.take().unwrap()),
    );
    assert_eq!(
        (process.wait().unwrap().code(), out.as_str()),
        (Some(130), ""),
        "{err}"
    );
    assert_eq!(err, "motet: cancelled: nothing was written\n");
    assert_eq!(place.names("."), ["points.csv"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = ProgramFolder::with("points.csv", three_groups());
    let mut process = start(&place, "cluster points.csv -k 3 --json --out out");
    // The end that reads is closed before anything can be written.
    drop(process.stdout.take());
    let err = read(process.stderr.take().unwrap());
    assert_eq!(
        (process.wait().unwrap().code(), err.as_str()),
        (Some(0), "")
    );
    assert_eq!(place.names("out").len(), 4);
}

#[cfg(all(target_os = "linux", feature = "bench"))]
#[test]
fn an_interrupt_ends_the_suite_and_leaves_whole_rows() {
    let place = ProgramFolder::new();
    // Many short programs: it is far from its end when the first row is there.
    let mut process = start(&place, "bench run E01 E14 E06 --quick --vs none --out out");
    wait_for_handler(&mut process);
    let rows = place.path("out/rows.jsonl");
    while !std::fs::metadata(&rows).is_ok_and(|file| file.len() > 0) {
        assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let id = process.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(killed.unwrap().success());
    let err = read(process.stderr.take().unwrap());
    assert_eq!(process.wait().unwrap().code(), Some(130), "{err}");
    assert!(
        err.ends_with("motet: cancelled: the rows before are in out\n"),
        "{err}"
    );
    let text = place.read("out/rows.jsonl");
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["schema"], 1);
    }
}
