//! Handlers that are written in Python: called on threads of a dispatcher, which drives those that
//! are `async`.

use crate::errors::MotetError;
use crate::waiting::PendingObject;
use motet::Exception;
use motet_sync::Arc;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use std::panic::resume_unwind;

/// An item of a port.
pub(crate) type Item = Py<PyAny>;

/// A handler; its clones are the same.
pub(crate) type Handler = Arc<Py<PyAny>>;

/// Calls a handler. What it raises is the task's panic, which goes the way of the queue's
/// exceptions.
pub(crate) async fn handle(handler: Handler, items: Vec<Item>) {
    if let Err(raised) = call(handler, items).await {
        resume_unwind(Box::new(raised));
    }
}

/// Calls a function and awaits what it gives, if that is a coroutine.
pub(crate) async fn call(function: Handler, arguments: Vec<Item>) -> PyResult<Py<PyAny>> {
    // Without an interpreter, nobody waits for what the function would have done.
    let called = Python::try_attach(|py| {
        let arguments = PyTuple::new(py, arguments)?;
        let given = function.bind(py).call1(arguments)?;
        let awaits = given.is_instance(coroutines(py)?)?;
        Ok((given.unbind(), awaits))
    });
    match called {
        Some(Ok((coroutine, true))) => drive(coroutine).await,
        Some(Ok((given, false))) => Ok(given),
        Some(Err(raised)) => Err(raised),
        None => Err(MotetError::new_err("the interpreter has ended")),
    }
}

/// Awaits a coroutine whose awaits end in futures of motet.
async fn drive(coroutine: Py<PyAny>) -> PyResult<Py<PyAny>> {
    let mut came: PyResult<Py<PyAny>> = Python::attach(|py| Ok(py.None()));
    loop {
        let step = Python::attach(|py| step(py, &coroutine, came))?;
        came = match step {
            Step::Ended(given) => return Ok(given),
            Step::Waits(Ok(future)) => future.await,
            Step::Waits(Err(error)) => Err(error),
        };
    }
}

/// How far a coroutine has come.
enum Step {
    Ended(Py<PyAny>),
    Waits(PyResult<crate::waiting::BoxedFuture>),
}

/// Gives a coroutine what it has waited for.
fn step(py: Python<'_>, coroutine: &Py<PyAny>, came: PyResult<Py<PyAny>>) -> PyResult<Step> {
    let yielded = match came {
        Ok(given) => coroutine.call_method1(py, "send", (given,)),
        Err(error) => coroutine.call_method1(py, "throw", (error.into_value(py),)),
    };
    match yielded {
        Ok(yielded) => Ok(Step::Waits(
            match yielded.bind(py).cast::<PendingObject>() {
                Ok(waiting) => waiting.get().take_future(),
                Err(_) => Err(PyTypeError::new_err(
                    "a handler on a dispatcher awaits ports, services and sleep of motet, nothing of asyncio",
                )),
            },
        )),
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
            Ok(Step::Ended(error.value(py).getattr("value")?.unbind()))
        }
        Err(error) if is_without_loop(py, &error) => {
            let said = "no running event loop: a handler on a dispatcher awaits ports, services \
                        and motet.ports.sleep, nothing of asyncio";
            let told = PyRuntimeError::new_err(said);
            told.set_cause(py, Some(error));
            Err(told)
        }
        Err(error) => Err(error),
    }
}

/// Whether it is what asyncio raises where no loop runs.
fn is_without_loop(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyRuntimeError>(py)
        && error.value(py).to_string() == "no running event loop"
}

/// The type of what an `async def` gives.
fn coroutines(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    TYPE.import(py, "types", "CoroutineType")
}

/// What a handler has raised; the panic of another task as an error that tells it.
pub(crate) fn raised(exception: Exception) -> PyErr {
    let told = exception.to_string();
    match exception.into_payload().downcast::<PyErr>() {
        Ok(raised) => *raised,
        Err(_) => MotetError::new_err(told),
    }
}
