//! Dispatchers and queues, for handlers of Python.

use crate::errors::MotetError;
use crate::forked::{Maker, leave};
use crate::handlers::{Item, handle, raised};
use crate::outside::Outside;
use crate::ports::Port;
use crate::stuck::without_places;
use crate::waiting::{PendingObject, blocked, in_no_handler, span};
use motet::{
    DispatcherConfig, DispatcherQueue, Exception, ExecutionPolicy, FromHandler, QueueConfig,
};
use motet_sync::{Arc, Mutex, thread};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::any::type_name;
use std::mem;
use std::pin::pin;

/// Threads that run handlers.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Dispatcher {
    stage: Mutex<DispatcherStage>,
    #[pyo3(get)]
    workers: usize,
    maker: Maker,
}

/// How far a dispatcher is.
enum DispatcherStage {
    Open(Arc<motet::Dispatcher>),
    /// It has been closed: from the end of its threads on it lies there how many handlers have not
    /// run.
    Ends(motet::Port<usize>),
}

impl Dispatcher {
    pub(crate) fn open(&self) -> PyResult<Arc<motet::Dispatcher>> {
        self.maker.check("Dispatcher")?;
        match &*self.stage.lock() {
            DispatcherStage::Open(inner) => Ok(Arc::clone(inner)),
            DispatcherStage::Ends(_) => Err(MotetError::new_err("the dispatcher has been closed")),
        }
    }

    /// Closes it, if it is open: what tells that its threads have ended, and what ends them.
    fn shut(&self) -> (motet::Port<usize>, Option<Arc<motet::Dispatcher>>) {
        let mut stage = self.stage.lock();
        let ended = match &*stage {
            DispatcherStage::Open(_) => motet::Port::new(),
            DispatcherStage::Ends(ended) => ended.clone(),
        };
        match mem::replace(&mut *stage, DispatcherStage::Ends(ended.clone())) {
            DispatcherStage::Open(inner) => (ended, Some(inner)),
            DispatcherStage::Ends(_) => (ended, None),
        }
    }
}

#[pymethods]
impl Dispatcher {
    /// With so many threads. `tell(queue, exception)` is called with what handlers raise, unless
    /// their queue has a port for it.
    #[new]
    fn new(threads: usize, name: String, tell: Py<PyAny>) -> PyResult<Dispatcher> {
        let config = DispatcherConfig {
            threads,
            name,
            ..DispatcherConfig::default()
        };
        let inner = motet::Dispatcher::with(config);
        let inner = inner.map_err(|error| MotetError::new_err(error.to_string()))?;
        inner.on_exception(move |exception| {
            // Without an interpreter nobody hears it.
            Python::try_attach(|py| told(py, &tell, exception));
        });
        let workers = inner.workers();
        Ok(Dispatcher {
            stage: Mutex::new(DispatcherStage::Open(Arc::new(inner))),
            workers,
            maker: Maker::new(),
        })
    }

    /// A queue of it; one with a depth refuses what comes when so many handlers wait.
    fn queue(&self, py: Python<'_>, name: &str, depth: Option<usize>) -> PyResult<Queue> {
        let policy = match depth {
            Some(0) => return Err(PyValueError::new_err("a queue of depth 0 takes nothing")),
            Some(depth) => ExecutionPolicy::RejectTasks { depth },
            None => ExecutionPolicy::Unconstrained,
        };
        let config = QueueConfig {
            policy,
            ..QueueConfig::named(name)
        };
        let inner = self.open()?;
        // Without the interpreter: the last handle waits for handlers, which want it.
        let queue = py.detach(move || inner.queue(config));
        Ok(Queue(Outside::new(queue), self.maker))
    }

    /// Waits until nothing is queued and nothing runs.
    #[pyo3(signature = (seconds=None))]
    fn wait_idle(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<()> {
        let inner = self.open()?;
        in_no_handler(
            "Dispatcher.wait_idle waits for the handlers, and this is one: call it on another thread",
        )?;
        let ended = motet::Port::new();
        let work = move || {
            inner.wait_idle();
            0
        };
        elsewhere(&ended, work)?;
        wait_for(py, seconds, &ended)
    }

    /// Runs what is queued, and ends the threads. What could not run is cleaned up: its items go
    /// back to their ports; how much that was is told once. One that is being closed is waited for.
    #[pyo3(signature = (seconds=None))]
    fn close(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<usize> {
        if !self.maker.is_here() {
            // What the other process has made is its own.
            return Ok(0);
        }
        in_no_handler(
            "Dispatcher.close waits for the handlers, and this is one: call it on another thread",
        )?;
        let (ended, inner) = self.shut();
        if let Some(inner) = inner {
            elsewhere(&ended, move || end(inner))?;
        }
        wait_for(py, seconds, &ended)?;
        // Another thread may have taken it, and puts it back.
        let left = ended.test().unwrap_or(0);
        // Nobody closes the port.
        let _ = ended.post(0);
        Ok(left)
    }

    /// Who waits for what.
    fn why(&self, py: Python<'_>) -> PyResult<String> {
        let inner = self.open()?;
        let told = py.detach(move || inner.waiting().to_string());
        // Places in the extension and its types tell a user of Python nothing.
        let told = without_places(&told).replace(type_name::<Item>(), "objects");
        Ok(told.replace(",\n", "\n"))
    }
}

/// Does on a thread of its own what must not be done on a dispatcher's; then its number lies in
/// `ended`.
fn elsewhere(
    ended: &motet::Port<usize>,
    work: impl FnOnce() -> usize + Send + 'static,
) -> PyResult<()> {
    let tell = ended.clone();
    let body = move || {
        // Nobody closes the port.
        let _ = tell.post(work());
    };
    let started = thread::spawn_named("motet-wait", body);
    started.map(drop).map_err(|error| {
        // What was to be done has been dropped.
        let _ = ended.post(0);
        MotetError::new_err(error.to_string())
    })
}

/// Waits until an item lies there, and leaves it for others who wait.
fn wait_for(py: Python<'_>, seconds: Option<f64>, ended: &motet::Port<usize>) -> PyResult<()> {
    let mut waits = pin!(ended.ready());
    blocked(py, seconds, waits.as_mut())
}

/// Ends it; how many handlers have not run.
fn end(dispatcher: Arc<motet::Dispatcher>) -> usize {
    dispatcher.wait_idle();
    // Another thread may have waited for that: then the last of them ends it.
    let Some(dispatcher) = Arc::into_inner(dispatcher) else {
        return 0;
    };
    let left = dispatcher.drain();
    let count = left.len();
    left.into_iter().for_each(motet::Task::cleanup);
    count
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        let (_, inner) = self.shut();
        if !self.maker.is_here() {
            return leave(inner);
        }
        if let Some(inner) = inner {
            // This may be a thread of it, and a handler may want the interpreter: nobody waits
            // here.
            drop(thread::spawn_named("motet-end", move || end(inner)));
        }
    }
}

/// Tells a function of Python what a handler has raised.
fn told(py: Python<'_>, tell: &Py<PyAny>, exception: Exception) {
    let queue = exception.queue().to_owned();
    let raised = raised(exception).into_value(py);
    if let Err(error) = tell.call1(py, (queue, raised)) {
        error.write_unraisable(py, Some(tell.bind(py)));
    }
}

/// Where handlers wait for a thread.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Queue(Outside<DispatcherQueue>, Maker);

impl Queue {
    pub(crate) fn inner(&self) -> &DispatcherQueue {
        self.0.get()
    }

    /// The queue, where the threads are that run what waits there.
    pub(crate) fn open(&self) -> PyResult<&DispatcherQueue> {
        self.1.check("Dispatcher")?;
        Ok(self.inner())
    }
}

#[pymethods]
impl Queue {
    /// Calls a function there.
    fn enqueue(&self, py: Python<'_>, function: Py<PyAny>, arguments: Py<PyTuple>) -> PyResult<()> {
        let queue = self.open()?;
        let arguments: Vec<Py<PyAny>> = arguments.bind(py).iter().map(Bound::unbind).collect();
        let function = Arc::new(function);
        let queued = py
            .detach(|| FromHandler::new_async(move || handle(function, arguments)).activate(queue));
        queued.map_err(|error| MotetError::new_err(error.to_string()))
    }

    /// Starts nothing more until it is resumed.
    fn suspend(&self, py: Python<'_>) {
        py.detach(|| self.inner().suspend());
    }

    fn resume(&self, py: Python<'_>) {
        py.detach(|| self.inner().resume());
    }

    /// A port that gets what the handlers of this queue raise.
    fn exception_port(&self, py: Python<'_>) -> Port {
        let port = motet::Port::new();
        let poster = port.clone();
        py.detach(|| {
            self.inner().on_exception(move |exception| {
                Python::try_attach(|py| {
                    let raised = raised(exception).into_value(py);
                    let refused = py.detach(|| poster.post(raised.into_any()));
                    if let Err(refused) = refused {
                        let error = PyErr::from_value(refused.item.into_bound(py));
                        error.write_unraisable(py, None);
                    }
                });
            });
        });
        Port::of(port)
    }
}

/// Waits for a time, on a dispatcher.
#[pyfunction]
pub(crate) fn sleeping(py: Python<'_>, seconds: f64) -> PyResult<PendingObject> {
    let span = span(seconds)?;
    let nothing = py.None();
    Ok(PendingObject::new(async move {
        motet::ports::timer::sleep(span).await;
        Ok(nothing)
    }))
}
