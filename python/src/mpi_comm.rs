//! A communicator as MPI has it: who is in it, messages between two ranks, and others made of it.

use crate::given::CallResult;
use crate::mpi_collectives::MpiCollectives;
use crate::mpi_data::{CallBytes, in_use, source, tags};
use crate::mpi_group::MpiGroup;
use crate::mpi_handle::CommHandle;
use crate::own::{OWN, RankCommunicator, WaitFailure, poll, sends_wait};
use crate::started::mpi_error;
use crate::typed::{with_bytes, with_bytes_mut};
use motet::CommError;
use motet::comm::Dest;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::pin::pin;
use std::rc::Rc;

/// Ranks; none beyond the ends of a grid.
type Ranks = Vec<Option<usize>>;

/// A communicator.
#[pyclass(frozen, extends = MpiCollectives, module = "motet._motet")]
pub(crate) struct MpiComm(CommHandle);

impl MpiComm {
    pub(crate) fn handle(&self) -> CommHandle {
        self.0
    }
}

#[pymethods]
impl MpiComm {
    /// The communicator of all ranks, of whichever rank calls.
    #[staticmethod]
    fn world(py: Python<'_>) -> PyResult<Py<MpiComm>> {
        object(py, CommHandle::WORLD)
    }

    /// The communicator of the calling rank alone.
    #[staticmethod]
    fn alone(py: Python<'_>) -> PyResult<Py<MpiComm>> {
        object(py, CommHandle::SELF)
    }

    #[getter]
    fn rank(&self) -> PyResult<usize> {
        self.0.member().map(|member| member.rank())
    }

    #[getter]
    fn size(&self) -> PyResult<usize> {
        self.0.member().map(|member| member.size())
    }

    /// Its number, which all its ranks know it by; and the rank that the handle belongs to.
    #[getter]
    fn number(&self) -> PyResult<(u32, Option<u64>)> {
        self.0
            .member()
            .map(|member| (member.number(), self.0.owner))
    }

    /// Its ranks, by their numbers in the world. That of one rank alone does not know its number.
    fn group(&self) -> PyResult<MpiGroup> {
        self.0.member().map(|member| MpiGroup(member.group()))
    }

    /// Gives the communicator up.
    fn free(&self) -> PyResult<()> {
        drop(self.0.member()?);
        let CommHandle { place, owner } = self.0;
        OWN.with_borrow_mut(|own| {
            let own = own.as_mut().filter(|own| Some(own.number) == owner);
            if let Some(room) = own.and_then(|own| own.communicators.get_mut(place)) {
                *room = None;
            }
        });
        Ok(())
    }

    /// To nobody when there is no `dest`. With `sync` it ends when a receive has got the bytes.
    #[pyo3(signature = (data, dest, tag, sync=false, start=false))]
    fn send(
        &self,
        py: Python<'_>,
        data: CallBytes<'_>,
        dest: Option<usize>,
        tag: u32,
        sync: bool,
        start: bool,
    ) -> PyResult<Option<Py<PyAny>>> {
        let dest = dest.map_or(Dest::Null, Dest::Rank);
        if sync || (start && sends_wait()) {
            let bytes = data.vec()?;
            let call = async move |comm: Rc<RankCommunicator>| {
                match sync {
                    true => comm.issend_slice(dest, tag, &bytes).wait().await?,
                    // It goes now, so that no later one is before it.
                    false => comm.isend_slice(dest, tag, &bytes).wait().await?,
                }
                Ok(CallResult::Nothing)
            };
            return self.0.call(py, start, None, call).map(Some);
        }
        self.0.send(py, (dest, tag), data.slice()?, false)?;
        Ok(None)
    }

    /// Sends an array of numpy from where it is; `false` when it is not such that it can be. With
    /// `at_once` it does not wait for room under a limit.
    #[pyo3(signature = (buf, dest, tag, at_once=false))]
    fn send_array(
        &self,
        buf: &Bound<'_, PyAny>,
        dest: usize,
        tag: u32,
        at_once: bool,
    ) -> PyResult<bool> {
        let on = (Dest::Rank(dest), tag);
        let sent = with_bytes(buf, |bytes| self.0.send(buf.py(), on, bytes, at_once));
        Ok(sent.transpose()?.is_some())
    }

    /// Receives into an array of numpy. Gives how many bytes have come, who has sent them, and with
    /// which tag. Gives none when the array is not such that it can be.
    fn recv_array(
        &self,
        py: Python<'_>,
        buf: &Bound<'_, PyAny>,
        from: Option<usize>,
        tag: Option<u32>,
    ) -> PyResult<Option<(usize, usize, u32)>> {
        let came = with_bytes_mut(buf, |room| {
            self.0.wait(py, async |comm| {
                let (length, status) = comm.recv_into(room, source(from), tags(tag)).await?;
                Ok((length, status.source, status.tag))
            })
        });
        came.transpose()
    }

    /// The bytes, who has sent them, and with which tag.
    fn recv<'py>(
        &self,
        py: Python<'py>,
        from: Option<usize>,
        tag: Option<u32>,
    ) -> PyResult<(Bound<'py, PyBytes>, usize, u32)> {
        let (bytes, status) = self.0.wait(py, async |comm| {
            let came = comm.recv_with_status::<Vec<u8>>(source(from), tags(tag));
            came.await
        })?;
        Ok((PyBytes::new(py, &bytes), status.source, status.tag))
    }

    /// Posts a receive, which takes its place in the order of receives now.
    fn irecv(&self, py: Python<'_>, from: Option<usize>, tag: Option<u32>) -> PyResult<Py<PyAny>> {
        let call = async move |comm: Rc<RankCommunicator>| {
            let posted = comm.irecv_with_status::<Vec<u8>>(source(from), tags(tag));
            let (bytes, status) = posted.wait().await?;
            Ok(CallResult::Message(bytes, status.source, status.tag))
        };
        self.0.call_of(py, (true, true), None, call)
    }

    /// Receives into an array: how many bytes have come, who has sent them, and with which tag.
    fn recv_into(
        &self,
        py: Python<'_>,
        room: &Bound<'_, PyArray1<u8>>,
        from: Option<usize>,
        tag: Option<u32>,
    ) -> PyResult<(usize, usize, u32)> {
        let mut room = room.try_readwrite().map_err(in_use)?;
        let room = room.as_slice_mut()?;
        self.0.wait(py, async |comm| {
            let (length, status) = comm.recv_into(room, source(from), tags(tag)).await?;
            Ok((length, status.source, status.tag))
        })
    }

    /// The source, the tag and the number of bytes of a message that is there; it stays there.
    fn probe(
        &self,
        py: Python<'_>,
        from: Option<usize>,
        tag: Option<u32>,
        wait: bool,
    ) -> PyResult<Option<(usize, u32, usize)>> {
        let own = self.0;
        let found = py.detach(|| {
            let comm = own.member().map_err(WaitFailure::Raised)?;
            let (source, tag) = (source(from), tags(tag));
            match wait {
                true => poll(pin!(comm.probe(source, tag))).map(Some),
                false => comm.iprobe(source, tag).map_err(WaitFailure::Comm),
            }
        });
        let found = found.map_err(mpi_error)?;
        Ok(found.map(|probe| (probe.status.source, probe.status.tag, probe.length)))
    }

    /// Takes a message that is there: its bytes, its source and its tag.
    fn mprobe<'py>(
        &self,
        py: Python<'py>,
        from: Option<usize>,
        tag: Option<u32>,
        wait: bool,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, usize, u32)>> {
        let own = self.0;
        let found = py.detach(|| {
            let comm = own.member().map_err(WaitFailure::Raised)?;
            let (source, tag) = (source(from), tags(tag));
            let message = match wait {
                true => poll(pin!(comm.mprobe(source, tag))).map(Some)?,
                false => comm.improbe(source, tag).map_err(WaitFailure::Comm)?,
            };
            let Some(message) = message else {
                return Ok(None);
            };
            let status = message.probe().status;
            let bytes = message.recv::<Vec<u8>>().map_err(WaitFailure::Comm)?;
            Ok(Some((bytes, status.source, status.tag)))
        });
        let found = found.map_err(mpi_error)?;
        Ok(found.map(|(bytes, source, tag)| (PyBytes::new(py, &bytes), source, tag)))
    }

    /// A communicator of the ranks with this color, in the order of their keys; none without one.
    fn split(
        &self,
        py: Python<'_>,
        color: Option<usize>,
        key: isize,
    ) -> PyResult<Option<Py<MpiComm>>> {
        let make = async move |comm: Rc<RankCommunicator>| comm.split(color, key).await;
        made(
            py,
            self.0.made(py, make, |made| {
                made.map(Rc::new).map(RankCommunicator::Ranks)
            }),
        )
    }

    /// Another communicator of the same ranks.
    fn dup(&self, py: Python<'_>) -> PyResult<Option<Py<MpiComm>>> {
        let make = async |comm: Rc<RankCommunicator>| comm.dup().await;
        made(
            py,
            self.0.made(py, make, |made| {
                Some(RankCommunicator::Ranks(Rc::new(made)))
            }),
        )
    }

    /// A communicator of these of its ranks, in this order; none for the others.
    fn create(&self, py: Python<'_>, ranks: Vec<usize>) -> PyResult<Option<Py<MpiComm>>> {
        let make = async move |comm: Rc<RankCommunicator>| {
            let group = comm.group().incl(&ranks)?;
            comm.create(&group).await
        };
        made(
            py,
            self.0.made(py, make, |made| {
                made.map(Rc::new).map(RankCommunicator::Ranks)
            }),
        )
    }

    /// A grid; none for the ranks beyond it.
    fn cartesian(
        &self,
        py: Python<'_>,
        dims: Vec<usize>,
        periodic: Vec<bool>,
    ) -> PyResult<Option<Py<MpiComm>>> {
        let make = async move |comm: Rc<RankCommunicator>| comm.cartesian(&dims, &periodic).await;
        made(
            py,
            self.0
                .made(py, make, |made| made.map(RankCommunicator::Grid)),
        )
    }

    /// A graph in which this rank has these neighbours.
    fn graph(
        &self,
        py: Python<'_>,
        sources: Vec<usize>,
        destinations: Vec<usize>,
    ) -> PyResult<Option<Py<MpiComm>>> {
        let make =
            async move |comm: Rc<RankCommunicator>| comm.graph(&sources, &destinations).await;
        made(
            py,
            self.0
                .made(py, make, |made| Some(RankCommunicator::Graph(made))),
        )
    }

    /// The dimensions of a grid, and whether they are rings.
    fn grid(&self) -> PyResult<(Vec<usize>, Vec<bool>)> {
        match &*self.0.member()? {
            RankCommunicator::Grid(grid) => Ok((grid.dims().to_vec(), grid.periodic().to_vec())),
            _ => Err(no_grid()),
        }
    }

    /// Where a rank of a grid is.
    fn coords(&self, rank: usize) -> PyResult<Vec<usize>> {
        match &*self.0.member()? {
            RankCommunicator::Grid(grid) => grid
                .coords(rank)
                .map_err(|error| mpi_error(WaitFailure::Comm(error))),
            _ => Err(no_grid()),
        }
    }

    /// The rank at a place of a grid; none beyond its ends.
    fn rank_at(&self, coords: Vec<isize>) -> PyResult<Option<usize>> {
        match &*self.0.member()? {
            RankCommunicator::Grid(grid) if grid.dims().len() == coords.len() => {
                Ok(grid.rank_at(&coords))
            }
            RankCommunicator::Grid(grid) => Err(PyValueError::new_err(format!(
                "{} coordinates do not fit {} dimensions",
                coords.len(),
                grid.dims().len()
            ))),
            _ => Err(no_grid()),
        }
    }

    /// Whom this rank of a grid would receive from and send to, so far away in one dimension.
    fn shift(&self, dimension: usize, by: isize) -> PyResult<(Option<usize>, Option<usize>)> {
        match &*self.0.member()? {
            RankCommunicator::Grid(grid) if dimension < grid.dims().len() => {
                Ok(grid.cart_shift(dimension, by))
            }
            RankCommunicator::Grid(grid) => Err(PyValueError::new_err(format!(
                "there is no dimension {dimension}: the grid has {}",
                grid.dims().len()
            ))),
            _ => Err(no_grid()),
        }
    }

    /// The part of a grid that keeps these dimensions.
    fn sub(&self, py: Python<'_>, keep: Vec<bool>) -> PyResult<Option<Py<MpiComm>>> {
        let make = async move |comm: Rc<RankCommunicator>| match &*comm {
            RankCommunicator::Grid(grid) => grid.sub(&keep).await,
            _ => {
                let problem = "the communicator is no grid".to_owned();
                Err(CommError::Arguments { problem })
            }
        };
        made(
            py,
            self.0
                .made(py, make, |made| Some(RankCommunicator::Grid(made))),
        )
    }

    /// Whom a rank of a topology receives from, and whom it tells; none beyond the ends of a grid.
    fn neighbours(&self) -> PyResult<(Ranks, Ranks)> {
        let member = self.0.member()?;
        let ranks = match &*member {
            RankCommunicator::Grid(grid) => grid,
            RankCommunicator::Graph(graph) => graph,
            RankCommunicator::Ranks(_) => return Err(no_grid()),
        };
        Ok((ranks.sources().collect(), ranks.destinations().collect()))
    }
}

/// The object of a handle.
pub(crate) fn object(py: Python<'_>, handle: CommHandle) -> PyResult<Py<MpiComm>> {
    Py::new(py, (MpiComm(handle), MpiCollectives(handle)))
}

fn made(py: Python<'_>, handle: PyResult<Option<CommHandle>>) -> PyResult<Option<Py<MpiComm>>> {
    handle?.map(|handle| object(py, handle)).transpose()
}

fn no_grid() -> PyErr {
    let problem = "the communicator has no such topology".to_owned();
    mpi_error(WaitFailure::Comm(CommError::Arguments { problem }))
}

/// So many ranks as a grid; 0 is a free dimension.
#[pyfunction]
pub(crate) fn dims_create(ranks: usize, dims: Vec<usize>) -> PyResult<Vec<usize>> {
    let cut = motet::comm::dims_create(ranks, &dims);
    cut.map_err(|error| mpi_error(WaitFailure::Comm(error)))
}
