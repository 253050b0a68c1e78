//! Requests of MPI: what a rank has started.

use crate::given::BegunCall;
use crate::own::{OWN, WaitFailure, end_left};
use crate::started::{mpi_error, put_back, wait_any};
use pyo3::prelude::*;

/// A call that was started: its place in the list of the rank's thread.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct MpiRequest {
    place: usize,
    /// The rank's.
    owner: u64,
}

/// Keeps a call that has begun; the request of it.
pub(crate) fn keep(started: BegunCall) -> PyResult<MpiRequest> {
    OWN.with_borrow_mut(|own| {
        let own = own
            .as_mut()
            .ok_or(WaitFailure::Elsewhere)
            .map_err(PyErr::from)?;
        // A place that is empty for a moment is not unused: its request puts the call back.
        let place = own.unused.pop().unwrap_or(own.started.len());
        match own.started.get_mut(place) {
            Some(room) => *room = Some(started),
            None => own.started.push(Some(started)),
        }
        Ok(MpiRequest {
            place,
            owner: own.number,
        })
    })
}

impl MpiRequest {
    /// Takes the call off its place, which stays that of this request.
    fn take(&self) -> PyResult<BegunCall> {
        let taken = OWN.with_borrow_mut(|own| {
            let own = own.as_mut().filter(|own| own.number == self.owner)?;
            own.started.get_mut(self.place)?.take()
        });
        taken.ok_or_else(|| mpi_error(WaitFailure::Elsewhere))
    }

    /// Gives the place to others.
    fn give_back(&self) {
        OWN.with_borrow_mut(|own| {
            if let Some(own) = own {
                own.unused.push(self.place);
            }
        });
    }
}

#[pymethods]
impl MpiRequest {
    /// Whether this is the thread of its rank.
    fn is_here(&self) -> bool {
        OWN.with_borrow(|own| own.as_ref().is_some_and(|own| own.number == self.owner))
    }

    /// Raises an error on another thread than that of its rank.
    fn check(&self) -> PyResult<()> {
        match self.is_here() {
            true => Ok(()),
            false => Err(mpi_error(WaitFailure::Elsewhere)),
        }
    }

    /// What it has ended with, in a tuple of one; nothing while it goes on.
    fn test(&self, py: Python<'_>) -> PyResult<Option<(Py<PyAny>,)>> {
        end_left();
        let mut started = self.take()?;
        match started.look() {
            Some(outcome) => {
                self.give_back();
                Ok(Some((outcome?.object(py)?,)))
            }
            None => {
                put_back(self.place, started);
                Ok(None)
            }
        }
    }

    /// Waits; what it has ended with.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let started = self.take()?;
        self.give_back();
        started.wait(py)?.object(py)
    }

    /// Waits no more: `finish` is called with what it has ended with, in a later call of this rank
    /// that waits or tests. Raises an error on another thread than that of its rank.
    fn leave(&self, finish: Py<PyAny>) -> PyResult<()> {
        let started = self.take()?;
        self.give_back();
        OWN.with_borrow_mut(|own| {
            if let Some(own) = own {
                own.left.push((started, finish));
            }
        });
        Ok(())
    }

    /// Gives it up, if it is a receive that has not ended: whether it was.
    fn cancel(&self) -> PyResult<bool> {
        let mut started = self.take()?;
        if !started.is_receive {
            put_back(self.place, started);
            return Ok(false);
        }
        match started.look() {
            Some(outcome) => {
                put_back(self.place, BegunCall::ended_as(outcome));
                Ok(false)
            }
            None => {
                self.give_back();
                Ok(true)
            }
        }
    }

    /// Waits until one of several has ended; its number. It is waited for by itself then.
    #[staticmethod]
    fn wait_any(py: Python<'_>, requests: Vec<Bound<'_, MpiRequest>>) -> PyResult<usize> {
        for request in &requests {
            request.get().check()?;
        }
        let places: Vec<usize> = requests.iter().map(|request| request.get().place).collect();
        wait_any(py, &places)
    }
}
