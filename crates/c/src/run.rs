//! One run of ranks that block their threads, and how it is seen to be stuck.
//!
//! A rank that blocks never gives its thread back, so the runtime does not see that it sleeps. So
//! the ranks of a run keep a list of who sleeps:
//!
//! ```text
//!  rank                               who brings it something
//!  1  forget that it was woken        a  make it visible
//!  2  look: not there                 b  wake: it is awake, and was woken
//!  3  was woken? ── yes ─► 1          c  unpark its thread
//!     no: it sleeps
//! ```
//!
//! All of 1, 3 and b happen under one lock. So who is on the list has looked after all that was
//! brought to it. When all ranks that have not ended are on the list, nobody is left who could
//! bring anything: the run is stuck.

use crate::error::{Code, Failure};
use crate::foreign::site;
use motet::comm::{CallSite, RankNow, RunWatch, WaitGraph};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Mutex, Unparker};

/// What the ranks of one run share.
pub(crate) struct SharedRun {
    /// The ranks are to end where they wait.
    stopped: AtomicBool,
    /// What looks at the ranks, if all of them are in this process: else nobody knows them all.
    watch: Option<RunWatch>,
    sleep: Mutex<Sleep>,
}

/// Who sleeps. No user code runs under its lock.
struct Sleep {
    /// In rank order.
    ranks: Vec<Sleeper>,
    asleep: usize,
    /// Ranks that have not ended.
    alive: usize,
    /// Why the run has been stopped.
    reason: Option<Failure>,
}

#[derive(Default)]
struct Sleeper {
    asleep: bool,
    woken: bool,
    ended: bool,
    /// Where in the program it sleeps: file and line.
    site: Option<(&'static str, u32)>,
    unparker: Option<Unparker>,
}

/// What a rank does that has found nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It sleeps, until it is awake.
    Sleep,
    /// Something may have come: it looks again.
    Look,
}

impl SharedRun {
    /// A run of so many ranks, which `watch` sees if they are all.
    pub(crate) fn new(ranks: usize, watch: Option<RunWatch>) -> SharedRun {
        SharedRun {
            stopped: AtomicBool::new(false),
            watch,
            sleep: Mutex::new(Sleep {
                ranks: (0..ranks).map(|_| Sleeper::default()).collect(),
                asleep: 0,
                alive: ranks,
                reason: None,
            }),
        }
    }

    /// Whether the ranks keep a list of who sleeps.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Whether the ranks are to end where they wait.
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: the reason is behind a lock.
        self.stopped.load(Ordering::Relaxed)
    }

    /// Why the run has been stopped, if it has.
    pub(crate) fn reason(&self) -> Option<Failure> {
        self.sleep.lock().reason.clone()
    }

    /// A rank begins, on the thread that this unparks.
    pub(crate) fn begin(&self, rank: usize, unparker: Unparker) {
        if let Some(sleeper) = self.sleep.lock().ranks.get_mut(rank) {
            sleeper.unparker = Some(unparker);
        }
    }

    /// A rank has ended.
    pub(crate) fn end(&self, rank: usize) {
        let last_awake = {
            let mut sleep = self.sleep.lock();
            if let Some(sleeper) = sleep.ranks.get_mut(rank) {
                sleeper.ended = true;
                sleeper.unparker = None;
            }
            sleep.alive -= 1;
            sleep.alive > 0 && sleep.asleep == sleep.alive
        };
        if last_awake {
            self.stuck();
        }
    }

    /// Ends the ranks where they wait. The first reason is kept. Whether that is the failure of
    /// another rank.
    pub(crate) fn stop(&self, reason: Failure) -> bool {
        let (follows, wake): (bool, Vec<Unparker>) = {
            let mut sleep = self.sleep.lock();
            let first = sleep.reason.as_ref();
            let follows = first.is_some_and(|first| first.code == Code::Rank);
            sleep.reason.get_or_insert(reason);
            // Relaxed: as in `is_stopped`.
            self.stopped.store(true, Ordering::Relaxed);
            sleep.asleep = 0;
            let ranks = sleep.ranks.iter_mut();
            let wake = ranks.filter_map(|sleeper| {
                sleeper.asleep = false;
                sleeper.unparker.clone()
            });
            (follows, wake.collect())
        };
        wake.iter().for_each(Unparker::unpark);
        follows
    }

    /// A rank is about to look: what has come so far it will see.
    pub(crate) fn look(&self, rank: usize) {
        self.sleep.lock().ranks[rank].woken = false;
    }

    /// A rank has looked, and found nothing.
    pub(crate) fn found_nothing(&self, rank: usize) -> Next {
        {
            let mut sleep = self.sleep.lock();
            let Sleep { ranks, asleep, .. } = &mut *sleep;
            let sleeper = &mut ranks[rank];
            if sleeper.woken || self.is_stopped() {
                return Next::Look;
            }
            sleeper.asleep = true;
            sleeper.site = site();
            *asleep += 1;
            if sleep.asleep < sleep.alive {
                return Next::Sleep;
            }
        }
        self.stuck();
        Next::Look
    }

    /// Whether a rank that has gone to sleep still should.
    pub(crate) fn is_asleep(&self, rank: usize) -> bool {
        self.sleep.lock().ranks[rank].asleep
    }

    /// Something has come for a rank.
    pub(crate) fn wake(&self, rank: usize) {
        let unparker = {
            let mut sleep = self.sleep.lock();
            let Sleep { ranks, asleep, .. } = &mut *sleep;
            let sleeper = &mut ranks[rank];
            sleeper.woken = true;
            *asleep -= usize::from(sleeper.asleep);
            sleeper.asleep = false;
            sleeper.unparker.clone()
        };
        unparker.iter().for_each(Unparker::unpark);
    }

    /// All ranks sleep, and nobody will wake them. The last one that was awake says so.
    fn stuck(&self) {
        let seen = self.watch.as_ref().and_then(RunWatch::why);
        let said = seen.map(|graph| self.placed(graph).to_string());
        let said = said.unwrap_or_default();
        let text = format!("all ranks that have not ended wait for each other; {said}");
        self.stop(Failure::new(Code::Stuck, text));
    }

    /// The graph with the places of the program in C, and with those that have ended.
    fn placed(&self, mut graph: WaitGraph) -> WaitGraph {
        let sleep = self.sleep.lock();
        for (now, sleeper) in graph.ranks.iter_mut().zip(&sleep.ranks) {
            if sleeper.ended {
                *now = RankNow::Finished;
            }
            let (RankNow::Waiting { waits, .. }, Some((file, line))) = (now, sleeper.site) else {
                continue;
            };
            waits
                .iter_mut()
                .for_each(|wait| wait.wait.location = CallSite::new(file, line, 1));
        }
        drop(sleep);
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ranks: usize) -> SharedRun {
        SharedRun::new(ranks, None)
    }

    fn is_stuck(run: &SharedRun) -> bool {
        run.reason()
            .is_some_and(|reason| reason.code == Code::Stuck)
    }

    #[test]
    fn the_last_that_falls_asleep_is_told_that_all_are_stuck() {
        let run = run(3);
        for rank in 0..2 {
            run.look(rank);
            assert_eq!(run.found_nothing(rank), Next::Sleep);
            assert!(run.is_asleep(rank) && !run.is_stopped());
        }
        run.look(2);
        assert_eq!(run.found_nothing(2), Next::Look);
        assert!(is_stuck(&run) && (0..3).all(|rank| !run.is_asleep(rank)));
    }

    #[test]
    fn who_was_woken_while_it_looked_looks_again() {
        let run = run(1);
        run.look(0);
        run.wake(0);
        assert_eq!(run.found_nothing(0), Next::Look);
        assert!(!run.is_stopped());
        // What it has seen by now does not wake it once more.
        run.look(0);
        assert_eq!(run.found_nothing(0), Next::Look);
        assert!(is_stuck(&run));
    }

    #[test]
    fn who_was_woken_from_its_sleep_does_not_count() {
        let run = run(2);
        assert_eq!(run.found_nothing(0), Next::Sleep);
        run.wake(0);
        assert!(!run.is_asleep(0));
        // Its thread has not run since.
        assert_eq!(run.found_nothing(1), Next::Sleep);
        assert!(!run.is_stopped());
        run.end(0);
        assert!(is_stuck(&run) && !run.is_asleep(1));
    }

    #[test]
    fn the_first_reason_is_kept() {
        let run = run(2);
        assert_eq!(run.found_nothing(1), Next::Sleep);
        let stop = |of: &str| run.stop(Failure::new(Code::Rank, of));
        assert_eq!((stop("rank 0"), stop("rank 1")), (false, true));
        assert_eq!(run.found_nothing(1), Next::Look);
        run.end(1);
        run.end(0);
        assert_eq!(run.reason().unwrap().text, "rank 0");
    }
}
