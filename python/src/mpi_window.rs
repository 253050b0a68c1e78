//! Windows of MPI: memory of a rank that the others read, write and combine.

use crate::errors::room_for;
use crate::given::{BegunCall, CallResult};
use crate::mpi_comm::MpiComm;
use crate::mpi_data::{CallBytes, Operator};
use crate::mpi_request::{MpiRequest, keep as keep_request};
use crate::open_window::{AccessTarget, Change, Holding, OpenWindow};
use crate::own::{OWN, Own, WaitFailure, poll_any};
use crate::started::mpi_error;
use motet::CommError;
use motet::window::{Lock, Window, WindowError};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

/// A handle on a window: its place in the list of the rank's thread.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct MpiWindow {
    place: usize,
    /// The rank's.
    owner: u64,
}

/// The window at a place of the list of this thread.
fn opened(place: usize, owner: u64) -> Result<Rc<OpenWindow>, WaitFailure> {
    OWN.with_borrow(|own| {
        let own = own.as_ref().filter(|own| own.number == owner)?;
        own.windows.get(place)?.clone()
    })
    .ok_or(WaitFailure::Elsewhere)
}

/// A copy of memory of the program, which may be larger than what is left.
fn copied(memory: &[u8]) -> PyResult<Vec<u8>> {
    let mut copy = room_for("each of two copies of a window", memory.len())?;
    copy.extend_from_slice(memory);
    Ok(copy)
}

fn keep(own: &mut Own, window: OpenWindow) -> MpiWindow {
    // In the order in which they were made, which is that of all their ranks.
    own.windows.push(Some(Rc::new(window)));
    MpiWindow {
        place: own.windows.len() - 1,
        owner: own.number,
    }
}

impl MpiWindow {
    /// Waits for what borrows from the caller.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        call: impl AsyncFnOnce(Rc<OpenWindow>) -> Result<T, WindowError> + Send,
    ) -> PyResult<T> {
        let (place, owner) = (self.place, self.owner);
        py.detach(|| poll_any(pin!(call(opened(place, owner)?))))
            .map_err(mpi_error)
    }
}

#[pymethods]
impl MpiWindow {
    /// A window of the ranks of a communicator, each of which has its memory copied in.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        comm: &Bound<'_, MpiComm>,
        memory: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<MpiWindow> {
        let (handle, memory) = (comm.get().handle(), memory.as_slice()?);
        let (numbers, before) = (copied(memory)?, copied(memory)?);
        py.detach(|| {
            let member = handle.member().map_err(WaitFailure::Raised)?;
            let before = RefCell::new(before);
            let window = poll_any(pin!(Window::create(&member, numbers)))?;
            let apart = poll_any(pin!(Window::create(&member, Vec::new())))?;
            let locks = RefCell::default();
            OWN.with_borrow_mut(|own| {
                let own = own.as_mut().ok_or(WaitFailure::Elsewhere)?;
                Ok(keep(
                    own,
                    OpenWindow {
                        window,
                        apart,
                        before,
                        locks,
                    },
                ))
            })
        })
        .map_err(mpi_error)
    }

    /// How many bytes a rank has in the window.
    fn length_of(&self, rank: usize) -> PyResult<usize> {
        let opened = opened(self.place, self.owner).map_err(mpi_error)?;
        match rank < opened.window.size() {
            true => Ok(opened.window.length_of(rank)),
            false => Err(mpi_error(WaitFailure::Mpi(
                "ERR_RANK",
                format!("there is no rank {rank} of {}", opened.window.size()),
            ))),
        }
    }

    /// Brings the program's memory and the window up to date, or a part of them.
    #[pyo3(signature = (memory, begin=0, end=usize::MAX))]
    fn meet(
        &self,
        mut memory: PyReadwriteArray1<'_, u8>,
        begin: usize,
        end: usize,
    ) -> PyResult<()> {
        let opened = opened(self.place, self.owner).map_err(mpi_error)?;
        opened.meet(memory.as_slice_mut()?, begin..end);
        Ok(())
    }

    /// Ends the window, with all ranks; what it held is in the memory then.
    fn free(&self, py: Python<'_>, mut memory: PyReadwriteArray1<'_, u8>) -> PyResult<()> {
        let memory = memory.as_slice_mut()?;
        let (place, owner) = (self.place, self.owner);
        py.detach(|| {
            let rank = opened(place, owner)?.locks.borrow().keys().next().copied();
            if let Some(rank) = rank {
                return Err(WaitFailure::from(WindowError::Locked { rank }));
            }
            opened(place, owner)?.meet(memory, 0..usize::MAX);
            let taken = OWN.with_borrow_mut(|own| {
                let room = own.as_mut()?.windows.get_mut(place)?;
                Rc::into_inner(room.take()?)
            });
            let taken = taken.ok_or(WaitFailure::Elsewhere)?;
            let numbers = poll_any(pin!(taken.window.free()))?;
            poll_any(pin!(taken.apart.free()))?;
            memory.copy_from_slice(&numbers);
            Ok(())
        })
        .map_err(mpi_error)
    }

    fn put(&self, py: Python<'_>, target: AccessTarget, data: CallBytes<'_>) -> PyResult<()> {
        let bytes = data.slice()?;
        self.wait(py, async |opened| target.put(&opened.window, bytes).await)
    }

    fn get<'py>(&self, py: Python<'py>, target: AccessTarget) -> PyResult<Bound<'py, PyBytes>> {
        let got = self.wait(py, async |opened| target.get(&opened.window).await)?;
        Ok(PyBytes::new(py, &got))
    }

    /// As `get`, of bytes in a row, into an array.
    fn get_into(
        &self,
        py: Python<'_>,
        target: AccessTarget,
        mut room: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<()> {
        let room = room.as_slice_mut()?;
        self.wait(py, async |opened| {
            let (rank, offset) = (target.rank, target.offset);
            opened.window.get_into(rank, offset, room).await
        })
    }

    /// Combines bytes with those of a target, apart from other combinations; what was there. The
    /// names `replace` and `no_op` are those of no kind of number.
    fn combine<'py>(
        &self,
        py: Python<'py>,
        target: AccessTarget,
        data: CallBytes<'_>,
        op: Operator,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = data.vec()?;
        let there = self.wait(py, async |opened| {
            let (change, raised) = match op {
                Operator::Named(name, _) if name == "no_op" => (Change::Keep, None),
                Operator::Named(name, _) if name == "replace" => (Change::Replace, None),
                op => match op.combine() {
                    Ok((combine, raised)) => (Change::Combine(combine), raised),
                    Err(error) => return Ok(Err(error)),
                },
            };
            let there = opened.change(&target, bytes, change).await?;
            let raised = raised.and_then(|raised| raised.take());
            Ok(raised.map_or(Ok(there), Err))
        })??;
        Ok(PyBytes::new(py, &there))
    }

    /// Replaces the bytes of a target if they are those expected; what was there.
    fn swap<'py>(
        &self,
        py: Python<'py>,
        target: AccessTarget,
        data: CallBytes<'_>,
        expected: CallBytes<'_>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (bytes, expected) = (data.vec()?, expected.vec()?);
        let there = self.wait(py, async |opened| {
            let change = Change::Swap(expected);
            opened.change(&target, bytes, change).await
        })?;
        Ok(PyBytes::new(py, &there))
    }

    fn fence(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, async |opened| opened.window.fence().await)
    }

    fn post(&self, py: Python<'_>, origins: Vec<usize>) -> PyResult<()> {
        self.wait(py, async |opened| opened.window.post(&origins).await)
    }

    fn start(&self, py: Python<'_>, targets: Vec<usize>) -> PyResult<()> {
        self.wait(py, async |opened| opened.window.start(&targets).await)
    }

    fn complete(&self, py: Python<'_>, targets: Vec<usize>) -> PyResult<()> {
        self.wait(py, async |opened| opened.window.complete(&targets).await)
    }

    /// The request of a wait for these ranks.
    fn wait_for(&self, origins: Vec<usize>) -> PyResult<MpiRequest> {
        let opened = opened(self.place, self.owner).map_err(mpi_error)?;
        keep_request(BegunCall::new(None, async move {
            match opened.window.wait(&origins).await {
                Ok(()) => Ok(CallResult::Nothing),
                Err(WindowError::Comm(error)) => Err(error),
                Err(other) => Err(CommError::Arguments {
                    problem: other.to_string(),
                }),
            }
        }))
    }

    /// Of one rank, or of all.
    #[pyo3(signature = (rank=None))]
    fn flush(&self, py: Python<'_>, rank: Option<usize>) -> PyResult<()> {
        self.wait(py, async |opened| match rank {
            Some(rank) => opened.window.flush(rank).await,
            None => opened.window.flush_all().await,
        })
    }

    /// Waits for the lock of a rank's part.
    fn lock(&self, py: Python<'_>, rank: usize, shared: bool) -> PyResult<()> {
        self.wait(py, async |opened| {
            let kind = match shared {
                true => Lock::Shared,
                false => Lock::Exclusive,
            };
            let (held, ends) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
            let (window, is_held, is_over) = (Rc::clone(&opened), held.clone(), ends.clone());
            let mut future: Pin<Box<dyn Future<Output = _>>> = Box::pin(async move {
                let locked = window.window.lock(rank, kind).await?;
                is_held.set(true);
                poll_fn(|_| match is_over.get() {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                })
                .await;
                locked.unlock().await
            });
            poll_fn(|context| match future.as_mut().poll(context) {
                Poll::Pending if held.get() => Poll::Ready(Ok(())),
                other => other,
            })
            .await?;
            let holding = Holding { future, ends };
            opened.locks.borrow_mut().insert(rank, holding);
            Ok(())
        })
    }

    /// Gives the lock back when all that was done under it is done there.
    fn unlock(&self, py: Python<'_>, rank: usize) -> PyResult<()> {
        self.wait(py, async |opened| {
            let holding = opened.locks.borrow_mut().remove(&rank);
            let Some(holding) = holding else {
                return Ok(false);
            };
            holding.ends.set(true);
            holding.future.await.map(|()| true)
        })
        .and_then(|was_held| match was_held {
            true => Ok(()),
            false => Err(mpi_error(WaitFailure::Mpi(
                "ERR_RMA_SYNC",
                format!("this rank holds no lock of rank {rank}: call Lock first"),
            ))),
        })
    }
}
