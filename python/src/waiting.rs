//! What Python awaits: a future of Rust that a loop of asyncio, a dispatcher or a blocked thread
//! polls.
//!
//! ```text
//!  await port.get() ─► PendingObject::poll ─► pending      any thread: wake ─► Alarm ─► loop.call_soon_threadsafe, once
//!        ▲                                                                              │ for all that are ready
//!        └────────────────────────── the loop: Alarm::take ◄────────────────────────────┘
//! ```

use crate::errors::MotetError;
use crate::outside::Outside;
use crate::own::{OWN, end_reason};
use motet::{BlockingError, Port, wait_blocking_for};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread::JoinHandle;
use motet_sync::{Arc, Mutex, block_on_for};
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// So often a thread that waits looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// What gives an object of Python.
pub(crate) type BoxedFuture = Pin<Box<dyn Future<Output = PyResult<Py<PyAny>>> + Send>>;

/// A future that has not given its object yet.
#[pyclass(frozen, name = "Waiting", module = "motet._motet")]
pub(crate) struct PendingObject {
    future: Mutex<Option<BoxedFuture>>,
    /// Somebody awaits it, or has.
    begun: AtomicBool,
}

impl PendingObject {
    pub(crate) fn new(
        future: impl Future<Output = PyResult<Py<PyAny>>> + Send + 'static,
    ) -> PendingObject {
        PendingObject {
            future: Mutex::new(Some(Box::pin(future))),
            begun: AtomicBool::new(false),
        }
    }

    /// The future, for a task that awaits it.
    pub(crate) fn take_future(&self) -> PyResult<BoxedFuture> {
        self.begin()?;
        self.future.lock().take().ok_or_else(over)
    }
}

fn over() -> PyErr {
    PyRuntimeError::new_err("what has been awaited once is not awaited again")
}

#[pymethods]
impl PendingObject {
    /// Comes before the first `poll`.
    ///
    /// # Errors
    /// Somebody awaits it, or has: it wakes one only.
    fn begin(&self) -> PyResult<()> {
        // Relaxed: the future has a lock.
        match self.begun.swap(true, Ordering::Relaxed) {
            true => Err(over()),
            false => Ok(()),
        }
    }

    /// The object in a tuple of one; nothing while it is not there: then `alarm` will tell this
    /// number.
    fn poll(&self, py: Python<'_>, alarm: &Alarm, number: u64) -> PyResult<Option<(Py<PyAny>,)>> {
        let bell = Arc::clone(&alarm.0);
        py.detach(|| {
            let waker = Waker::from(Arc::new(Ring { bell, number }));
            let mut held = self.future.lock();
            let future = held.as_mut().ok_or_else(over)?;
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(outcome) => {
                    *held = None;
                    outcome.map(|given| Some((given,)))
                }
                Poll::Pending => Ok(None),
            }
        })
    }

    /// Gives up; what was meant for this goes back to where it was.
    fn cancel(&self, py: Python<'_>) {
        let given_up = py.detach(|| self.future.lock().take());
        // Outside the lock: it wakes others.
        drop(given_up.map(Outside::new));
    }

    /// Blocks the thread until the object is there, so many seconds at most.
    #[pyo3(signature = (seconds=None))]
    fn block(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<Py<PyAny>> {
        let mut future = self.take_future()?;
        let given = blocked(py, seconds, future.as_mut());
        if given.is_err() {
            // To give up takes the lock of a port, under which a guard may want the interpreter.
            py.detach(|| drop(future));
        }
        given?
    }
}

/// Raises `advice` on a thread that runs a task of a dispatcher: it must not wait there.
pub(crate) fn in_no_task(advice: &'static str) -> PyResult<()> {
    match wait_blocking_for(std::future::ready(()), Duration::ZERO) {
        Err(BlockingError::InsideTask(_)) => Err(MotetError::new_err(advice)),
        _ => Ok(()),
    }
}

/// As [`in_no_task`], but a rank may wait: its thread is its own.
pub(crate) fn in_no_handler(advice: &'static str) -> PyResult<()> {
    match is_of_rank() {
        true => Ok(()),
        false => in_no_task(advice),
    }
}

fn is_of_rank() -> bool {
    OWN.with_borrow(Option::is_some)
}

/// What `thread` tells next, or nothing when it is time to look for signals. Also on a thread that
/// runs a task: `thread` waits for no task of it.
///
/// # Errors
/// The thread has ended without having told anything more.
pub(crate) fn hear<T: Send + 'static>(
    py: Python<'_>,
    told: &Port<T>,
    thread: &JoinHandle<()>,
) -> Result<Option<T>, BlockingError> {
    // Asked before the wait: what a thread tells as it ends in its midst is heard the next time.
    let over = thread.is_finished();
    match py.detach(|| block_on_for(told.recv(), LOOK)) {
        Some(item) => Ok(Some(item)),
        None if over => Err(BlockingError::Elapsed),
        None => Ok(None),
    }
}

/// What lies in a port, and stays there for others; waits until something does. Also on the thread
/// of a rank.
///
/// # Errors
/// What a handler of a signal raises.
pub(crate) fn seen<T: Copy + Send + 'static>(py: Python<'_>, port: &Port<T>) -> PyResult<T> {
    loop {
        if let Some(item) = py.detach(|| block_on_for(port.recv(), LOOK)) {
            // Nobody closes the port.
            let _ = port.post(item);
            return Ok(item);
        }
        py.check_signals()?;
    }
}

/// A time of Python, which has checked it by its name: `_parameters.py`.
pub(crate) fn span(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("{seconds:e} seconds: {error}")))
}

/// Blocks the thread until `future` has ended, so many seconds at most. Signals are looked for, and
/// on the thread of a rank whether its run goes on.
///
/// # Errors
/// `TimeoutError`, `KeyboardInterrupt`, and an error on a thread of a dispatcher.
pub(crate) fn blocked<T: Send>(
    py: Python<'_>,
    seconds: Option<f64>,
    mut future: Pin<&mut (dyn Future<Output = T> + Send)>,
) -> PyResult<T> {
    let limit = match seconds {
        Some(seconds) => Instant::now().checked_add(span(seconds)?),
        None => None,
    };
    let is_rank = is_of_rank();
    loop {
        let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
        let slice = left.map_or(LOOK, |left| left.min(LOOK));
        let waited = py.detach(|| match is_rank {
            true => block_on_for(future.as_mut(), slice).ok_or(BlockingError::Elapsed),
            false => wait_blocking_for(future.as_mut(), slice),
        });
        match waited {
            Ok(given) => return Ok(given),
            Err(BlockingError::Elapsed) if left.is_some_and(|left| left <= LOOK) => {
                return Err(PyTimeoutError::new_err("the time is over"));
            }
            Err(BlockingError::Elapsed) => {
                py.check_signals()?;
                if let Some(reason) = end_reason() {
                    return Err(PyErr::from(reason));
                }
            }
            Err(error) => return Err(MotetError::new_err(error.to_string())),
        }
    }
}

/// Tells a loop of asyncio which futures are to be polled again.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Alarm(Arc<Bell>);

struct Bell {
    /// Has the loop take the numbers soon; may be called on any thread.
    ring: Py<PyAny>,
    ready: Mutex<Rung>,
}

#[derive(Default)]
struct Rung {
    numbers: Vec<u64>,
    /// Whether the loop knows already.
    told: bool,
}

#[pymethods]
impl Alarm {
    #[new]
    fn new(ring: Py<PyAny>) -> Alarm {
        let ready = Mutex::default();
        Alarm(Arc::new(Bell { ring, ready }))
    }

    /// The numbers of those that may be ready.
    fn take(&self) -> Vec<u64> {
        mem::take(&mut *self.0.ready.lock()).numbers
    }
}

/// One future's way to the alarm.
struct Ring {
    bell: Arc<Bell>,
    number: u64,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        let is_first = {
            let mut ready = self.bell.ready.lock();
            ready.numbers.push(self.number);
            !mem::replace(&mut ready.told, true)
        };
        if is_first {
            // Without an interpreter nobody waits any more.
            Python::try_attach(|py| {
                if let Err(error) = self.bell.ring.call0(py) {
                    // The next one tells of this one, too.
                    self.bell.ready.lock().told = false;
                    error.write_unraisable(py, None);
                }
            });
        }
    }
}
