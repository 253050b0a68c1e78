//! The part of a run that is between processes: beginning and ending together, and messages while
//! no rank looks for them.

use crate::fabric::{
    EarlyEnd, Later, Left, LocalRanks, RunListeners, RunProcesses, ServerTurn, handshake,
};
use crate::transport::Transport;
use crate::watch::WatchedRuns;
use crate::wire::decode;
use crate::{Profile, RunError};
use motet_dispatch::{IdleWatch, SpinWait};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread::{self, JoinHandle};
use motet_sync::{Mutex, Parker, Unparker};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The way to other processes, for one run.
pub(crate) struct ProcessRoute {
    pub(crate) transport: Arc<dyn Transport>,
    /// The number of the run, the same in all processes.
    pub(crate) run: u16,
    pub(crate) later: Later,
    /// How long other processes are waited for that say nothing.
    pub(crate) patience: Duration,
}

/// What a run over processes has beside its ranks.
pub(crate) struct ProcessRun {
    pub(crate) processes: Arc<RunProcesses>,
    server: Mutex<Option<Server>>,
}

/// The thread that takes messages in while no rank does.
struct Server {
    thread: JoinHandle<()>,
    closing: Arc<AtomicBool>,
}

/// What it costs to wake a rank that sleeps: the server is woken, and wakes the rank's worker.
pub(super) const WAKE_COST: Duration = SpinWait::WAKE_COST.saturating_mul(2);
/// Fruitless looks in a row until the server waits for messages to wake it.
const EAGER: u32 = 100;
/// How often the end looks whether messages have left.
const GLANCE: Duration = Duration::from_micros(200);
/// How long the end waits until the others have been told why, and for messages to leave.
const LEAVING: Duration = Duration::from_secs(1);
/// So many looks at the end tell what sends have met: of a loss others are told, of a failure of
/// that all are, and that may fail, too.
const LAST_LOOKS: u32 = 3;
/// A wait that takes no longer came back at once.
const AT_ONCE: Duration = Duration::from_micros(10);
/// How long the server gives a rank to read by itself what has come for it.
const LEFT: Duration = Duration::from_micros(100);
/// How often the server looks whether this process is idle.
const IDLE_EVERY: Duration = Duration::from_millis(20);

/// Why a run cannot begin.
pub(crate) enum NotBegun {
    /// The operating system refused to start the threads.
    Start(io::Error),
    Ended(EarlyEnd),
}

impl ProcessRoute {
    /// Waits until all processes begin the run with `ranks` ranks here.
    pub(crate) fn begin(
        self,
        ranks: usize,
        workers: usize,
        watch: IdleWatch,
        caller: Unparker,
        runs: &WatchedRuns,
    ) -> Result<ProcessRun, NotBegun> {
        let ProcessRoute {
            transport,
            run,
            later,
            patience,
        } = self;
        let firsts = handshake(&*transport, run, ranks, &later, patience)?;
        let mut local = LocalRanks::new(ranks, workers);
        local.first = firsts[transport.process()];
        let (local, closing) = (Arc::new(local), Arc::new(AtomicBool::new(false)));
        let told = RunListeners {
            caller,
            asks: Arc::clone(runs.asks()),
        };
        let processes = RunProcesses::new(local, transport, run, firsts, later, told, patience);
        let processes = Arc::new(processes);
        processes.deliver_early();
        let (served, told) = (Arc::clone(&processes), Arc::clone(&closing));
        let thread = thread::spawn_named("between", move || serve(&served, &watch, &told));
        let thread = thread.map_err(|error| {
            // The others have begun with this process.
            processes.failed(&format!("a thread could not be started: {error}"));
            NotBegun::Start(error)
        })?;
        let server = Some(Server { thread, closing });
        Ok(ProcessRun {
            processes,
            server: Mutex::new(server),
        })
    }
}

impl ProcessRun {
    /// The ranks here have ended, with this failure or well, and this profile if there is one.
    /// Waits until those of all other processes have; why the run ends early if no rank here is to
    /// blame.
    pub(crate) fn end(
        &self,
        failure: Option<String>,
        profile: Option<Vec<u8>>,
        caller: &Parker,
    ) -> Option<EarlyEnd> {
        match failure {
            Some(message) => self.processes.failed(&message),
            None if self.processes.ending().is_none() => {
                if let Some(profile) = profile {
                    self.processes.send_profile(profile);
                }
                self.processes.done();
                while !self.processes.is_over() {
                    caller.park();
                }
            }
            None => {}
        }
        let begun = Instant::now();
        while self.processes.is_telling() && begun.elapsed() < LEAVING {
            // Told or not: it looks again.
            let _told = caller.park_timeout(LEAVING.saturating_sub(begun.elapsed()));
        }
        self.processes.stop_asking();
        if let Some(Server { thread, closing }) = self.server.lock().take() {
            // The last messages, by which others end, leave while the server looks for messages.
            while self.processes.under_way() > 0 && begun.elapsed() < LEAVING {
                thread::park_timeout(GLANCE);
            }
            closing.store(true, Ordering::Release);
            self.processes.rouse();
            thread.join().expect("taking messages in does not panic");
            // What sends have met that were the last is of this run, and not of the next one.
            for _ in 0..LAST_LOOKS {
                self.processes.progress();
            }
        }
        self.processes.ending()
    }
}

impl ProcessRun {
    /// In process 0: the profile of all ranks, given that of the ranks here.
    pub(crate) fn all_profiles(&self, mut all: Profile) -> Option<Profile> {
        if !self.processes.is_first() {
            return None;
        }
        for bytes in self.processes.take_profiles() {
            all.append(decode(&bytes).ok()?);
        }
        Some(all)
    }
}

fn serve(processes: &RunProcesses, watch: &IdleWatch, closing: &AtomicBool) {
    let (mut server, mut fruitless, mut idle_at) = (processes.serve(), 0, Instant::now());
    let (mut left, mut came_back) = (Left::default(), false);
    while !closing.load(Ordering::Acquire) {
        processes.beat();
        processes.wake_for_room();
        if server.turn() == ServerTurn::Slept {
            fruitless = 0;
            continue;
        }
        let (messages, is_left) = processes.progress_beside(&mut left);
        if is_left {
            thread::park_timeout(LEFT);
        }
        if messages > 0 || is_left {
            fruitless = 0;
            continue;
        }
        fruitless += 1;
        // Nothing was there for which the wait came back: another thread is at it.
        if fruitless < EAGER || std::mem::take(&mut came_back) {
            thread::yield_now();
            continue;
        }
        let begun = Instant::now();
        processes.wait(IDLE_EVERY.saturating_sub(idle_at.elapsed()));
        came_back = begun.elapsed() < AT_ONCE;
        if idle_at.elapsed() >= IDLE_EVERY {
            idle_at = Instant::now();
            processes.look_for_idleness(watch);
        }
    }
}

impl From<EarlyEnd> for NotBegun {
    fn from(ending: EarlyEnd) -> Self {
        NotBegun::Ended(ending)
    }
}

impl<E> From<NotBegun> for RunError<E> {
    fn from(why: NotBegun) -> Self {
        match why {
            NotBegun::Start(error) => RunError::Start(error),
            NotBegun::Ended(ending) => ending.into(),
        }
    }
}

impl<E> From<EarlyEnd> for RunError<E> {
    fn from(ending: EarlyEnd) -> Self {
        match ending {
            EarlyEnd::Elsewhere { process, message } => RunError::Elsewhere { process, message },
            EarlyEnd::Lost { process, reason } => RunError::Lost { process, reason },
            EarlyEnd::Silent { processes, waited } => RunError::Silent { processes, waited },
            EarlyEnd::Transport { reason } => RunError::Transport { reason },
            EarlyEnd::Stuck(report) => RunError::Stuck(report),
        }
    }
}
