//! A fit that Python waits for: it runs on ranks of its own, its progress is told, and Ctrl-C stops
//! it.
//!
//! ```text
//!  calling thread ── starts ──► thread "fit": World::run
//!       ▲                            │ progress, the end
//!       └─────── a port ◄────────────┘       each 50 ms the calling thread looks for signals
//! ```

use crate::errors::{MotetError, of_mining, of_run};
use crate::own::end_reason;
use crate::profile::Profile;
use crate::waiting::{hear, span};
use motet::mining::{CancelToken, Checkpoints, Control, MiningError, Progress};
use motet::{Communicator, Port, RunError, World, comm};
use motet_sync::thread;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use pyo3::types::PyDict;
use std::any::Any;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::OnceLock;

/// What the thread of a fit tells.
enum FitNews {
    Progress(Progress),
    End(Ended),
}

/// A fit whose result may be of any type: how one is run is compiled once for all of them.
type AnyFit = Box<dyn FnOnce(&FitRanks, &Control<'_>) -> AnyFound + Send>;

type AnyFound = Result<Box<dyn Any + Send>, RunError<MiningError>>;

/// What a rank of such a fit does, and finds.
type AnyRun<'a> = Pin<Box<dyn Future<Output = Result<RankPart, MiningError>> + 'a>>;

type RankPart = Box<dyn Any + Send>;

/// The result of a fit, and the profile of its run if there is one.
type Ended = (AnyFound, OnceLock<comm::Profile>);

/// How many cores the process may use.
#[pyfunction]
pub(crate) fn cores() -> usize {
    thread::cores()
}

/// How a fit is to run, and what is known of its run afterwards.
#[pyclass(frozen, name = "Run", module = "motet._motet")]
pub(crate) struct FitRun {
    ranks: usize,
    callback: Option<Py<PyAny>>,
    profiled: bool,
    /// Where it keeps what it has done.
    kept: Option<Checkpoints>,
    /// Set at the end of the run.
    profile: OnceLock<comm::Profile>,
}

#[pymethods]
impl FitRun {
    #[new]
    #[pyo3(signature = (ranks, callback=None, profiled=false, checkpoint=None))]
    fn new(
        ranks: usize,
        callback: Option<Py<PyAny>>,
        profiled: bool,
        checkpoint: Option<(PathBuf, String, f64)>,
    ) -> PyResult<FitRun> {
        let kept = |(folder, name, seconds): (PathBuf, String, f64)| {
            Ok::<_, PyErr>(Checkpoints::new(folder, &name).every(span(seconds)?))
        };
        Ok(FitRun {
            ranks,
            callback,
            profiled,
            kept: checkpoint.map(kept).transpose()?,
            profile: OnceLock::new(),
        })
    }

    /// Shows Python's garbage collector the callback, whose owner may have the run.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callback)
    }

    /// Where the time of the run went, if it was to be told.
    #[getter]
    fn profile(&self) -> Option<Profile> {
        self.profile.get().cloned().map(Profile)
    }
}

/// The ranks of a fit.
pub(crate) struct FitRanks {
    world: World,
    kept: Option<Checkpoints>,
    profile: OnceLock<comm::Profile>,
}

impl FitRanks {
    fn new(ranks: usize, profiled: bool, kept: Option<Checkpoints>) -> FitRanks {
        let world = match ranks {
            0 | 1 => World::solo(),
            ranks => World::threads(ranks),
        };
        FitRanks {
            world: if profiled { world.profile() } else { world },
            kept,
            profile: OnceLock::new(),
        }
    }

    /// Where the fit keeps what it has done, if it does.
    pub(crate) fn kept(&self) -> Option<&Checkpoints> {
        self.kept.as_ref()
    }

    /// As [`World::run`].
    pub(crate) fn run<R: Send + 'static>(
        &self,
        body: impl AsyncFn(Communicator) -> Result<R, MiningError> + Sync,
    ) -> Result<Vec<R>, RunError<MiningError>> {
        let body = &body;
        let any = |comm| -> AnyRun<'_> {
            Box::pin(async move {
                let part = body(comm).await?;
                Ok(Box::new(part) as RankPart)
            })
        };
        let parts = self.run_any(&any)?.into_iter();
        let part = |part: RankPart| *part.downcast().expect("the part is that of `body`");
        Ok(parts.map(part).collect())
    }

    /// As [`FitRanks::run`], whatever the type of a part.
    fn run_any<'a>(
        &self,
        body: &(dyn Fn(Communicator) -> AnyRun<'a> + Sync),
    ) -> Result<Vec<RankPart>, RunError<MiningError>> {
        let outcome = self.world.run_outcome(async |comm| body(comm).await)?;
        if let Some(profile) = outcome.profile {
            // A fit runs once; of several runs the first would be told.
            let _ = self.profile.set(profile);
        }
        Ok(outcome.results)
    }
}

/// Fits of so many numbers, which are those of the data times clusters, end before anybody would
/// look for a signal. They run on the calling thread, on one rank. The number of ranks changes no
/// bit.
const TINY: usize = 1 << 14;

/// Runs `fit`, which works on so many `numbers`, as `run` says. Without the interpreter's lock; the
/// callback gets a dictionary each time that there is progress, and stops the run if it gives back
/// `False`.
///
/// # Errors
/// What the fit ends with; what the callback raises; `KeyboardInterrupt`; a checkpoint that cannot
/// be removed at the end.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    run: &FitRun,
    numbers: usize,
    fit: impl FnOnce(&FitRanks, &Control<'_>) -> Result<T, RunError<MiningError>> + Send + 'static,
) -> PyResult<T> {
    watched_on(py, run, (numbers, usize::MAX), fit)
}

/// As [`watched`], for so many `numbers` that no more ranks can share than the second number.
///
/// # Errors
/// As for [`watched`].
pub(crate) fn watched_on<T: Send + 'static>(
    py: Python<'_>,
    run: &FitRun,
    (numbers, most): (usize, usize),
    fit: impl FnOnce(&FitRanks, &Control<'_>) -> Result<T, RunError<MiningError>> + Send + 'static,
) -> PyResult<T> {
    let fit: AnyFit = Box::new(|ranks, control| {
        let found = fit(ranks, control)?;
        Ok(Box::new(found))
    });
    let found = watched_any(py, run, (numbers, most), fit)?;
    Ok(*found.downcast().expect("the result is that of `fit`"))
}

/// As [`watched_on`], whatever the type of the result.
fn watched_any(
    py: Python<'_>,
    run: &FitRun,
    (numbers, most): (usize, usize),
    fit: AnyFit,
) -> PyResult<Box<dyn Any + Send>> {
    let (result, profile) = if numbers <= TINY && run.callback.is_none() {
        let (profiled, kept) = (run.profiled, run.kept.clone());
        py.detach(|| {
            let ranks = FitRanks::new(1, profiled, kept);
            (fit(&ranks, &Control::default()), ranks.profile)
        })
    } else {
        elsewhere(py, run, run.ranks.min(most), fit)?
    };
    if let Some(profile) = profile.into_inner() {
        let _ = run.profile.set(profile);
    }
    let found = result.map_err(|error| of_run(&error))?;
    // The caller has the result: nobody needs the checkpoints any more.
    for kept in run
        .kept
        .iter()
        .flat_map(|kept| [of_choice(kept), kept.clone()])
    {
        kept.clear().map_err(|error| of_mining(&error))?;
    }
    Ok(found)
}

/// The checkpoints of the choice of a number of clusters, for a fit with these.
pub(crate) fn of_choice(kept: &Checkpoints) -> Checkpoints {
    kept.named("choice")
}

/// Runs `fit` on so many ranks, on a thread of its own, while the calling thread listens.
fn elsewhere(py: Python<'_>, run: &FitRun, ranks: usize, fit: AnyFit) -> PyResult<Ended> {
    let (told, token) = (Port::new(), CancelToken::new());
    let (tell, switch) = (told.clone(), token.clone());
    let callback = run.callback.as_ref();
    let (profiled, wants) = (run.profiled, callback.is_some());
    let kept = run.kept.clone();
    let body = move || {
        let progress = |now: &Progress| {
            // Nobody listens once the calling thread has given up.
            let _ = tell.post(FitNews::Progress(now.clone()));
        };
        let control = Control {
            progress: wants.then_some(&progress),
            cancel: Some(&switch),
        };
        let ranks = FitRanks::new(ranks, profiled, kept);
        let result = fit(&ranks, &control);
        let _ = tell.post(FitNews::End((result, ranks.profile)));
    };
    let fitting = thread::spawn_named("fit", body);
    let fitting = fitting.map_err(|error| MotetError::new_err(error.to_string()))?;
    // What the caller is told in place of the result.
    let (mut raised, mut stopped) = (None, false);
    let ended = loop {
        match hear(py, &told, &fitting) {
            Ok(Some(FitNews::End(ended))) => break Some(ended),
            Ok(Some(FitNews::Progress(now))) if raised.is_none() => {
                match callback.map(|callback| heard(py, callback, &now)) {
                    Some(Ok(goes_on)) => stopped |= !goes_on,
                    Some(Err(error)) => raised = Some(error),
                    None => {}
                }
            }
            Ok(Some(FitNews::Progress(_)) | None) => {}
            // It has panicked.
            Err(_) => break None,
        }
        if raised.is_none()
            && let Err(error) = py.check_signals()
        {
            raised = Some(error);
        }
        if raised.is_none() {
            // On the thread of a rank: its run may be over.
            raised = end_reason().map(PyErr::from);
        }
        if raised.is_some() || stopped {
            token.cancel();
        }
    };
    if let Some(error) = raised {
        return Err(error);
    }
    match ended {
        // It may have ended before it saw the token.
        Some((Ok(_), _)) if stopped => Err(of_mining(&MiningError::Cancelled)),
        Some(ended) => Ok(ended),
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
    // `False` and that of numpy; what else is empty or 0 says nothing.
    Ok(answer.extract::<bool>(py).unwrap_or(true))
}
