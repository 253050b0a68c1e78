//! Ranks of Python that all wait for each other: the run ends, and says who waits for what and
//! where.
//!
//! A rank of Python holds the thread on which it waits, so no worker is ever idle and the run does
//! not find out by itself. Who has called `World.run` looks from outside.

use motet::comm::{RankNow, RunWatch, WaitGraph, WaitNow};
use motet_sync::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// So long all ranks must have waited. In one process nothing is on its way for that long.
const HERE: Duration = Duration::from_secs(2);
/// The same for ranks of several processes.
const EVERYWHERE: Duration = Duration::from_secs(10);

/// Where the ranks of this process run: their numbers, and what Python calls their threads.
pub(crate) type RankThreads = Mutex<Vec<(usize, u64)>>;

/// Looks now and then whether a run can still go on.
pub(crate) struct StuckCheck {
    watch: RunWatch,
    least: Duration,
    next: Instant,
}

impl StuckCheck {
    /// For a run of `processes` processes.
    pub(crate) fn new(watch: RunWatch, processes: usize) -> StuckCheck {
        let least = if processes > 1 { EVERYWHERE } else { HERE };
        StuckCheck {
            watch,
            least,
            next: Instant::now() + least,
        }
    }

    /// What keeps the ranks, if all that have not finished wait for each other.
    pub(crate) fn look(&mut self, py: Python<'_>, threads: &RankThreads) -> Option<String> {
        if Instant::now() < self.next {
            return None;
        }
        let graph = py.detach(|| self.watch.why());
        self.next = Instant::now() + self.least / 2;
        let graph = graph.filter(|graph| is_stuck(graph, self.least))?;
        let mut told = without_places(&graph.to_string());
        for (rank, ident) in threads.lock().iter() {
            if let Some(place) = place_of(py, *ident) {
                // A string takes what is written.
                let _ = write!(told, "\n  rank {rank} is at {place}");
            }
        }
        Some(told)
    }
}

/// Whether all ranks have finished or have waited for at least so long in what cannot end.
fn is_stuck(graph: &WaitGraph, least: Duration) -> bool {
    let stuck = graph.stuck();
    let cannot_go_on = |(rank, now): (usize, &RankNow)| match now {
        RankNow::Finished => true,
        RankNow::Waiting { waits, woken } => {
            let lasts = |wait: &WaitNow| wait.waited >= least && wait.entrances.is_empty();
            !woken && stuck.contains(&rank) && waits.iter().all(lasts)
        }
        _ => false,
    };
    !stuck.is_empty() && graph.ranks.iter().enumerate().all(cannot_go_on)
}

/// The text without places in the source of the extension, which tell a user of Python nothing.
fn without_places(text: &str) -> String {
    const AT: &str = " at ";
    let mut parts = text.split(AT);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find([' ', '\n', ',', ';']).unwrap_or(part.len());
        match part[..end].contains(".rs:") {
            true => kept.push_str(&part[end..]),
            false => kept.extend([AT, part]),
        }
    }
    kept
}

/// The innermost line of the user's program on a thread: its file, its number and its function.
fn place_of(py: Python<'_>, ident: u64) -> Option<String> {
    let place = || -> PyResult<Option<String>> {
        let own = py.import("motet")?.getattr("__path__")?.get_item(0)?;
        let own: String = own.extract()?;
        let frames = py.import("sys")?.call_method0("_current_frames")?;
        let mut frame = frames.cast_into::<PyDict>()?.get_item(ident)?;
        while let Some(here) = frame.filter(|frame| !frame.is_none()) {
            let code = here.getattr("f_code")?;
            let file: String = code.getattr("co_filename")?.extract()?;
            if !file.starts_with(&own) {
                let line: usize = here.getattr("f_lineno")?.extract()?;
                let function: String = code.getattr("co_name")?.extract()?;
                return Ok(Some(format!("{file}:{line} in {function}")));
            }
            frame = Some(here.getattr("f_back")?);
        }
        Ok(None)
    };
    // A thread that has just ended has no line.
    place().ok().flatten()
}

/// Notes that the calling thread runs this rank.
pub(crate) fn note(py: Python<'_>, threads: &RankThreads, rank: usize) -> PyResult<()> {
    let ident = py
        .import("threading")?
        .call_method0("get_ident")?
        .extract()?;
    threads.lock().push((rank, ident));
    Ok(())
}
