//! Ranks of Python that all wait for each other: the run ends, and says who waits for what and
//! where.
//!
//! A rank of Python holds the thread on which it waits. So no worker is ever idle and the run does
//! not find out by itself. Who has called `World.run` looks from outside; where the program itself
//! is the rank, a thread beside it does.

use motet::comm::{RankNow, RunWatch, WaitGraph, WaitNow};
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_sync::thread::{self, JoinHandle};
use motet_sync::{Arc, Mutex, Parker, Unparker};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Write;
use std::io;
use std::time::{Duration, Instant};

/// So long all ranks must have waited. In one process nothing is on its way for that long.
const HERE: Duration = Duration::from_secs(2);
/// The same for ranks of several processes.
const EVERYWHERE: Duration = Duration::from_secs(10);

/// Between two looks at most.
const SELDOM: Duration = Duration::from_secs(60);

/// The ranks of this process that have not ended.
#[derive(Default)]
pub(crate) struct RankThreads {
    /// Their numbers, and what Python calls their threads.
    threads: Mutex<Vec<(usize, u64)>>,
    /// How many have waited for some time in a call that only messages end.
    waiting: Arc<AtomicUsize>,
}

/// A rank waits, until this is dropped.
pub(crate) struct WaitingRank(Arc<AtomicUsize>);

/// Looks now and then whether a run can still go on.
pub(crate) struct StuckCheck {
    watch: RunWatch,
    least: Duration,
    next: Instant,
    pause: Duration,
}

impl StuckCheck {
    /// For a run of `processes` processes.
    pub(crate) fn new(watch: RunWatch, processes: usize) -> StuckCheck {
        let least = if processes > 1 { EVERYWHERE } else { HERE };
        StuckCheck {
            watch,
            least,
            next: Instant::now() + least,
            pause: least / 2,
        }
    }

    /// What keeps the ranks, if all that have not finished wait for each other, and where those are
    /// whose threads are known.
    pub(crate) fn look(&mut self, py: Python<'_>, ranks: &RankThreads) -> Option<String> {
        let mut told = py.detach(|| self.find(ranks))?;
        // Outside the lock: a rank that begins has the interpreter and wants it.
        let threads = ranks.threads.lock().clone();
        for (rank, ident) in threads {
            if let Some(place) = place_of(py, ident) {
                // A string takes what is written.
                let _ = write!(told, "\n  rank {rank} is at {place}");
            }
        }
        Some(told)
    }

    /// Ends the run in the other processes for this reason, where no rank of this one is left that
    /// would end it.
    pub(crate) fn end(&self, ranks: &RankThreads, reason: &str) {
        if ranks.threads.lock().is_empty() {
            // In one process nobody is left then.
            let _ = self.watch.end(reason);
        }
    }

    /// What keeps the ranks, if all that have not finished wait for each other. While one here
    /// computes nobody is asked.
    pub(crate) fn find(&mut self, ranks: &RankThreads) -> Option<String> {
        let now = Instant::now();
        let all = ranks.threads.lock().len();
        // Relaxed: who waits for as long as it must is seen at some look.
        if ranks.waiting.load(Ordering::Relaxed) < all {
            (self.next, self.pause) = (now + self.least, self.least / 2);
        }
        if now < self.next {
            return None;
        }
        let graph = self.watch.why();
        self.next = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(SELDOM);
        let graph = graph.filter(|graph| is_stuck(graph, self.least))?;
        Some(without_places(&graph.to_string()))
    }
}

/// A thread that looks now and then until this is dropped, or until it has found something.
pub(crate) struct StuckWatch {
    dropped: Arc<AtomicBool>,
    unparker: Unparker,
    thread: Option<JoinHandle<()>>,
}

impl StuckWatch {
    /// Between two looks.
    const PAUSE: Duration = Duration::from_millis(500);

    /// `look` says whether it has found something.
    pub(crate) fn start(
        mut look: impl FnMut() -> bool + Send + 'static,
    ) -> Result<StuckWatch, io::Error> {
        let (dropped, parker) = (Arc::new(AtomicBool::new(false)), Parker::new());
        let (ended, unparker) = (Arc::clone(&dropped), parker.unparker());
        let thread = thread::spawn_named("stuck", move || {
            // Acquire: goes with the release of the drop.
            while !ended.load(Ordering::Acquire) && !look() {
                // Woken or not: it looks again.
                let _ = parker.park_timeout(StuckWatch::PAUSE);
            }
        })?;
        Ok(StuckWatch {
            dropped,
            unparker,
            thread: Some(thread),
        })
    }
}

impl Drop for StuckWatch {
    fn drop(&mut self) {
        // Release: goes with the acquire of the thread.
        self.dropped.store(true, Ordering::Release);
        self.unparker.unpark();
        if let Some(thread) = self.thread.take() {
            // What it looks with does not panic.
            let _ = thread.join();
        }
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
pub(crate) fn without_places(text: &str) -> String {
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

/// Has the ranks of this process raise an exception of the type of `error` at their next step of
/// Python: those that compute look for nothing else.
pub(crate) fn interrupt(py: Python<'_>, ranks: &RankThreads, error: &PyErr) -> PyResult<()> {
    // Outside the lock: a rank that begins has the interpreter and wants it.
    let threads = ranks.threads.lock().clone();
    let idents: Vec<u64> = threads.into_iter().map(|(_, ident)| ident).collect();
    let module = py.import("motet._interrupt")?;
    module.call_method1("interrupt", (idents, error.get_type(py)))?;
    Ok(())
}

impl WaitingRank {
    pub(crate) fn new(ranks: &RankThreads) -> WaitingRank {
        ranks.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingRank(Arc::clone(&ranks.waiting))
    }
}

impl Drop for WaitingRank {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Notes that the calling thread runs this rank.
pub(crate) fn note(py: Python<'_>, ranks: &RankThreads, rank: usize) -> PyResult<()> {
    let ident = py
        .import("threading")?
        .call_method0("get_ident")?
        .extract()?;
    ranks.threads.lock().push((rank, ident));
    Ok(())
}

/// Notes that this rank has ended.
pub(crate) fn forget(ranks: &RankThreads, rank: usize) {
    ranks.threads.lock().retain(|(other, _)| *other != rank);
}
