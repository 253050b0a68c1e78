//! What the rank on a thread has, and how it waits there.
//!
//! A communicator stays on the thread of its rank. What Python holds is its place in the thread's
//! list, so that Python may drop it anywhere.

use crate::errors::MotetError;
use crate::given::BegunCall;
use crate::open_file::OpenFile;
use crate::open_window::OpenWindow;
use crate::stuck::{RankThreads, StuckWatch, WaitingRank};
use motet::comm::{Cartesian, Entered, Neighbourhood};
use motet::dispatch::{eagerly, moves};
use motet::files::FileError;
use motet::window::WindowError;
use motet::{CommError, Communicator};
use motet_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use motet_sync::{Arc, Backoff, Mutex, Parker, poll_until, thread_local};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::io::ErrorKind;
use std::mem;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A rank that waits looks at least so often: it may be the one that takes messages in for its
/// process.
const NAP: Duration = Duration::from_micros(100);
/// So long it looks and offers its core to nobody: an answer from another process takes less.
const ALONE: Duration = Duration::from_micros(20);
/// So long it does not sleep.
const SPIN: Duration = Duration::from_micros(100);
/// After so many naps it looks for signals.
const LOOK: u32 = 500;

thread_local! {
    /// What the rank on this thread has.
    pub(crate) static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// What the rank of a thread has.
pub(crate) struct Own {
    pub(crate) run: Arc<WorldRun>,
    /// Tells it from all others of the process, now and before.
    pub(crate) number: u64,
    /// The first is that of all ranks. Those that were freed leave their place.
    pub(crate) communicators: Vec<Option<Rc<RankCommunicator>>>,
    /// The communicator of this rank alone, made when it is first asked for.
    pub(crate) alone: Option<Entered>,
    /// What has been started and has not ended, by its place; and places that nothing has.
    pub(crate) started: Vec<Option<BegunCall>>,
    pub(crate) unused: Vec<usize>,
    /// What nobody waits for any more, and whom to tell what it has ended with.
    pub(crate) left: Vec<(BegunCall, Py<PyAny>)>,
    /// Windows and files that are open, by their places.
    pub(crate) windows: Vec<Option<Rc<OpenWindow>>>,
    pub(crate) files: Vec<Option<Rc<OpenFile>>>,
    /// What keeps the run of a rank that is the program itself.
    pub(crate) entered: Option<Entered>,
    /// Who looks whether all ranks of that run wait for each other.
    pub(crate) watch: Option<StuckWatch>,
}

impl Own {
    pub(crate) fn new(run: Arc<WorldRun>, world: RankCommunicator) -> Own {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Own {
            run,
            // Relaxed: only that no two are the same.
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            communicators: vec![Some(Rc::new(world))],
            alone: None,
            started: Vec::new(),
            unused: Vec::new(),
            left: Vec::new(),
            windows: Vec::new(),
            files: Vec::new(),
            entered: None,
            watch: None,
        }
    }

    /// Keeps a communicator; its place.
    pub(crate) fn keep(&mut self, member: RankCommunicator) -> usize {
        self.communicators.push(Some(Rc::new(member)));
        self.communicators.len() - 1
    }

    /// Why the rank ends where it waits.
    fn reason(&self) -> WaitFailure {
        let raised = self
            .entered
            .is_some()
            .then(|| self.run.raised.lock().take());
        raised
            .flatten()
            .map_or(WaitFailure::Stopped, WaitFailure::Raised)
    }

    /// Whether the rank is to end where it waits.
    fn is_over(&self) -> bool {
        // Relaxed: nothing else hangs on it.
        self.run.stopped.load(Ordering::Relaxed)
            || self.entered.as_ref().is_some_and(Entered::is_over)
            || matches!(self.communicators.first(), Some(Some(comm)) if comm.run_is_over())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // A lock that nobody has given back holds its window.
        let windows = self.windows.iter().flatten();
        windows.for_each(|window| window.give_up());
    }
}

/// A communicator of a rank, with or without a topology.
pub(crate) enum RankCommunicator {
    Ranks(Rc<Communicator>),
    Grid(Cartesian),
    Graph(Neighbourhood),
}

impl Deref for RankCommunicator {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        match self {
            RankCommunicator::Ranks(comm) => comm,
            RankCommunicator::Grid(grid) => grid,
            RankCommunicator::Graph(graph) => graph,
        }
    }
}

/// One run of a world.
#[derive(Default)]
pub(crate) struct WorldRun {
    /// Its ranks are to end where they wait.
    pub(crate) stopped: AtomicBool,
    /// What the first rank has raised.
    pub(crate) raised: Mutex<Option<PyErr>>,
    /// A send waits when too many messages were not received.
    pub(crate) sends_wait: bool,
    pub(crate) threads: RankThreads,
}

/// Whether a send of this rank may wait.
pub(crate) fn sends_wait() -> bool {
    OWN.with_borrow(|own| own.as_ref().is_some_and(|own| own.run.sends_wait))
}

/// Why the rank on this thread is to end where it waits, if it is to.
pub(crate) fn end_reason() -> Option<WaitFailure> {
    OWN.with_borrow(|own| {
        let ends = own.as_ref().filter(|own| own.is_over());
        ends.map(Own::reason)
    })
}

/// Polls on the thread of a rank, which does not hold the interpreter, until the future has ended,
/// which only messages of other ranks end.
pub(crate) fn poll<T, E: Into<WaitFailure>>(
    future: Pin<&mut (impl Future<Output = Result<T, E>> + ?Sized)>,
) -> Result<T, WaitFailure> {
    poll_as(future, true)
}

/// As [`poll`], for what something else may end too.
pub(crate) fn poll_any<T, E: Into<WaitFailure>>(
    future: Pin<&mut (impl Future<Output = Result<T, E>> + ?Sized)>,
) -> Result<T, WaitFailure> {
    poll_as(future, false)
}

fn poll_as<T, E: Into<WaitFailure>>(
    future: Pin<&mut (impl Future<Output = Result<T, E>> + ?Sized)>,
    by_messages: bool,
) -> Result<T, WaitFailure> {
    let given = poll_alone(future, by_messages)?;
    end_left();
    Ok(given)
}

/// Tells what has ended and nobody waits for: [`Own::left`].
pub(crate) fn end_left() {
    let left = OWN.with_borrow_mut(|own| own.as_mut().map(|own| mem::take(&mut own.left)));
    let Some(left) = left.filter(|left| !left.is_empty()) else {
        return;
    };
    let mut going = Vec::new();
    for (mut call, finish) in left {
        match call.look() {
            None => going.push((call, finish)),
            Some(outcome) => Python::attach(|py| {
                let given = outcome.and_then(|outcome| outcome.object(py));
                if let Err(error) = given.and_then(|given| finish.call1(py, (given,))) {
                    // There is no call that could raise it.
                    error.write_unraisable(py, None);
                }
            }),
        }
    }
    OWN.with_borrow_mut(|own| {
        if let Some(own) = own {
            own.left.append(&mut going);
        }
    });
}

fn poll_alone<T, E: Into<WaitFailure>>(
    mut future: Pin<&mut (impl Future<Output = Result<T, E>> + ?Sized)>,
    by_messages: bool,
) -> Result<T, WaitFailure> {
    let mut backoff = Backoff::new(SPIN);
    let (mut begun, mut seen) = (Instant::now(), moves());
    // What comes soon is seen soonest by who looks; who sleeps has others look.
    while begun.elapsed() < ALONE || backoff.go_on_beside() {
        // A long message is on its way: who looks moves it.
        if mem::replace(&mut seen, moves()) != seen {
            (begun, backoff) = (Instant::now(), Backoff::new(SPIN));
        }
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(outcome) = eagerly(|| future.as_mut().poll(&mut context)) {
            return outcome.map_err(E::into);
        }
    }
    let (mut naps, mut waits) = (0, None);
    let entered = |own: &Option<Own>| Some(own.as_ref()?.entered.as_ref()?.blocked());
    loop {
        let sleep = |parker: &Parker| {
            // Woken or not: it looks again.
            let _ = parker.park_timeout(NAP);
            naps += 1;
            naps < LOOK && !OWN.with_borrow(|own| own.as_ref().is_some_and(Own::is_over))
        };
        let blocked = by_messages.then(|| OWN.with_borrow(entered)).flatten();
        let ended = poll_until(future.as_mut(), sleep);
        drop(blocked);
        match ended {
            Some(outcome) => return outcome.map_err(E::into),
            None if naps < LOOK => {
                let reason = OWN.with_borrow(|own| own.as_ref().map(Own::reason));
                return Err(reason.unwrap_or(WaitFailure::Stopped));
            }
            None => Python::attach(|py| py.check_signals()).map_err(WaitFailure::Raised)?,
        }
        if by_messages && waits.is_none() {
            waits = OWN.with_borrow(|own| Some(WaitingRank::new(&own.as_ref()?.run.threads)));
        }
        naps = 0;
    }
}

/// Ends the windows that the program of this thread has not freed, at its end: they would keep the
/// run. With the other ranks, which may still have access, or without them when it has failed.
pub(crate) fn end_all(py: Python<'_>, alone: bool) {
    py.detach(|| {
        let next = || {
            OWN.with_borrow_mut(|own| {
                let mut windows = own.as_mut()?.windows.iter_mut();
                windows.find_map(Option::take)
            })
        };
        while let Some(window) = next() {
            window.give_up();
            let Some(OpenWindow { window, apart, .. }) = Rc::into_inner(window) else {
                continue;
            };
            for window in [window, apart] {
                match alone {
                    true => drop(window),
                    // Where it fails the run has failed, which others tell.
                    false => drop(poll(pin!(window.free()))),
                }
            }
        }
    });
}

/// The communicator at a place of the list of this thread.
pub(crate) fn here(place: usize) -> Option<(Rc<RankCommunicator>, u64)> {
    OWN.with_borrow(|own| {
        let own = own.as_ref()?;
        let comm = own.communicators.get(place)?.as_ref()?;
        Some((Rc::clone(comm), own.number))
    })
}

/// Why a wait has ended without an outcome.
pub(crate) enum WaitFailure {
    Comm(CommError),
    Stopped,
    /// A handler of a signal has raised this.
    Raised(PyErr),
    /// There is no such communicator on this thread.
    Elsewhere,
    /// An error of this class of MPI.
    Mpi(&'static str, String),
}

impl From<CommError> for WaitFailure {
    fn from(error: CommError) -> WaitFailure {
        WaitFailure::Comm(error)
    }
}

impl From<WindowError> for WaitFailure {
    fn from(error: WindowError) -> WaitFailure {
        let said = match &error {
            WindowError::Beyond {
                rank,
                offset,
                length,
                window,
            } => format!(
                "{length} bytes from byte {offset} on do not lie in the window of rank {rank}, \
                 which has {window} bytes"
            ),
            other => other.to_string(),
        };
        let class = match error {
            WindowError::Comm(error) => return WaitFailure::Comm(error),
            WindowError::Beyond { .. } => "ERR_RMA_RANGE",
            WindowError::Closed { .. } => "ERR_WIN",
            WindowError::Locked { .. } => "ERR_RMA_SYNC",
            WindowError::Operation { .. } => "ERR_OP",
            WindowError::Elsewhere { .. } => "ERR_RMA_SHARED",
            _ => "ERR_OTHER",
        };
        WaitFailure::Mpi(class, said)
    }
}

impl From<FileError> for WaitFailure {
    fn from(error: FileError) -> WaitFailure {
        let class = match &error {
            FileError::Comm(error) => return WaitFailure::Comm(error.clone()),
            FileError::View { .. } => "ERR_ARG",
            FileError::Io { error, .. } => match error.kind() {
                ErrorKind::NotFound => "ERR_NO_SUCH_FILE",
                ErrorKind::PermissionDenied => "ERR_ACCESS",
                ErrorKind::AlreadyExists => "ERR_FILE_EXISTS",
                ErrorKind::StorageFull => "ERR_NO_SPACE",
                ErrorKind::QuotaExceeded => "ERR_QUOTA",
                ErrorKind::ReadOnlyFilesystem => "ERR_READ_ONLY",
                ErrorKind::IsADirectory => "ERR_BAD_FILE",
                _ => "ERR_IO",
            },
            _ => "ERR_IO",
        };
        WaitFailure::Mpi(class, error.to_string())
    }
}

impl From<WaitFailure> for PyErr {
    fn from(fault: WaitFailure) -> PyErr {
        match fault {
            WaitFailure::Comm(error) => MotetError::new_err(error.to_string()),
            WaitFailure::Stopped => MotetError::new_err("the run has been stopped"),
            WaitFailure::Raised(error) => error,
            WaitFailure::Elsewhere => PyRuntimeError::new_err(
                "a communicator belongs to the thread of its rank, while that runs",
            ),
            WaitFailure::Mpi(_, said) => MotetError::new_err(said),
        }
    }
}
