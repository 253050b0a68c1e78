//! Services of another node, as Python calls them: bodies and answers are JSON.

use crate::errors::MotetError;
use crate::forked::{Maker, leave};
use crate::waiting::{PendingObject, span};
use motet_http::{Access, RemoteNotification, Watch as OfEvents};
use motet_service::{Fault, Options, Value};
use motet_sync::{Arc, Mutex};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Another node.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Peer {
    /// It is there until the drop.
    peer: Option<motet_http::Peer>,
    maker: Maker,
}

/// What came of a call: whether it was carried out, and its answer or its fault as JSON.
pub(crate) fn outcome(answer: Result<Value, Fault>) -> PyResult<Py<PyAny>> {
    let (is_well, text) = match answer {
        Ok(answer) => (true, answer.to_string()),
        Err(fault) => (false, written(&fault)),
    };
    Python::attach(|py| (is_well, text).into_py_any(py))
}

/// A fault as JSON.
pub(crate) fn written(fault: &Fault) -> String {
    serde_json::to_string(fault).expect("a fault has text and numbers only")
}

/// A body that Python has written as JSON.
pub(crate) fn body(text: &str) -> PyResult<Value> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("the body does not fit JSON: {error}")))
}

#[pymethods]
impl Peer {
    #[new]
    #[pyo3(signature = (url, token=None, ca=None))]
    fn new(url: &str, token: Option<String>, ca: Option<PathBuf>) -> PyResult<Peer> {
        let peer = motet_http::Peer::with(url, &Access::new(token, ca));
        let peer = peer.map_err(|fault| PyValueError::new_err(fault.reason().to_owned()))?;
        Ok(Peer {
            peer: Some(peer),
            maker: Maker::new(),
        })
    }

    /// Calls an operation by its name. `named`: whether the body has arguments by their names, or
    /// is one, if that is known.
    #[allow(
        clippy::too_many_arguments,
        reason = "the one caller names them all, from the parameters of its method"
    )]
    fn call(
        &self,
        path: &str,
        operation: &str,
        json: &str,
        seconds: Option<f64>,
        key: Option<&str>,
        version: Option<u64>,
        named: Option<bool>,
    ) -> PyResult<PendingObject> {
        let peer = self.open()?;
        let mut options = Options::default();
        options.within = seconds.map(span).transpose()?;
        options.key = key.map(Into::into);
        options.if_version = version;
        options.named = named;
        let answer = peer.call(path, operation, body(json)?, options);
        Ok(PendingObject::new(async move { outcome(answer.await) }))
    }

    /// Subscribes to a service.
    fn watch(&self, path: &str, only: Option<&str>, sync: bool) -> PyResult<Watch> {
        let watch = self.open()?.watch(path, only, sync);
        let watch = watch.map_err(|fault| MotetError::new_err(fault.to_string()))?;
        Ok(Watch(Arc::new(Mutex::new(Some(watch)))))
    }
}

impl Peer {
    fn open(&self) -> PyResult<&motet_http::Peer> {
        self.maker.check("Peer")?;
        Ok(self.peer.as_ref().expect("it is there until the drop"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            leave(self.peer.take());
        }
    }
}

/// A subscription.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Watch(Arc<Mutex<Option<OfEvents>>>);

#[pymethods]
impl Watch {
    /// The next notification, as of [`outcome`]; `None` at the end.
    fn next(&self) -> PendingObject {
        let watch = Arc::clone(&self.0);
        PendingObject::new(async move {
            let next = std::future::poll_fn(|context| match &mut *watch.lock() {
                Some(events) => std::pin::pin!(events.next()).poll(context),
                None => std::task::Poll::Ready(None),
            });
            match next.await {
                None => Ok(Python::attach(|py| py.None())),
                Some(told) => outcome(told.map(|told| json(&told))),
            }
        })
    }

    /// Ends it.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().take()));
    }
}

fn json(told: &RemoteNotification) -> Value {
    serde_json::json!({
        "version": told.version,
        "event": told.event,
        "body": told.body,
        "reinstated": told.reinstated,
    })
}
