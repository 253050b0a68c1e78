//! A look at running worlds from outside.

use crate::WaitGraph;
use crate::asks::Asks;
use crate::fabric::{LocalRanks, RunProcesses};
use motet_sync::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Looks at the runs of a [`World`](crate::World), from any thread and while they go on: who waits
/// for whom.
///
/// Made by [`World::watch`](crate::World::watch). The ranks need not help, and pay nothing for it:
/// what is shown they note anyway, when they go to sleep. Over several processes a thread of each
/// answers.
///
/// ```
/// use motet_comm::{CommError, RankNow, World};
///
/// let world = World::threads(2).workers(2);
/// let watch = world.watch();
/// let seen = world
///     .run(async |comm| -> Result<_, CommError> {
///         if comm.rank() == 1 {
///             return comm.recv(0, 7).await; // waits until rank 0 has seen that it waits
///         }
///         let seen = loop {
///             let now = watch.why().expect("it runs");
///             if let RankNow::Waiting { .. } = now.ranks[1] {
///                 break now.to_string();
///             }
///         };
///         comm.send(1, 7, String::new()).await?;
///         Ok(seen)
///     })
///     .unwrap();
/// assert!(seen[0].contains("rank 1: waits in recv(source 0, tag 7) at"), "{}", seen[0]);
/// ```
#[derive(Debug, Clone)]
pub struct RunWatch {
    runs: Arc<WatchedRuns>,
}

/// The runs of a world and its copies that are under way, and who asks about them.
#[derive(Default)]
pub(crate) struct WatchedRuns {
    under_way: Mutex<Vec<Arc<Shown>>>,
    asks: Arc<Asks>,
}

/// One run; locked while somebody looks, so that it ends after that.
type Shown = Mutex<Option<WatchedRanks>>;

/// The ranks of a run.
pub(crate) enum WatchedRanks {
    Here(Arc<LocalRanks>),
    Everywhere(Arc<RunProcesses>),
}

/// How long another process is waited for.
const LIMIT: Duration = Duration::from_secs(1);

impl RunWatch {
    pub(crate) fn new(runs: &Arc<WatchedRuns>) -> Self {
        RunWatch {
            runs: Arc::clone(runs),
        }
    }

    /// What all ranks of the world do now; `None` when it does not run. Of several runs at once it
    /// is the one that began last.
    ///
    /// Over several processes, this one asks all others, and those that have not answered within a
    /// second are [named](WaitGraph::silent). Do not call it in a handler then: it blocks its
    /// thread. A rank may call it; the run does not end before it has returned. One rank on the
    /// calling thread ([`World::solo`](crate::World::solo)) is not seen.
    #[must_use]
    pub fn why(&self) -> Option<WaitGraph> {
        self.with_last(|ranks| match ranks {
            WatchedRanks::Here(local) => local.look(),
            WatchedRanks::Everywhere(processes) => processes.why(LIMIT),
        })
    }

    /// Ends the run that [`RunWatch::why`] shows, in all its processes, with
    /// [`RunError::Elsewhere`](crate::RunError::Elsewhere), which has this process and the reason.
    /// For who finds out from outside that it cannot go on, also where the ranks of this process
    /// have ended and wait for the others. Whether there was a run over several processes: another
    /// is left alone.
    pub fn end(&self, reason: &str) -> bool {
        let ended = self.with_last(|ranks| match ranks {
            WatchedRanks::Here(_) => false,
            WatchedRanks::Everywhere(processes) => {
                processes.give_up(reason);
                true
            }
        });
        ended == Some(true)
    }

    /// Asks for a report: [`RunWatch::wait_asked`] returns, in process 0. Requests within a second
    /// of one that was told there are answered with that. Does not wait.
    pub fn ask(&self) {
        let passed_on = self.with_last(|ranks| match ranks {
            WatchedRanks::Here(_) => false,
            WatchedRanks::Everywhere(processes) => {
                processes.ask();
                true
            }
        });
        if passed_on != Some(true) {
            self.runs.asks.ask();
        }
    }

    /// Waits until somebody in any process [asks](RunWatch::ask) for a report, or the time is over;
    /// whether somebody has asked. For a thread of process 0 that prints what [`RunWatch::why`]
    /// says. It blocks.
    #[must_use]
    pub fn wait_asked(&self, limit: Option<Duration>) -> bool {
        self.runs.asks.wait(limit)
    }

    fn with_last<R>(&self, look: impl FnOnce(&WatchedRanks) -> R) -> Option<R> {
        let last = self.runs.under_way.lock().last().cloned()?;
        let ranks = last.lock();
        ranks.as_ref().map(look)
    }
}

impl WatchedRuns {
    /// Where requests come together.
    pub(crate) fn asks(&self) -> &Arc<Asks> {
        &self.asks
    }

    /// Shows a run until what is returned is dropped.
    pub(crate) fn show(&self, ranks: WatchedRanks) -> Showing<'_> {
        let shown = Arc::new(Mutex::new(Some(ranks)));
        self.under_way.lock().push(Arc::clone(&shown));
        Showing { runs: self, shown }
    }
}

/// A run that is shown.
pub(crate) struct Showing<'a> {
    runs: &'a WatchedRuns,
    shown: Arc<Shown>,
}

impl Drop for Showing<'_> {
    /// Nobody looks at it any more.
    fn drop(&mut self) {
        let is_other = |other: &Arc<Shown>| !Arc::ptr_eq(other, &self.shown);
        self.runs.under_way.lock().retain(is_other);
        self.shown.lock().take();
    }
}

impl fmt::Debug for WatchedRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runs({} under way)", self.under_way.lock().len())
    }
}
