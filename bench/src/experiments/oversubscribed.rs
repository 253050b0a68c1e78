//! Oversubscribed: an exchange beside other processes that keep the cores busy.
//!
//! Question: does spinning give way, and does the exchange still go on? Definition: stages per
//! second of two ranks beside B busy processes, over those of the same ranks alone. With C cores
//! and R ranks on threads of their own the ranks' share of the processor is min(1, C / (R + B)).
//! Threats: what the system's scheduler makes of it; other load.

use super::soak;
use crate::measuring::{Case, MeasuringMethod, Point, Quantity, measured};
use crate::statistics::{Spread, median};
use itertools::Itertools;
use motet_sync::thread;
use serde::Serialize;
use std::io;
use std::process::{Child, Command, Stdio};

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OversubscribedRecord {
    /// Ranks.
    pub parallel: usize,
    /// Busy processes beside them.
    pub busy: usize,
    /// The ranks' share of the processor.
    pub share: f64,
    /// Progress beside the busy processes over progress alone.
    pub progress: f64,
    /// Progress over the share.
    pub progress_over_share: f64,
    /// Time per stage alone, in µs.
    pub alone_us: f64,
    /// Time per stage beside the busy processes, in µs.
    pub beside_us: f64,
    /// Pairs of runs.
    pub runs: usize,
}

/// A process that only keeps a core busy; ended when dropped.
struct Busy(Child);

/// Keeps a core busy until who has started it is gone: nobody drops anything where a signal ends
/// the process.
const LOOP: &str = "while kill -0 $PPID 2>/dev/null; do \
                    i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); done; done";

impl Busy {
    fn start() -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", LOOP])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        shell.spawn().map(Busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing else to do about it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures pairs of runs, alone and beside `busy` processes.
///
/// # Errors
/// When the busy processes cannot be started (they need `sh`).
pub fn measure(busy: usize, runs: usize) -> io::Result<OversubscribedRecord> {
    const PARALLEL: usize = 2;
    const STAGES: u64 = 400_000;
    let stage_us = || soak::run(PARALLEL, STAGES, |_| ()).stage_us;
    let alone = move || Ok(stage_us());
    let crowd = move || -> io::Result<f64> {
        let _crowd: Vec<Busy> = (0..busy).map(|_| Busy::start()).try_collect()?;
        Ok(stage_us())
    };
    let case = Case::new(Point::new(), &[Quantity::new("time per stage", "us")])
        .with("alone", alone)
        .with("beside", move || crowd().map_err(|error| error.to_string()));
    // Others are to be busy: that disturbs nothing.
    let method = MeasuringMethod {
        watched: false,
        ..MeasuringMethod::rounds(runs, 1)
    };
    let plan = measured(method, vec![case], |_| ());
    let of = |series| plan.values(0, series, 0).map_err(io::Error::other);
    let (alone, beside) = (of(0)?, of(1)?);
    let share = (thread::cores() as f64 / (PARALLEL + busy) as f64).min(1.0);
    let progress = Spread::of_rounds(&alone, &beside, |alone, beside| alone / beside).median;
    Ok(OversubscribedRecord {
        parallel: PARALLEL,
        busy,
        share,
        progress,
        progress_over_share: progress / share,
        alone_us: median(&alone),
        beside_us: median(&beside),
        runs,
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use motet_testkit::{patience, within};
    use std::io::{BufRead, BufReader, Read};

    #[test]
    fn a_busy_process_ends_when_who_has_started_it_is_gone() {
        within(patience(), || {
            let mut starter = Command::new("sh")
                .args(["-c", "sh -c \"echo begun; $1\" & read _", "sh", LOOP])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut told = BufReader::new(starter.stdout.take().unwrap());
            let mut line = String::new();
            told.read_line(&mut line).unwrap();
            assert_eq!(line, "begun\n");
            // Its input ends, and so does it. The other one holds the pipe as long as it runs.
            starter.wait().unwrap();
            assert_eq!(told.read_to_end(&mut Vec::new()).unwrap(), 0);
        });
    }
}
