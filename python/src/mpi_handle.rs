//! A handle on a communicator that Python may hold on any thread, and how calls go through it.

use crate::given::{BegunCall, CallResult, Raised};
use crate::mpi_request::keep;
use crate::mpi_world;
use crate::own::{OWN, RankCommunicator, WaitFailure, here, poll, sends_wait};
use crate::started::mpi_error;
use motet::CommError;
use motet::comm::Dest;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::pin::pin;
use std::rc::Rc;

/// The place of the communicator of one rank alone, which is in no list.
const ALONE: usize = usize::MAX;

/// A communicator: its place in the list of the rank's thread.
#[derive(Clone, Copy)]
pub(crate) struct CommHandle {
    pub(crate) place: usize,
    /// The rank that it belongs to; the first ones are those of the calling rank.
    pub(crate) owner: Option<u64>,
}

impl CommHandle {
    /// That of all ranks, the first that every rank has.
    pub(crate) const WORLD: CommHandle = CommHandle {
        place: 0,
        owner: None,
    };
    /// That of the calling rank alone.
    pub(crate) const SELF: CommHandle = CommHandle {
        place: ALONE,
        owner: None,
    };

    /// The communicator, on the thread of its rank.
    pub(crate) fn member(&self) -> PyResult<Rc<RankCommunicator>> {
        match here(self.place) {
            Some((member, number)) if self.owner.is_none_or(|owner| owner == number) => Ok(member),
            _ if self.owner.is_some() => Err(PyErr::from(WaitFailure::Elsewhere)),
            _ => {
                mpi_world::begin()?;
                match self.place {
                    ALONE => alone(),
                    place => {
                        let found = here(place).map(|found| found.0);
                        found.ok_or_else(|| PyErr::from(WaitFailure::Elsewhere))
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
        call: impl AsyncFnOnce(Rc<RankCommunicator>) -> Result<CallResult, CommError> + 'static,
    ) -> PyResult<Py<PyAny>> {
        self.call_of(py, (start, false), raised, call)
    }

    /// The same, given also whether it is a receive.
    pub(crate) fn call_of(
        &self,
        py: Python<'_>,
        (start, is_receive): (bool, bool),
        raised: Option<Raised>,
        call: impl AsyncFnOnce(Rc<RankCommunicator>) -> Result<CallResult, CommError> + 'static,
    ) -> PyResult<Py<PyAny>> {
        let member = self.member()?;
        let mut started = BegunCall::new(raised, async move { call(member).await });
        started.is_receive = is_receive;
        if !start {
            return started.wait(py)?.object(py);
        }
        match started.look() {
            // Its request gives the outcome, or the error.
            Some(Ok(given)) => keep(BegunCall::ended_with(given))?.into_py_any(py),
            Some(Err(error)) => Err(error),
            None => keep(started)?.into_py_any(py),
        }
    }

    /// Waits for what borrows from the caller.
    pub(crate) fn wait<T: Send>(
        self,
        py: Python<'_>,
        call: impl AsyncFnOnce(Rc<RankCommunicator>) -> Result<T, CommError> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let member = self.member().map_err(WaitFailure::Raised)?;
            poll(pin!(call(member)))
        })
        .map_err(mpi_error)
    }

    /// Sends bytes. It waits only where a limit says so, and then lets go of the interpreter: the
    /// receiver may be a thread of it. With `at_once` it does not wait even then.
    pub(crate) fn send(
        self,
        py: Python<'_>,
        (dest, tag): (Dest, u32),
        bytes: &[u8],
        at_once: bool,
    ) -> PyResult<()> {
        if at_once {
            let member = self.member()?;
            // It has gone: what would be waited for is that it is received.
            let sent = member.isend_slice(dest, tag, bytes).test();
            let sent = sent.unwrap_or(Ok(()));
            return sent.map_err(|error| mpi_error(WaitFailure::Comm(error)));
        }
        if sends_wait() {
            let send = async |comm: Rc<RankCommunicator>| comm.send_slice(dest, tag, bytes).await;
            return self.wait(py, send);
        }
        let member = self.member()?;
        poll(pin!(member.send_slice(dest, tag, bytes))).map_err(mpi_error)
    }

    /// A handle on a new communicator of this rank.
    pub(crate) fn made<M>(
        &self,
        py: Python<'_>,
        make: impl AsyncFnOnce(Rc<RankCommunicator>) -> Result<M, CommError> + Send,
        member: impl FnOnce(M) -> Option<RankCommunicator> + Send,
    ) -> PyResult<Option<CommHandle>> {
        let own = *self;
        py.detach(|| {
            let of = own.member().map_err(WaitFailure::Raised)?;
            let made = poll(pin!(make(of)))?;
            let Some(member) = member(made) else {
                return Ok(None);
            };
            OWN.with_borrow_mut(|own| {
                let own = own.as_mut().ok_or(WaitFailure::Elsewhere)?;
                let place = own.keep(member);
                let owner = Some(own.number);
                Ok(Some(CommHandle { place, owner }))
            })
        })
        .map_err(mpi_error)
    }
}

/// The communicator of this rank alone.
fn alone() -> PyResult<Rc<RankCommunicator>> {
    OWN.with_borrow_mut(|own| {
        let own = own
            .as_mut()
            .ok_or_else(|| PyErr::from(WaitFailure::Elsewhere))?;
        if own.alone.is_none() {
            let entered = motet::World::solo().enter();
            let entered = entered.map_err(|error| PyValueError::new_err(error.to_string()))?;
            own.alone = Some(entered);
        }
        let comm = own.alone.as_ref().map(motet::comm::Entered::communicator);
        let comm = comm.ok_or_else(|| PyErr::from(WaitFailure::Elsewhere))?;
        Ok(Rc::new(RankCommunicator::Ranks(comm)))
    })
}
