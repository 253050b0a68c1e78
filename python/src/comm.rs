//! A rank's communicator: objects go as bytes, numbers as they lie in memory.

use crate::own::{Member, OWN, wait};
use motet::comm::{Source, TagMatch};
use motet::{CommError, Communicator};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::rc::Rc;

/// A communicator of a rank: its place in the list of the rank's thread.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Comm {
    pub(crate) place: usize,
    #[pyo3(get)]
    pub(crate) rank: usize,
    #[pyo3(get)]
    pub(crate) size: usize,
}

fn source(rank: Option<usize>) -> Source {
    rank.map_or(Source::Any, Source::Rank)
}

fn tags(tag: Option<u32>) -> TagMatch {
    tag.map_or(TagMatch::Any, TagMatch::Only)
}

/// How numbers are combined.
fn operator<T: PartialOrd + std::ops::Add<Output = T> + std::ops::Mul<Output = T>>(
    name: &str,
) -> PyResult<fn(T, T) -> T> {
    Ok(match name {
        "sum" => |a, b| a + b,
        "prod" => |a, b| a * b,
        "min" => |a, b| if b < a { b } else { a },
        "max" => |a, b| if b > a { b } else { a },
        other => return Err(PyValueError::new_err(format!("no operation {other:?}"))),
    })
}

#[pymethods]
impl Comm {
    fn barrier(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, self.place, async |comm| comm.barrier().await)
    }

    fn send(&self, py: Python<'_>, dest: usize, tag: u32, bytes: Vec<u8>) -> PyResult<()> {
        wait(py, self.place, async move |comm| {
            comm.send(dest, tag, bytes).await
        })
    }

    /// The bytes, who has sent them, and with which tag.
    fn recv<'py>(
        &self,
        py: Python<'py>,
        from: Option<usize>,
        tag: Option<u32>,
    ) -> PyResult<(Bound<'py, PyBytes>, usize, u32)> {
        let (bytes, status) = wait(py, self.place, async move |comm| {
            comm.recv_with_status::<Vec<u8>>(source(from), tags(tag))
                .await
        })?;
        Ok((PyBytes::new(py, &bytes), status.source, status.tag))
    }

    fn sendrecv<'py>(
        &self,
        py: Python<'py>,
        to: (usize, u32),
        bytes: Vec<u8>,
        wanted: (Option<usize>, Option<u32>),
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ((dest, tag), (from, with)) = (to, wanted);
        let came: Vec<u8> = wait(py, self.place, async move |comm| {
            let sent = comm.isend(dest, tag, bytes);
            let came = comm.recv(source(from), tags(with)).await?;
            sent.wait().await?;
            Ok(came)
        })?;
        Ok(PyBytes::new(py, &came))
    }

    fn bcast<'py>(
        &self,
        py: Python<'py>,
        bytes: Option<Vec<u8>>,
        root: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = wait(py, self.place, async move |comm| {
            comm.broadcast(root, bytes).await
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn gather<'py>(
        &self,
        py: Python<'py>,
        bytes: Vec<u8>,
        root: usize,
    ) -> PyResult<Option<Vec<Bound<'py, PyBytes>>>> {
        let all = wait(py, self.place, async move |comm| {
            comm.gather(root, bytes).await
        })?;
        Ok(all.map(|all| each(py, &all)))
    }

    fn allgather<'py>(
        &self,
        py: Python<'py>,
        bytes: Vec<u8>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let all = wait(py, self.place, async move |comm| {
            comm.allgather(bytes).await
        })?;
        Ok(each(py, &all))
    }

    fn scatter<'py>(
        &self,
        py: Python<'py>,
        all: Option<Vec<Vec<u8>>>,
        root: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes: Vec<u8> = wait(py, self.place, async move |comm| {
            comm.scatter(root, all).await
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn alltoall<'py>(
        &self,
        py: Python<'py>,
        all: Vec<Vec<u8>>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let all = wait(py, self.place, async move |comm| comm.alltoall(all).await)?;
        Ok(each(py, &all))
    }

    fn allreduce_floats<'py>(
        &self,
        py: Python<'py>,
        numbers: PyReadonlyArray1<'py, f64>,
        op: &str,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (numbers, op) = (numbers.as_array().to_vec(), operator::<f64>(op)?);
        self.allreduce(py, numbers, op)
    }

    fn allreduce_integers<'py>(
        &self,
        py: Python<'py>,
        numbers: PyReadonlyArray1<'py, i64>,
        op: &str,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (numbers, op) = (numbers.as_array().to_vec(), operator::<i64>(op)?);
        self.allreduce(py, numbers, op)
    }

    /// A communicator of the ranks with this color, in the order of their keys; none without a
    /// color.
    fn split(&self, py: Python<'_>, color: Option<usize>, key: isize) -> PyResult<Option<Comm>> {
        self.made(py, async move |comm| comm.split(color, key).await)
    }

    /// Another communicator of the same ranks.
    fn dup(&self, py: Python<'_>) -> PyResult<Option<Comm>> {
        self.made(py, async |comm| comm.dup().await.map(Some))
    }
}

fn each<'py>(py: Python<'py>, all: &[Vec<u8>]) -> Vec<Bound<'py, PyBytes>> {
    all.iter().map(|bytes| PyBytes::new(py, bytes)).collect()
}

impl Comm {
    fn allreduce<'py, T: motet::comm::Plain + numpy::Element + Default>(
        &self,
        py: Python<'py>,
        numbers: Vec<T>,
        op: fn(T, T) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        let totals = wait(py, self.place, async move |comm| {
            let mut totals = vec![T::default(); numbers.len()];
            comm.allreduce_into(&numbers, &mut totals, op).await?;
            Ok(totals)
        })?;
        Ok(PyArray1::from_vec(py, totals))
    }

    /// The handle on a new communicator.
    fn made<F>(
        &self,
        py: Python<'_>,
        make: impl FnOnce(Rc<Member>) -> F + Send,
    ) -> PyResult<Option<Comm>>
    where
        F: Future<Output = Result<Option<Communicator>, CommError>>,
    {
        // It stays on this thread: only its place in the list leaves the wait.
        wait(py, self.place, async |comm| {
            let Some(made) = make(comm).await? else {
                return Ok(None);
            };
            let (rank, size) = (made.rank(), made.size());
            let place = OWN.with_borrow_mut(|own| {
                let own = own.as_mut()?;
                Some(own.keep(Member::Ranks(Rc::new(made))))
            });
            Ok(place.map(|place| Comm { place, rank, size }))
        })
    }
}
