//! A script that is a rank without saying so: its first call of MPI enters the world.

use crate::errors::MotetError;
use crate::forked;
use crate::own::{OWN, Own, RankCommunicator, WorldRun, end_all};
use crate::stuck::{self, StuckCheck, StuckWatch};
use motet::comm::Entered;
use motet::{Current, CurrentConfig, RunError, World};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Arc, thread_local};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::cell::Cell;
use std::io;

thread_local! {
    /// A rank on its way to the same thread without the interpreter.
    static LEAVING: Cell<Option<Entered>> = const { Cell::new(None) };
}

/// Some thread of the process has become its rank; it stays so after its end.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// What begins the world, in Python, for a script that is a rank without saying so.
static BEGIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Says what begins the world: it calls [`enter`].
#[pyfunction]
pub(crate) fn set_mpi_begin(py: Python<'_>, begin: Py<PyAny>) {
    // The first one stays.
    let _ = BEGIN.set(py, begin);
}

/// Begins the world, if this thread is no rank.
pub(crate) fn begin() -> PyResult<()> {
    if is_rank() {
        return Ok(());
    }
    Python::attach(|py| match BEGIN.get(py) {
        Some(begin) => begin.call0(py).map(drop),
        None => Ok(()),
    })
}

/// Makes this thread the one rank of the process, in the world that the process was started in.
#[pyfunction]
pub(crate) fn enter(py: Python<'_>) -> PyResult<()> {
    if OWN.with_borrow(Option::is_some) {
        return Ok(());
    }
    // Relaxed: nothing else hangs on it.
    if ENTERED.swap(true, Ordering::Relaxed) {
        return Err(MotetError::new_err(
            "another thread of this process is its rank, or was: all calls of MPI are made there",
        ));
    }
    let run = Arc::new(WorldRun::default());
    let entered = py.detach(|| {
        let world = if World::is_one_of_several() {
            let config = CurrentConfig::default();
            World::current_with(&config).map_err(|error| error.to_string())?
        } else {
            World::threads(1).pin(false)
        };
        let ((process, processes), watch) = (world.process(), world.watch());
        // A handle on the rank stays on this thread, so it is left there.
        let entered = world.enter().map_err(|error| error.to_string())?;
        let rank = entered.communicator().rank();
        let member = RankCommunicator::Ranks(entered.communicator());
        let mut own = Own::new(Arc::clone(&run), member);
        // One process looks for all.
        if process == 0 {
            let check = StuckCheck::new(watch, processes);
            let watch = watch_over(&run, check).map_err(|error| error.to_string())?;
            own.watch = Some(watch);
        }
        own.entered = Some(entered);
        OWN.set(Some(own));
        Ok::<usize, String>(rank)
    });
    let rank = entered.map_err(|said| {
        ENTERED.store(false, Ordering::Relaxed);
        MotetError::new_err(said)
    })?;
    stuck::note(py, &run.threads, rank)
}

/// Ends the run where it waits when all its ranks wait for each other.
fn watch_over(run: &Arc<WorldRun>, mut check: StuckCheck) -> io::Result<StuckWatch> {
    let run = Arc::clone(run);
    StuckWatch::start(move || {
        let found = check.find(&run.threads).map(MotetError::new_err);
        let is_stuck = found.is_some();
        if is_stuck {
            *run.raised.lock() = found;
            // Relaxed: who sees it takes the lock.
            run.stopped.store(true, Ordering::Relaxed);
        }
        is_stuck
    })
}

/// Ends the rank, well or for a reason, which ends the other processes too. Waits until all have
/// ended.
#[pyfunction]
#[pyo3(signature = (reason=None))]
pub(crate) fn leave(py: Python<'_>, reason: Option<String>) -> PyResult<()> {
    let is_entered = OWN.with_borrow(|own| own.as_ref().is_some_and(|own| own.entered.is_some()));
    if is_entered {
        end_all(py, reason.is_some());
    }
    let Some(mut own) = OWN.take() else {
        return Ok(());
    };
    let Some(entered) = own.entered.take() else {
        // The run of a function ends with it.
        OWN.set(Some(own));
        return Ok(());
    };
    // All handles on communicators go before the rank.
    drop(own);
    let failed = reason.is_some();
    LEAVING.set(Some(entered));
    let ended = py.detach(|| {
        let entered = LEAVING.take();
        entered.map_or(Ok(()), |entered| entered.finish(reason.map_or(Ok(()), Err)))
    });
    match ended {
        // Who has given the reason knows it.
        Err(RunError::Rank { .. }) if failed => Ok(()),
        Err(error) => Err(MotetError::new_err(error.to_string())),
        Ok(()) => Ok(()),
    }
}

/// This process was forked from a rank and is none: nothing of the rank is touched any more.
#[pyfunction]
pub(crate) fn forget() {
    forked::leave(OWN.take());
}

/// Whether this thread is a rank.
#[pyfunction]
pub(crate) fn is_rank() -> bool {
    OWN.with_borrow(Option::is_some)
}

/// Whether a thread of this process is a rank by itself, or was.
#[pyfunction]
pub(crate) fn is_entered() -> bool {
    ENTERED.load(Ordering::Relaxed)
}
