//! A fit that Python waits for: it runs on ranks of its own, its progress is told, and Ctrl-C stops
//! it.
//!
//! ```text
//!  calling thread ── starts ──► thread "fit": World::run
//!       ▲                            │ progress, the end
//!       └─────── a port ◄────────────┘       each 50 ms the calling thread looks for signals
//! ```

use crate::errors::{MotetError, of_mining, of_run};
use motet::mining::{CancelToken, Control, MiningError, Progress};
use motet::{BlockingError, Port, RunError, World, wait_blocking_for};
use motet_sync::thread;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;

/// So often the calling thread looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// What the thread of a fit tells.
enum Told<T> {
    Progress(Progress),
    End(Result<T, RunError<MiningError>>),
}

/// How many cores the process may use.
#[pyfunction]
pub(crate) fn cores() -> usize {
    thread::cores()
}

/// A world with so many ranks.
pub(crate) fn world(ranks: usize) -> World {
    match ranks {
        0 | 1 => World::solo(),
        ranks => World::threads(ranks),
    }
}

/// How much there is to do, and on how many ranks it may be done.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) ranks: usize,
    /// The numbers of the data, times clusters.
    pub(crate) numbers: usize,
}

impl Size {
    /// So large that threads are worth it.
    pub(crate) fn large(ranks: usize) -> Size {
        let numbers = usize::MAX;
        Size { ranks, numbers }
    }

    /// Whether a fit ends before anybody would look for a signal: it runs on the calling thread, on
    /// one rank. The number of ranks changes no bit.
    fn is_tiny(self) -> bool {
        self.numbers <= 1 << 14
    }
}

/// Runs `fit` on a world of so many ranks. Without the interpreter's lock; `callback` gets a
/// dictionary each time that there is progress, and stops the run if it gives back `False`.
///
/// # Errors
/// What the fit ends with; what the callback raises; `KeyboardInterrupt`.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    size: Size,
    callback: Option<&Py<PyAny>>,
    fit: impl FnOnce(&World, &Control<'_>) -> Result<T, RunError<MiningError>> + Send + 'static,
) -> PyResult<T> {
    if size.is_tiny() && callback.is_none() {
        let result = py.detach(|| fit(&World::solo(), &Control::default()));
        return result.map_err(|error| of_run(&error));
    }
    let (told, token) = (Port::new(), CancelToken::new());
    let (tell, switch, wants) = (told.clone(), token.clone(), callback.is_some());
    let body = move || {
        let progress = |now: &Progress| {
            // Nobody listens once the calling thread has given up.
            let _ = tell.post(Told::Progress(now.clone()));
        };
        let control = Control {
            progress: wants.then_some(&progress),
            cancel: Some(&switch),
        };
        let _ = tell.post(Told::End(fit(&world(size.ranks), &control)));
    };
    let fitting = thread::spawn_named("fit", body);
    let fitting = fitting.map_err(|error| MotetError::new_err(error.to_string()))?;
    // What the caller is told in place of the result.
    let (mut raised, mut stopped) = (None, false);
    let result = loop {
        match py.detach(|| wait_blocking_for(told.recv(), LOOK)) {
            Ok(Told::End(result)) => break Some(result),
            Ok(Told::Progress(now)) if raised.is_none() => {
                match callback.map(|callback| heard(py, callback, &now)) {
                    Some(Ok(goes_on)) => stopped |= !goes_on,
                    Some(Err(error)) => raised = Some(error),
                    None => {}
                }
            }
            Ok(Told::Progress(_)) => {}
            Err(BlockingError::Elapsed) if !fitting.is_finished() => {}
            // It has panicked, or this thread runs a task.
            Err(_) => break None,
        }
        if raised.is_none()
            && let Err(error) = py.check_signals()
        {
            raised = Some(error);
        }
        if raised.is_some() || stopped {
            token.cancel();
        }
    };
    if let Some(error) = raised {
        return Err(error);
    }
    match result {
        // It may have ended before it saw the token.
        Some(Ok(_)) if stopped => Err(of_mining(&MiningError::Cancelled)),
        Some(Ok(result)) => Ok(result),
        Some(Err(error)) => Err(of_run(&error)),
        None => Err(MotetError::new_err(
            "the fit has ended without a result: see standard error",
        )),
    }
}

/// Tells a callback; whether the fit is to go on.
fn heard(py: Python<'_>, callback: &Py<PyAny>, now: &Progress) -> PyResult<bool> {
    let told = PyDict::new(py);
    told.set_item("temperature", now.temperature)?;
    told.set_item("clusters", now.clusters)?;
    told.set_item("target", now.target)?;
    told.set_item("free_energy", now.free_energy)?;
    told.set_item("done", now.done)?;
    let answer = callback.call1(py, (told,))?;
    Ok(answer.is_none(py) || answer.is_truthy(py)?)
}
