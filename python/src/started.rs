//! How a rank waits for the calls of MPI that it has begun, and what they raise.

use crate::given::{BegunCall, CallResult};
use crate::own::{OWN, WaitFailure, poll};
use crate::stuck::without_places;
use motet::CommError;
use motet::dispatch::eagerly;
use motet_sync::thread_local;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::cell::Cell;
use std::task::{Context, Poll, Waker};

thread_local! {
    /// A call on its way to the same thread without the interpreter.
    static PASSED: Cell<Option<BegunCall>> = const { Cell::new(None) };
}

impl BegunCall {
    /// What it has ended with, if it has.
    pub(crate) fn look(&mut self) -> Option<PyResult<CallResult>> {
        let mut context = Context::from_waker(Waker::noop());
        match eagerly(|| self.future.as_mut().poll(&mut context)) {
            Poll::Ready(outcome) => Some(self.ended(outcome.map_err(WaitFailure::Comm))),
            Poll::Pending => None,
        }
    }

    /// Waits until it has ended.
    pub(crate) fn wait(self, py: Python<'_>) -> PyResult<CallResult> {
        PASSED.set(Some(self));
        // What has begun does not leave its thread, so it is passed on it.
        let outcome = py.detach(|| {
            let mut started = PASSED.take().ok_or(WaitFailure::Elsewhere)?;
            let outcome = poll(started.future.as_mut());
            PASSED.set(Some(started));
            outcome
        });
        match PASSED.take() {
            Some(started) => started.ended(outcome),
            None => outcome.map_err(mpi_error),
        }
    }

    fn ended(&self, outcome: Result<CallResult, WaitFailure>) -> PyResult<CallResult> {
        if let Some(raised) = self.raised.as_ref().and_then(|raised| raised.take()) {
            return Err(raised);
        }
        outcome.map_err(mpi_error)
    }
}

/// Waits until one of several has ended; its number. What it has ended with is at its place.
pub(crate) fn wait_any(py: Python<'_>, places: &[usize]) -> PyResult<usize> {
    let found = py.detach(|| {
        let mut found = None;
        let any = std::future::poll_fn(|context| {
            for (number, place) in places.iter().enumerate() {
                let started =
                    OWN.with_borrow_mut(|own| own.as_mut()?.started.get_mut(*place)?.take());
                let Some(mut started) = started else { continue };
                if let Poll::Ready(outcome) = started.future.as_mut().poll(context) {
                    let outcome = started.ended(outcome.map_err(WaitFailure::Comm));
                    put_back(*place, BegunCall::ended_as(outcome));
                    found = Some(number);
                    return Poll::Ready(Ok::<(), WaitFailure>(()));
                }
                put_back(*place, started);
            }
            Poll::Pending
        });
        poll(std::pin::pin!(any))?;
        found.ok_or(WaitFailure::Elsewhere)
    });
    found.map_err(mpi_error)
}

/// Puts a call back to its place.
pub(crate) fn put_back(place: usize, started: BegunCall) {
    OWN.with_borrow_mut(|own| {
        let own = own.as_mut();
        if let Some(room) = own.and_then(|own| own.started.get_mut(place)) {
            *room = Some(started);
        }
    });
}

/// `MPI.Exception`, which Python defines.
static EXCEPTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Says what calls of MPI raise: it is called with the name of an error class and a text.
#[pyfunction]
pub(crate) fn set_mpi_exception(py: Python<'_>, class: Py<PyAny>) {
    // The first one stays.
    let _ = EXCEPTION.set(py, class);
}

/// What a call of MPI raises.
pub(crate) fn mpi_error(fault: WaitFailure) -> PyErr {
    let (class, said) = match fault {
        WaitFailure::Comm(error) => (class(&error), said(&error)),
        WaitFailure::Mpi(class, said) => (class, said),
        other => return PyErr::from(other),
    };
    Python::attach(|py| match EXCEPTION.get(py) {
        None => PyRuntimeError::new_err(said),
        Some(make) => match make.bind(py).call1((class, said)) {
            Ok(raised) => PyErr::from_value(raised),
            Err(error) => error,
        },
    })
}

/// What is wrong, in the words of Python. All messages are of bytes here.
fn said(error: &CommError) -> String {
    let told = error.to_string();
    match error {
        CommError::Truncated { .. } => told.replacen("elements", "bytes", 1),
        CommError::Full { .. } => told.replace("SendOverflow::Wait", "limit(…, overflow=\"wait\")"),
        _ => without_places(&told),
    }
}

/// The name of the error class of MPI.
fn class(error: &CommError) -> &'static str {
    match error {
        CommError::NoSuchRank { .. } | CommError::NullSource => "ERR_RANK",
        CommError::Truncated { .. } => "ERR_TRUNCATE",
        CommError::WrongType { .. } => "ERR_TYPE",
        CommError::Root { .. } => "ERR_ROOT",
        CommError::Arguments { .. } => "ERR_ARG",
        CommError::Gone { .. } | CommError::Left { .. } => "ERR_PROC_FAILED",
        _ => "ERR_OTHER",
    }
}
