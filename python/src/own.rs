//! What the rank on a thread has, and how it waits there.
//!
//! A communicator stays on the thread of its rank; what Python holds is its place in the thread's
//! list, so that Python may drop it anywhere.

use crate::errors::MotetError;
use motet::{CommError, Communicator};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Arc, Backoff, Mutex, Parker, poll_until, thread_local};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// A rank that waits looks at least so often: it may be the one that takes messages in for its
/// process.
const NAP: Duration = Duration::from_micros(100);
/// So long it does not sleep.
const SPIN: Duration = Duration::from_micros(100);

thread_local! {
    /// The communicators of the rank on this thread.
    pub(crate) static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// What the rank of a thread has.
pub(crate) struct Own {
    pub(crate) run: Arc<Run>,
    pub(crate) communicators: Vec<Rc<Communicator>>,
}

/// One run of a world.
#[derive(Default)]
pub(crate) struct Run {
    /// Its ranks are to end where they wait.
    pub(crate) stopped: AtomicBool,
    /// What the first rank has raised.
    pub(crate) raised: Mutex<Option<PyErr>>,
}

/// Waits on the thread of a rank for what `call` makes of its communicator.
pub(crate) fn wait<T, F>(
    py: Python<'_>,
    place: usize,
    call: impl FnOnce(Rc<Communicator>) -> F + Send,
) -> PyResult<T>
where
    F: Future<Output = Result<T, CommError>>,
    T: Send,
{
    py.detach(|| {
        let (comm, run) = here(place).ok_or(Elsewhere)?;
        let mut backoff = Backoff::new(SPIN);
        let sleep = |parker: &Parker| {
            if !backoff.snooze() {
                // Woken or not: it looks again.
                let _ = parker.park_timeout(NAP);
            }
            !run.stopped.load(Ordering::Relaxed)
        };
        match poll_until(call(comm), sleep) {
            Some(outcome) => outcome.map_err(Fault::Comm),
            None => Err(Fault::Stopped),
        }
    })
    .map_err(PyErr::from)
}

/// The communicator at a place of the list of this thread.
fn here(place: usize) -> Option<(Rc<Communicator>, Arc<Run>)> {
    OWN.with_borrow(|own| {
        let own = own.as_ref()?;
        let comm = own.communicators.get(place)?;
        Some((Rc::clone(comm), Arc::clone(&own.run)))
    })
}

/// There is no such communicator on this thread.
struct Elsewhere;

enum Fault {
    Comm(CommError),
    Stopped,
    Elsewhere,
}

impl From<Elsewhere> for Fault {
    fn from(_: Elsewhere) -> Fault {
        Fault::Elsewhere
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> PyErr {
        match fault {
            Fault::Comm(error) => MotetError::new_err(error.to_string()),
            Fault::Stopped => MotetError::new_err("the run has been stopped"),
            Fault::Elsewhere => PyRuntimeError::new_err(
                "a communicator belongs to the thread of its rank, while that runs",
            ),
        }
    }
}
