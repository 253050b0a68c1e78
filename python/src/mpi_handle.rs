//! A handle on a communicator that Python may hold on any thread, and how calls go through it.

use crate::given::{Given, Raised, Started};
use crate::mpi_request::keep;
use crate::mpi_world;
use crate::own::{Fault, Member, OWN, here, poll};
use crate::started::mpi_error;
use motet::CommError;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::pin::pin;
use std::rc::Rc;

/// The place of the communicator of one rank alone, which is in no list.
const ALONE: usize = usize::MAX;

/// A communicator: its place in the list of the rank's thread.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) place: usize,
    /// The rank that it belongs to; the first ones are those of the calling rank.
    pub(crate) owner: Option<u64>,
}

impl Handle {
    /// That of all ranks, the first that every rank has.
    pub(crate) const WORLD: Handle = Handle {
        place: 0,
        owner: None,
    };
    /// That of the calling rank alone.
    pub(crate) const SELF: Handle = Handle {
        place: ALONE,
        owner: None,
    };

    /// The communicator, on the thread of its rank.
    pub(crate) fn member(&self) -> PyResult<Rc<Member>> {
        match here(self.place) {
            Some((member, number)) if self.owner.is_none_or(|owner| owner == number) => Ok(member),
            _ if self.owner.is_some() => Err(PyErr::from(Fault::Elsewhere)),
            _ => {
                mpi_world::begin()?;
                match self.place {
                    ALONE => alone(),
                    place => {
                        let found = here(place).map(|found| found.0);
                        found.ok_or_else(|| PyErr::from(Fault::Elsewhere))
                    }
                }
            }
        }
    }

    /// Carries a call out, or starts it.
    pub(crate) fn call(
        &self,
        py: Python<'_>,
        start: bool,
        raised: Option<Raised>,
        call: impl AsyncFnOnce(Rc<Member>) -> Result<Given, CommError> + 'static,
    ) -> PyResult<Py<PyAny>> {
        self.call_of(py, (start, false), raised, call)
    }

    /// The same, given also whether it is a receive.
    pub(crate) fn call_of(
        &self,
        py: Python<'_>,
        (start, is_receive): (bool, bool),
        raised: Option<Raised>,
        call: impl AsyncFnOnce(Rc<Member>) -> Result<Given, CommError> + 'static,
    ) -> PyResult<Py<PyAny>> {
        let member = self.member()?;
        let mut started = Started::new(raised, async move { call(member).await });
        started.is_receive = is_receive;
        if !start {
            return started.wait(py)?.object(py);
        }
        match started.look() {
            // Its request gives the outcome, or the error.
            Some(Ok(given)) => keep(Started::ended_with(given))?.into_py_any(py),
            Some(Err(error)) => Err(error),
            None => keep(started)?.into_py_any(py),
        }
    }

    /// Waits for what borrows from the caller.
    pub(crate) fn wait<T: Send>(
        self,
        py: Python<'_>,
        call: impl AsyncFnOnce(Rc<Member>) -> Result<T, CommError> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let member = self.member().map_err(Fault::Raised)?;
            poll(pin!(call(member)))
        })
        .map_err(mpi_error)
    }

    /// A handle on a new communicator of this rank.
    pub(crate) fn made<M>(
        &self,
        py: Python<'_>,
        make: impl AsyncFnOnce(Rc<Member>) -> Result<M, CommError> + Send,
        member: impl FnOnce(M) -> Option<Member> + Send,
    ) -> PyResult<Option<Handle>> {
        let own = *self;
        py.detach(|| {
            let of = own.member().map_err(Fault::Raised)?;
            let made = poll(pin!(make(of)))?;
            let Some(member) = member(made) else {
                return Ok(None);
            };
            OWN.with_borrow_mut(|own| {
                let own = own.as_mut().ok_or(Fault::Elsewhere)?;
                let place = own.keep(member);
                let owner = Some(own.number);
                Ok(Some(Handle { place, owner }))
            })
        })
        .map_err(mpi_error)
    }
}

/// The communicator of this rank alone.
fn alone() -> PyResult<Rc<Member>> {
    OWN.with_borrow_mut(|own| {
        let own = own.as_mut().ok_or_else(|| PyErr::from(Fault::Elsewhere))?;
        if own.alone.is_none() {
            let entered = motet::World::solo().enter();
            let entered = entered.map_err(|error| PyValueError::new_err(error.to_string()))?;
            own.alone = Some(entered);
        }
        let comm = own.alone.as_ref().map(motet::comm::Entered::communicator);
        let comm = comm.ok_or_else(|| PyErr::from(Fault::Elsewhere))?;
        Ok(Rc::new(Member::Ranks(comm)))
    })
}
