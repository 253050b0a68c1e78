//! Ports whose items are objects of Python.
//!
//! A guard runs under the locks of its ports and needs the interpreter: so nobody holds the
//! interpreter while it waits for such a lock. Every call here gives it away first.

use crate::errors::MotetError;
use crate::handlers::Item;
use crate::outside::{Outside, as_guard, is_in_guard};
use crate::waiting::PendingObject;
use motet::{Port as OfItems, ports};
use motet_sync::Arc;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use pyo3::types::PyTuple;

create_exception!(
    motet,
    Closed,
    MotetError,
    "The port is closed, and has no item left."
);

/// A port.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Port(Outside<OfItems<Item>>);

impl Port {
    pub(crate) fn inner(&self) -> &OfItems<Item> {
        self.0.get()
    }

    pub(crate) fn of(port: OfItems<Item>) -> Port {
        Port(Outside::new(port))
    }
}

/// Raises an error in a guard: its port is locked.
fn in_no_guard() -> PyResult<()> {
    match is_in_guard() {
        true => Err(MotetError::new_err(
            "a guard must not use ports, since it runs while its own is locked: decide by the \
             item alone, and post in the handler",
        )),
        false => Ok(()),
    }
}

#[pymethods]
impl Port {
    #[new]
    fn new() -> Port {
        Port::of(OfItems::new())
    }

    fn post(&self, py: Python<'_>, item: Item) -> PyResult<()> {
        in_no_guard()?;
        match py.detach(|| self.inner().post(item)) {
            Ok(()) => Ok(()),
            Err(refused) => Err(match refused.reason {
                motet::PostRefusal::Closed => Closed::new_err("the port is closed"),
                reason => MotetError::new_err(reason.to_string()),
            }),
        }
    }

    /// The oldest item in a tuple of one, if there is one.
    fn test(&self, py: Python<'_>) -> PyResult<Option<(Item,)>> {
        in_no_guard()?;
        Ok(py.detach(|| self.inner().test()).map(|item| (item,)))
    }

    fn item_count(&self, py: Python<'_>) -> PyResult<usize> {
        in_no_guard()?;
        Ok(py.detach(|| self.inner().item_count()))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        in_no_guard()?;
        py.detach(|| self.inner().close());
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.inner().is_closed()
    }

    /// What waits for an item.
    fn taking(&self) -> PyResult<PendingObject> {
        in_no_guard()?;
        let port = self.inner().clone();
        Ok(PendingObject::new(async move {
            let came = port.recv().or_closed().await;
            came.map_err(|_| Closed::new_err("the port is closed"))
        }))
    }

    /// The name that tells it from others.
    fn id(&self) -> u64 {
        self.inner().id()
    }
}

/// A part of a join: an item of a port, or several, or such that a guard wants.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Part {
    pub(crate) port: Py<Port>,
    pub(crate) count: Option<usize>,
    pub(crate) guard: Option<Arc<Py<PyAny>>>,
}

#[pymethods]
impl Part {
    #[new]
    fn new(port: Py<Port>, count: Option<usize>, guard: Option<Py<PyAny>>) -> PyResult<Part> {
        if count == Some(0) {
            return Err(PyValueError::new_err(
                "a part takes at least one item at a time",
            ));
        }
        let guard = guard.map(Arc::new);
        Ok(Part { port, count, guard })
    }

    /// Shows Python's garbage collector what the part alone keeps. A guard that an arbiter has too
    /// is kept by that, which takes it when the part is used: with the interpreter, as this is.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.port)?;
        match &self.guard {
            Some(guard) if Arc::strong_count(guard) == 1 => visit.call(&**guard),
            _ => Ok(()),
        }
    }
}

impl Part {
    /// One item.
    pub(crate) fn single(&self) -> ports::Part<Item> {
        let port = self.port.get().inner();
        match &self.guard {
            Some(guard) => port.when(wants(Arc::clone(guard))),
            None => ports::IntoPart::into_part(port),
        }
    }

    /// So many items.
    pub(crate) fn batch(&self) -> ports::Batch<Item> {
        let (port, count) = (self.port.get().inner(), self.count.unwrap_or(1));
        match &self.guard {
            Some(guard) => port.when(wants(Arc::clone(guard))).times(count),
            None => port.times(count),
        }
    }
}

/// A guard of Python. One that raises wants nothing; what it raises is told as an exception of
/// nobody.
pub(crate) fn wants(guard: Arc<Py<PyAny>>) -> impl Fn(&Item) -> bool + Send + Sync + 'static {
    move |item| {
        let wanted = Python::try_attach(|py| {
            let wanted = as_guard(|| {
                let arguments = PyTuple::new(py, [item.bind(py)])?;
                guard.bind(py).call1(arguments)?.is_truthy()
            });
            wanted.unwrap_or_else(|error: PyErr| {
                error.write_unraisable(py, Some(guard.bind(py)));
                false
            })
        });
        wanted.unwrap_or(false)
    }
}
