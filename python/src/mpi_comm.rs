//! A communicator as MPI has it: every message is bytes, which Python cuts out of its buffers.
//!
//! Each call is carried out at once, or started: then it gives a request.

use crate::combine::{Combine, kernel};
use crate::mpi_group::MpiGroup;
use crate::mpi_request::keep;
use crate::mpi_world;
use crate::own::{Fault, Member, OWN, here, poll};
use crate::started::{Given, Raised, Started, mpi_error};
use motet::CommError;
use motet::comm::{Dest, Source, TagMatch};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::pin::pin;
use std::rc::Rc;

/// The place of the communicator of all ranks; the first that every rank has.
const WORLD: usize = 0;
/// The place of the communicator of one rank alone, which is in no list.
const ALONE: usize = usize::MAX;

/// A communicator: its place in the list of the rank's thread.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct MpiComm {
    place: usize,
    /// The rank that it belongs to; the first ones are those of the calling rank.
    owner: Option<u64>,
}

/// Bytes that a call takes: an object of Python, or an array of them.
#[derive(FromPyObject)]
enum Data<'py> {
    Bytes(PyBackedBytes),
    Array(PyReadonlyArray1<'py, u8>),
}

impl Data<'_> {
    fn slice(&self) -> PyResult<&[u8]> {
        match self {
            Data::Bytes(bytes) => Ok(bytes),
            Data::Array(array) => Ok(array.as_slice()?),
        }
    }

    fn vec(&self) -> PyResult<Vec<u8>> {
        self.slice().map(<[u8]>::to_vec)
    }
}

fn vectors(all: &[Data<'_>]) -> PyResult<Vec<Vec<u8>>> {
    all.iter().map(Data::vec).collect()
}

fn source(rank: Option<usize>) -> Source {
    rank.map_or(Source::Any, Source::Rank)
}

fn tags(tag: Option<u32>) -> TagMatch {
    tag.map_or(TagMatch::Any, TagMatch::Only)
}

/// A function of Python as an operator, or the name of an operator and of a kind of number.
#[derive(FromPyObject)]
enum Operator {
    Named(String, String),
    Function(Py<PyAny>),
}

impl Operator {
    fn combine(self) -> PyResult<(Combine, Option<Raised>)> {
        Ok(match self {
            Operator::Named(op, kind) => {
                let kernel = kernel(&op, &kind).ok_or_else(|| {
                    PyValueError::new_err(format!("{op} is not defined for numbers of kind {kind}"))
                })?;
                (Combine::Kernel(kernel), None)
            }
            Operator::Function(function) => {
                let raised = Raised::default();
                (
                    Combine::Function(function, Rc::clone(&raised)),
                    Some(raised),
                )
            }
        })
    }
}

impl MpiComm {
    /// The communicator, on the thread of its rank.
    fn member(&self) -> PyResult<Rc<Member>> {
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
    fn call(
        &self,
        py: Python<'_>,
        start: bool,
        raised: Option<Raised>,
        call: impl AsyncFnOnce(Rc<Member>) -> Result<Given, CommError> + 'static,
    ) -> PyResult<Py<PyAny>> {
        self.call_of(py, (start, false), raised, call)
    }

    /// The same, given also whether it is a receive.
    fn call_of(
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

    /// A handle on a new communicator of this rank.
    fn made<M>(
        &self,
        py: Python<'_>,
        make: impl AsyncFnOnce(Rc<Member>) -> Result<M, CommError> + Send,
        member: impl FnOnce(M) -> Option<Member> + Send,
    ) -> PyResult<Option<MpiComm>> {
        let (place, owner) = (self.place, self.owner);
        py.detach(|| {
            let of = MpiComm { place, owner }.member().map_err(Fault::Raised)?;
            let made = poll(pin!(make(of)))?;
            let Some(member) = member(made) else {
                return Ok(None);
            };
            OWN.with_borrow_mut(|own| {
                let own = own.as_mut().ok_or(Fault::Elsewhere)?;
                let place = own.keep(member);
                let owner = Some(own.number);
                Ok(Some(MpiComm { place, owner }))
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

#[pymethods]
impl MpiComm {
    /// The communicator of all ranks, of whichever rank calls.
    #[staticmethod]
    fn world() -> MpiComm {
        MpiComm {
            place: WORLD,
            owner: None,
        }
    }

    /// The communicator of the calling rank alone.
    #[staticmethod]
    fn alone() -> MpiComm {
        MpiComm {
            place: ALONE,
            owner: None,
        }
    }

    #[getter]
    fn rank(&self) -> PyResult<usize> {
        self.member().map(|member| member.rank())
    }

    #[getter]
    fn size(&self) -> PyResult<usize> {
        self.member().map(|member| member.size())
    }

    /// Its number, which all its ranks know it by; and the rank that the handle belongs to.
    #[getter]
    fn number(&self) -> PyResult<(u32, Option<u64>)> {
        self.member().map(|member| (member.number(), self.owner))
    }

    /// Its ranks, by their numbers in the world. That of one rank alone does not know its number.
    fn group(&self) -> PyResult<MpiGroup> {
        self.member().map(|member| MpiGroup(member.group()))
    }

    /// Gives the communicator up.
    fn free(&self) -> PyResult<()> {
        drop(self.member()?);
        let (place, owner) = (self.place, self.owner);
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
        data: Data<'_>,
        dest: Option<usize>,
        tag: u32,
        sync: bool,
        start: bool,
    ) -> PyResult<Option<Py<PyAny>>> {
        let dest = dest.map_or(Dest::Null, Dest::Rank);
        if sync {
            let bytes = data.vec()?;
            let call = async move |comm: Rc<Member>| {
                comm.issend_slice(dest, tag, &bytes).wait().await?;
                Ok(Given::Nothing)
            };
            return self.call(py, start, None, call).map(Some);
        }
        // It does not wait.
        let (member, bytes) = (self.member()?, data.slice()?);
        let sent = poll(pin!(member.send_slice(dest, tag, bytes)));
        sent.map(|()| None).map_err(mpi_error)
    }

    /// The bytes, who has sent them, and with which tag.
    #[pyo3(signature = (from, tag, start=false))]
    fn recv(
        &self,
        py: Python<'_>,
        from: Option<usize>,
        tag: Option<u32>,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let call = async move |comm: Rc<Member>| {
            let (source, tag) = (source(from), tags(tag));
            if start {
                // It takes its place in the order of receives now.
                let came = comm
                    .irecv_with_status::<Vec<u8>>(source, tag)
                    .wait()
                    .await?;
                return Ok(Given::Message(came.0, came.1.source, came.1.tag));
            }
            let (bytes, status) = comm.recv_with_status::<Vec<u8>>(source, tag).await?;
            Ok(Given::Message(bytes, status.source, status.tag))
        };
        self.call_of(py, (start, true), None, call)
    }

    /// Receives into an array: how many bytes have come, who has sent them, and with which tag.
    fn recv_into(
        &self,
        py: Python<'_>,
        mut room: PyReadwriteArray1<'_, u8>,
        from: Option<usize>,
        tag: Option<u32>,
    ) -> PyResult<(usize, usize, u32)> {
        let room = room.as_slice_mut()?;
        let (place, owner) = (self.place, self.owner);
        py.detach(|| {
            let comm = MpiComm { place, owner }.member().map_err(Fault::Raised)?;
            let (length, status) = poll(pin!(comm.recv_into(room, source(from), tags(tag))))?;
            Ok((length, status.source, status.tag))
        })
        .map_err(mpi_error)
    }

    /// The source, the tag and the number of bytes of a message that is there; it stays there.
    fn probe(
        &self,
        py: Python<'_>,
        from: Option<usize>,
        tag: Option<u32>,
        wait: bool,
    ) -> PyResult<Option<(usize, u32, usize)>> {
        let (place, owner) = (self.place, self.owner);
        let found = py.detach(|| {
            let comm = MpiComm { place, owner }.member().map_err(Fault::Raised)?;
            let (source, tag) = (source(from), tags(tag));
            match wait {
                true => poll(pin!(comm.probe(source, tag))).map(Some),
                false => comm.iprobe(source, tag).map_err(Fault::Comm),
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
        let (place, owner) = (self.place, self.owner);
        let found = py.detach(|| {
            let comm = MpiComm { place, owner }.member().map_err(Fault::Raised)?;
            let (source, tag) = (source(from), tags(tag));
            let message = match wait {
                true => poll(pin!(comm.mprobe(source, tag))).map(Some)?,
                false => comm.improbe(source, tag).map_err(Fault::Comm)?,
            };
            let Some(message) = message else {
                return Ok(None);
            };
            let status = message.probe().status;
            let bytes = message.recv::<Vec<u8>>().map_err(Fault::Comm)?;
            Ok(Some((bytes, status.source, status.tag)))
        });
        let found = found.map_err(mpi_error)?;
        Ok(found.map(|(bytes, source, tag)| (PyBytes::new(py, &bytes), source, tag)))
    }

    #[pyo3(signature = (start=false))]
    fn barrier(&self, py: Python<'_>, start: bool) -> PyResult<Py<PyAny>> {
        let call = async move |comm: Rc<Member>| {
            match start {
                true => comm.barrier().start().wait().await?,
                false => comm.barrier().await?,
            }
            Ok(Given::Nothing)
        };
        self.call(py, start, None, call)
    }

    #[pyo3(signature = (data, root, start=false))]
    fn bcast(
        &self,
        py: Python<'_>,
        data: Option<Data<'_>>,
        root: usize,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let own = data.as_ref().map(Data::vec).transpose()?;
        let call = async move |comm: Rc<Member>| {
            let call = comm.broadcast(root, own);
            let came = match start {
                true => call.start().wait().await?,
                false => call.await?,
            };
            Ok(Given::Bytes(came))
        };
        self.call(py, start, None, call)
    }

    #[pyo3(signature = (data, root, start=false))]
    fn gather(
        &self,
        py: Python<'_>,
        data: Data<'_>,
        root: usize,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let own = data.vec()?;
        let call = async move |comm: Rc<Member>| {
            let call = comm.gather(root, own);
            let all = match start {
                true => call.start().wait().await?,
                false => call.await?,
            };
            Ok(all.map_or(Given::Nothing, Given::Several))
        };
        self.call(py, start, None, call)
    }

    #[pyo3(signature = (data, start=false))]
    fn allgather(&self, py: Python<'_>, data: Data<'_>, start: bool) -> PyResult<Py<PyAny>> {
        let own = data.vec()?;
        let call = async move |comm: Rc<Member>| {
            let call = comm.allgather(own);
            Ok(Given::Several(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, None, call)
    }

    #[pyo3(signature = (data, root, start=false))]
    fn scatter(
        &self,
        py: Python<'_>,
        data: Option<Vec<Data<'_>>>,
        root: usize,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let all = data.as_deref().map(vectors).transpose()?;
        let call = async move |comm: Rc<Member>| {
            let call = comm.scatter(root, all);
            Ok(Given::Bytes(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, None, call)
    }

    #[pyo3(signature = (data, start=false))]
    fn alltoall(&self, py: Python<'_>, data: Vec<Data<'_>>, start: bool) -> PyResult<Py<PyAny>> {
        let all = vectors(&data)?;
        let call = async move |comm: Rc<Member>| {
            let call = comm.alltoall(all);
            Ok(Given::Several(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, None, call)
    }

    #[pyo3(signature = (data, op, root, start=false))]
    fn reduce(
        &self,
        py: Python<'_>,
        data: Data<'_>,
        op: Operator,
        root: usize,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (own, (op, raised)) = (data.vec()?, op.combine()?);
        let call = async move |comm: Rc<Member>| {
            let call = comm.reduce(root, own, move |a, b| op.combine(a, b));
            Ok(Given::Perhaps(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, raised, call)
    }

    #[pyo3(signature = (data, op, start=false))]
    fn allreduce(
        &self,
        py: Python<'_>,
        data: Data<'_>,
        op: Operator,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (own, (op, raised)) = (data.vec()?, op.combine()?);
        let call = async move |comm: Rc<Member>| {
            let call = comm.allreduce(own, move |a, b| op.combine(a, b));
            Ok(Given::Bytes(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, raised, call)
    }

    #[pyo3(signature = (data, op, start=false))]
    fn scan(
        &self,
        py: Python<'_>,
        data: Data<'_>,
        op: Operator,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (own, (op, raised)) = (data.vec()?, op.combine()?);
        let call = async move |comm: Rc<Member>| {
            let call = comm.scan(own, move |a, b| op.combine(a, b));
            Ok(Given::Bytes(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, raised, call)
    }

    /// Nothing on the first rank.
    #[pyo3(signature = (data, op, start=false))]
    fn exscan(
        &self,
        py: Python<'_>,
        data: Data<'_>,
        op: Operator,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (own, (op, raised)) = (data.vec()?, op.combine()?);
        let call = async move |comm: Rc<Member>| {
            let call = comm.exscan(own, move |a, b| op.combine(a, b));
            Ok(Given::Perhaps(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, raised, call)
    }

    /// Of the parts of each rank, one for each rank.
    #[pyo3(signature = (data, op, start=false))]
    fn reduce_scatter(
        &self,
        py: Python<'_>,
        data: Vec<Data<'_>>,
        op: Operator,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (parts, (op, raised)) = (vectors(&data)?, op.combine()?);
        let call = async move |comm: Rc<Member>| {
            let call = comm.reduce_scatter(parts, move |a, b| op.combine(a, b));
            Ok(Given::Bytes(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, raised, call)
    }

    /// One part for each neighbour that this rank sends to; what comes from each that it hears from.
    #[pyo3(signature = (data, start=false))]
    fn neighbour_alltoall(
        &self,
        py: Python<'_>,
        data: Vec<Data<'_>>,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let parts = vectors(&data)?;
        let call = async move |comm: Rc<Member>| {
            let ranks = match &*comm {
                Member::Ranks(_) => {
                    let problem = "the communicator has no topology".to_owned();
                    return Err(CommError::Arguments { problem });
                }
                Member::Grid(grid) => grid,
                Member::Graph(graph) => graph,
            };
            let call = ranks.neighbour_alltoall(parts);
            Ok(Given::Neighbours(match start {
                true => call.start().wait().await?,
                false => call.await?,
            }))
        };
        self.call(py, start, None, call)
    }

    /// A communicator of the ranks with this color, in the order of their keys; none without a color.
    fn split(&self, py: Python<'_>, color: Option<usize>, key: isize) -> PyResult<Option<MpiComm>> {
        let make = async move |comm: Rc<Member>| comm.split(color, key).await;
        self.made(py, make, |made| made.map(Rc::new).map(Member::Ranks))
    }

    /// Another communicator of the same ranks.
    fn dup(&self, py: Python<'_>) -> PyResult<Option<MpiComm>> {
        let make = async |comm: Rc<Member>| comm.dup().await;
        self.made(py, make, |made| Some(Member::Ranks(Rc::new(made))))
    }

    /// A communicator of these of its ranks, in this order; none for the others.
    fn create(&self, py: Python<'_>, ranks: Vec<usize>) -> PyResult<Option<MpiComm>> {
        let make = async move |comm: Rc<Member>| {
            let group = comm.group().incl(&ranks)?;
            comm.create(&group).await
        };
        self.made(py, make, |made| made.map(Rc::new).map(Member::Ranks))
    }

    /// A grid; none for the ranks beyond it.
    fn cartesian(
        &self,
        py: Python<'_>,
        dims: Vec<usize>,
        periodic: Vec<bool>,
    ) -> PyResult<Option<MpiComm>> {
        let make = async move |comm: Rc<Member>| comm.cartesian(&dims, &periodic).await;
        self.made(py, make, |made| made.map(Member::Grid))
    }

    /// A graph in which this rank has these neighbours.
    fn graph(
        &self,
        py: Python<'_>,
        sources: Vec<usize>,
        destinations: Vec<usize>,
    ) -> PyResult<Option<MpiComm>> {
        let make = async move |comm: Rc<Member>| comm.graph(&sources, &destinations).await;
        self.made(py, make, |made| Some(Member::Graph(made)))
    }

    /// The dimensions of a grid, and whether they are rings.
    fn grid(&self) -> PyResult<(Vec<usize>, Vec<bool>)> {
        match &*self.member()? {
            Member::Grid(grid) => Ok((grid.dims().to_vec(), grid.periodic().to_vec())),
            _ => Err(no_grid()),
        }
    }

    /// Where a rank of a grid is.
    fn coords(&self, rank: usize) -> PyResult<Vec<usize>> {
        match &*self.member()? {
            Member::Grid(grid) => grid
                .coords(rank)
                .map_err(|error| mpi_error(Fault::Comm(error))),
            _ => Err(no_grid()),
        }
    }

    /// The rank at a place of a grid; none beyond its ends.
    fn rank_at(&self, coords: Vec<isize>) -> PyResult<Option<usize>> {
        match &*self.member()? {
            Member::Grid(grid) if grid.dims().len() == coords.len() => Ok(grid.rank_at(&coords)),
            Member::Grid(grid) => Err(PyValueError::new_err(format!(
                "{} coordinates do not fit {} dimensions",
                coords.len(),
                grid.dims().len()
            ))),
            _ => Err(no_grid()),
        }
    }

    /// Whom this rank of a grid would receive from and send to, so far away in one dimension.
    fn shift(&self, dimension: usize, by: isize) -> PyResult<(Option<usize>, Option<usize>)> {
        match &*self.member()? {
            Member::Grid(grid) if dimension < grid.dims().len() => {
                Ok(grid.cart_shift(dimension, by))
            }
            Member::Grid(grid) => Err(PyValueError::new_err(format!(
                "there is no dimension {dimension}: the grid has {}",
                grid.dims().len()
            ))),
            _ => Err(no_grid()),
        }
    }

    /// The part of a grid that keeps these dimensions.
    fn sub(&self, py: Python<'_>, keep: Vec<bool>) -> PyResult<Option<MpiComm>> {
        let make = async move |comm: Rc<Member>| match &*comm {
            Member::Grid(grid) => grid.sub(&keep).await,
            _ => {
                let problem = "the communicator is no grid".to_owned();
                Err(CommError::Arguments { problem })
            }
        };
        self.made(py, make, |made| Some(Member::Grid(made)))
    }

    /// Whom a rank of a topology receives from, and whom it sends to; none beyond the ends of a grid.
    fn neighbours(&self) -> PyResult<(Vec<Option<usize>>, Vec<Option<usize>>)> {
        let member = self.member()?;
        let ranks = match &*member {
            Member::Grid(grid) => grid,
            Member::Graph(graph) => graph,
            Member::Ranks(_) => return Err(no_grid()),
        };
        Ok((ranks.sources().collect(), ranks.destinations().collect()))
    }
}

fn no_grid() -> PyErr {
    let problem = "the communicator has no such topology".to_owned();
    mpi_error(Fault::Comm(CommError::Arguments { problem }))
}

/// So many ranks as a grid; 0 is a free dimension.
#[pyfunction]
pub(crate) fn dims_create(ranks: usize, dims: Vec<usize>) -> PyResult<Vec<usize>> {
    let cut = motet::comm::dims_create(ranks, &dims);
    cut.map_err(|error| mpi_error(Fault::Comm(error)))
}
