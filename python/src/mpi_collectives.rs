//! The collectives of a communicator, as MPI has them: of bytes, which Python cuts out of buffers.
//!
//! Each is carried out at once, or started: then it gives a request.

use crate::given::CallResult;
use crate::mpi_data::{CallBytes, Operator, vectors};
use crate::mpi_handle::CommHandle;
use crate::own::RankCommunicator;
use crate::typed::{self, TypedNumber};
use motet::CommError;
use pyo3::prelude::*;
use std::rc::Rc;

/// What every communicator has.
#[pyclass(frozen, subclass, module = "motet._motet")]
pub(crate) struct MpiCollectives(pub(crate) CommHandle);

/// Waits for a collective, which goes on by itself if it is to be started.
macro_rules! ended {
    ($start:expr, $call:expr) => {
        match $start {
            true => $call.start().wait().await?,
            false => $call.await?,
        }
    };
}

#[pymethods]
impl MpiCollectives {
    #[pyo3(signature = (start=false))]
    fn barrier(&self, py: Python<'_>, start: bool) -> PyResult<Py<PyAny>> {
        let call = async move |comm: Rc<RankCommunicator>| {
            ended!(start, comm.barrier());
            Ok(CallResult::Nothing)
        };
        self.0.call(py, start, None, call)
    }

    #[pyo3(signature = (data, root, start=false))]
    fn bcast(
        &self,
        py: Python<'_>,
        data: Option<CallBytes<'_>>,
        root: usize,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let own = data.as_ref().map(CallBytes::vec).transpose()?;
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.broadcast(root, own);
            let came = ended!(start, call);
            Ok(CallResult::Bytes(came))
        };
        self.0.call(py, start, None, call)
    }

    #[pyo3(signature = (data, root, start=false))]
    fn gather(
        &self,
        py: Python<'_>,
        data: CallBytes<'_>,
        root: usize,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let own = data.vec()?;
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.gather(root, own);
            let all = ended!(start, call);
            Ok(all.map_or(CallResult::Nothing, CallResult::Several))
        };
        self.0.call(py, start, None, call)
    }

    #[pyo3(signature = (data, start=false))]
    fn allgather(&self, py: Python<'_>, data: CallBytes<'_>, start: bool) -> PyResult<Py<PyAny>> {
        let own = data.vec()?;
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.allgather(own);
            Ok(CallResult::Several(ended!(start, call)))
        };
        self.0.call(py, start, None, call)
    }

    #[pyo3(signature = (data, root, start=false))]
    fn scatter(
        &self,
        py: Python<'_>,
        data: Option<Vec<CallBytes<'_>>>,
        root: usize,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let all = data.as_deref().map(vectors).transpose()?;
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.scatter(root, all);
            Ok(CallResult::Bytes(ended!(start, call)))
        };
        self.0.call(py, start, None, call)
    }

    #[pyo3(signature = (data, start=false))]
    fn alltoall(
        &self,
        py: Python<'_>,
        data: Vec<CallBytes<'_>>,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let all = vectors(&data)?;
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.alltoall(all);
            Ok(CallResult::Several(ended!(start, call)))
        };
        self.0.call(py, start, None, call)
    }

    #[pyo3(signature = (data, op, root, start=false))]
    fn reduce(
        &self,
        py: Python<'_>,
        data: CallBytes<'_>,
        op: Operator,
        root: usize,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (own, (op, raised)) = (data.vec()?, op.combine()?);
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.reduce(root, own, move |a, b| op.combine(a, b));
            Ok(CallResult::Perhaps(ended!(start, call)))
        };
        self.0.call(py, start, raised, call)
    }

    #[pyo3(signature = (data, op, start=false))]
    fn allreduce(
        &self,
        py: Python<'_>,
        data: CallBytes<'_>,
        op: Operator,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let own = data.vec()?;
        if let Operator::Named(name, kind) = &op {
            macro_rules! typed {
                ($t:ty) => {
                    if let Some(op) = <$t as TypedNumber>::operator(name) {
                        let call =
                            async move |comm| typed::allreduce::<$t>(comm, own, op, start).await;
                        return self.0.call(py, start, None, call);
                    }
                };
            }
            match kind.as_str() {
                "f8" => typed!(f64),
                "f4" => typed!(f32),
                "i8" => typed!(i64),
                "i4" => typed!(i32),
                _ => {}
            }
        }
        let (op, raised) = op.combine()?;
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.allreduce(own, move |a, b| op.combine(a, b));
            Ok(CallResult::Bytes(ended!(start, call)))
        };
        self.0.call(py, start, raised, call)
    }

    /// As `allreduce`, of two arrays of numpy, where they are; `false` when they are not such that
    /// it can be: then nothing was done.
    fn allreduce_array(
        &self,
        py: Python<'_>,
        numbers: &Bound<'_, PyAny>,
        totals: &Bound<'_, PyAny>,
        op: &str,
    ) -> PyResult<bool> {
        macro_rules! typed {
            ($($t:ty)*) => {$(
                if let Some(op) = <$t as TypedNumber>::operator(op) {
                    let done = typed::with_pair(numbers, totals, |numbers: &[$t], totals| {
                        self.0.wait(py, async |comm| {
                            comm.allreduce_into(numbers, totals, op).await
                        })
                    });
                    if let Some(done) = done {
                        return done.map(|()| true);
                    }
                }
            )*};
        }
        typed!(f64 f32 i64 i32);
        Ok(false)
    }

    #[pyo3(signature = (data, op, start=false))]
    fn scan(
        &self,
        py: Python<'_>,
        data: CallBytes<'_>,
        op: Operator,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (own, (op, raised)) = (data.vec()?, op.combine()?);
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.scan(own, move |a, b| op.combine(a, b));
            Ok(CallResult::Bytes(ended!(start, call)))
        };
        self.0.call(py, start, raised, call)
    }

    /// Nothing on the first rank.
    #[pyo3(signature = (data, op, start=false))]
    fn exscan(
        &self,
        py: Python<'_>,
        data: CallBytes<'_>,
        op: Operator,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (own, (op, raised)) = (data.vec()?, op.combine()?);
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.exscan(own, move |a, b| op.combine(a, b));
            Ok(CallResult::Perhaps(ended!(start, call)))
        };
        self.0.call(py, start, raised, call)
    }

    /// Of the parts of each rank, one for each rank.
    #[pyo3(signature = (data, op, start=false))]
    fn reduce_scatter(
        &self,
        py: Python<'_>,
        data: Vec<CallBytes<'_>>,
        op: Operator,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let (parts, (op, raised)) = (vectors(&data)?, op.combine()?);
        let call = async move |comm: Rc<RankCommunicator>| {
            let call = comm.reduce_scatter(parts, move |a, b| op.combine(a, b));
            Ok(CallResult::Bytes(ended!(start, call)))
        };
        self.0.call(py, start, raised, call)
    }

    /// One part for each neighbour that this rank tells; what comes from each that it hears from.
    #[pyo3(signature = (data, start=false))]
    fn neighbour_alltoall(
        &self,
        py: Python<'_>,
        data: Vec<CallBytes<'_>>,
        start: bool,
    ) -> PyResult<Py<PyAny>> {
        let parts = vectors(&data)?;
        let call = async move |comm: Rc<RankCommunicator>| {
            let ranks = match &*comm {
                RankCommunicator::Ranks(_) => {
                    let problem = "the communicator has no topology".to_owned();
                    return Err(CommError::Arguments { problem });
                }
                RankCommunicator::Grid(grid) => grid,
                RankCommunicator::Graph(graph) => graph,
            };
            let call = ranks.neighbour_alltoall(parts);
            Ok(CallResult::Neighbours(ended!(start, call)))
        };
        self.0.call(py, start, None, call)
    }
}
