//! What calls of MPI take from Python.

use crate::combine::{ByteOperator, kernel};
use crate::given::Raised;
use motet::comm::{Source, TagMatch};
use numpy::{BorrowError, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::rc::Rc;

/// Bytes that a call takes: an object of Python, or an array of them.
pub(crate) enum CallBytes<'py> {
    Bytes(PyBackedBytes),
    Array(PyReadonlyArray1<'py, u8>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for CallBytes<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if !given.is_instance_of::<PyBytes>()
            && let Ok(array) = given.cast::<PyArray1<u8>>()
        {
            return Ok(CallBytes::Array(array.try_readonly().map_err(in_use)?));
        }
        Ok(CallBytes::Bytes(given.extract::<PyBackedBytes>()?))
    }
}

/// What is raised where an array cannot be used.
pub(crate) fn in_use(error: BorrowError) -> PyErr {
    if !matches!(error, BorrowError::AlreadyBorrowed) {
        return PyErr::from(error);
    }
    PyBufferError::new_err(
        "the array is in use by a call of another rank: ranks of one process share what a module \
         has, so make the arrays of a rank in the function that it runs",
    )
}

impl CallBytes<'_> {
    pub(crate) fn slice(&self) -> PyResult<&[u8]> {
        match self {
            CallBytes::Bytes(bytes) => Ok(bytes),
            CallBytes::Array(array) => Ok(array.as_slice()?),
        }
    }

    pub(crate) fn vec(&self) -> PyResult<Vec<u8>> {
        self.slice().map(<[u8]>::to_vec)
    }
}

/// The bytes of several.
pub(crate) fn vectors(all: &[CallBytes<'_>]) -> PyResult<Vec<Vec<u8>>> {
    all.iter().map(CallBytes::vec).collect()
}

/// Whom to receive from.
pub(crate) fn source(rank: Option<usize>) -> Source {
    rank.map_or(Source::Any, Source::Rank)
}

/// Which tag.
pub(crate) fn tags(tag: Option<u32>) -> TagMatch {
    tag.map_or(TagMatch::Any, TagMatch::Only)
}

/// A function of Python as an operator, or the name of an operator and of a kind of number.
#[derive(FromPyObject)]
pub(crate) enum Operator {
    Named(String, String),
    Function(Py<PyAny>),
}

impl Operator {
    /// How it combines, and where what it raises is noted.
    pub(crate) fn combine(self) -> PyResult<(ByteOperator, Option<Raised>)> {
        Ok(match self {
            Operator::Named(op, kind) => {
                let kernel = kernel(&op, &kind).ok_or_else(|| {
                    PyValueError::new_err(format!("{op} is not defined for numbers of kind {kind}"))
                })?;
                let raised = Raised::default();
                (
                    ByteOperator::Kernel(kernel, Rc::clone(&raised)),
                    Some(raised),
                )
            }
            Operator::Function(function) => {
                let raised = Raised::default();
                (
                    ByteOperator::Function(function, Rc::clone(&raised)),
                    Some(raised),
                )
            }
        })
    }
}
