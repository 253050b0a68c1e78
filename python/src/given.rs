//! Calls of MPI that have begun, and what they end with.

use motet::CommError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

/// What a call ends with.
pub(crate) enum CallResult {
    Nothing,
    Bytes(Vec<u8>),
    Perhaps(Option<Vec<u8>>),
    Several(Vec<Vec<u8>>),
    /// By neighbours, of which some are nobody.
    Neighbours(Vec<Option<Vec<u8>>>),
    /// A message: its bytes, who has sent it, and with which tag.
    Message(Vec<u8>, usize, u32),
}

/// Where a call of Python notes what its function has raised.
pub(crate) type Raised = Rc<RefCell<Option<PyErr>>>;

type Ending = Pin<Box<dyn Future<Output = Result<CallResult, CommError>>>>;

/// A call that has begun, on the thread of its rank.
pub(crate) struct BegunCall {
    pub(crate) future: Ending,
    pub(crate) raised: Option<Raised>,
    /// Whether it can be given up: a receive can, what was sent is not taken back.
    pub(crate) is_receive: bool,
}

impl BegunCall {
    pub(crate) fn new(
        raised: Option<Raised>,
        future: impl Future<Output = Result<CallResult, CommError>> + 'static,
    ) -> BegunCall {
        BegunCall {
            future: Box::pin(future),
            raised,
            is_receive: false,
        }
    }

    /// A call that has ended.
    pub(crate) fn ended_with(given: CallResult) -> BegunCall {
        BegunCall::new(None, std::future::ready(Ok(given)))
    }

    /// The same, also of one that has failed: whoever waits for it is told.
    pub(crate) fn ended_as(outcome: PyResult<CallResult>) -> BegunCall {
        match outcome {
            Ok(given) => BegunCall::ended_with(given),
            Err(error) => BegunCall {
                raised: Some(Rc::new(RefCell::new(Some(error)))),
                ..BegunCall::ended_with(CallResult::Nothing)
            },
        }
    }
}

impl CallResult {
    /// As Python has it.
    pub(crate) fn object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let bytes = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
        Ok(match self {
            CallResult::Nothing | CallResult::Perhaps(None) => py.None(),
            CallResult::Bytes(one) | CallResult::Perhaps(Some(one)) => {
                bytes(one).into_any().unbind()
            }
            CallResult::Several(all) => PyList::new(py, all.into_iter().map(bytes))?
                .into_any()
                .unbind(),
            CallResult::Neighbours(all) => {
                let all = all.into_iter().map(|one| one.map(bytes));
                PyList::new(py, all)?.into_any().unbind()
            }
            CallResult::Message(came, source, tag) => (bytes(came), source, tag)
                .into_pyobject(py)?
                .into_any()
                .unbind(),
        })
    }
}
