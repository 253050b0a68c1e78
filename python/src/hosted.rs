//! A node whose services are objects of Python, and its server.

use crate::contract::{Operations, ServiceMessage, ServingObject, Written, find, kept};
use crate::errors::MotetError;
use crate::forked::{Maker, leave};
use crate::handlers::{Handler, Item, call};
use crate::service::body;
use crate::waiting::{blocked, in_no_handler, seen};
use motet::{Dispatcher, Port, wait_blocking};
use motet_http::{Config, Server};
use motet_service::{
    Create, Cx, Fault, FaultCode, Node as OfServices, Options, Partner, Parts, Serves, Service,
    State, Value,
};
use motet_sync::{Arc, Mutex, thread};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

/// A service whose operations are carried out by an object of Python.
struct Hosted {
    state: State<Value>,
    object: Option<(ServingObject, Arc<Operations>)>,
}

/// What the object says of a call: its answer or its fault as JSON, and its state after it.
type ObjectAnswer = (bool, String, String);

impl Hosted {
    fn object(&self) -> Result<&(ServingObject, Arc<Operations>), Fault> {
        self.object.as_ref().ok_or_else(|| {
            let fault = Fault::new(FaultCode::Unavailable, "the service is being started");
            fault.retry_after(Duration::from_millis(10))
        })
    }

    /// Has the object carry out an operation; also the state that it has now.
    async fn carry_out(
        &self,
        name: &str,
        body: &Value,
        named: Option<bool>,
    ) -> (Result<Value, Fault>, Option<Value>) {
        let told = match self.object() {
            Ok((object, _)) => asked(object.clone(), name, body.to_string(), named).await,
            Err(fault) => Err(fault),
        };
        match told {
            Ok((is_well, text, state)) => (read(is_well, &text), serde_json::from_str(&state).ok()),
            Err(fault) => (Err(fault), None),
        }
    }
}

async fn asked(
    object: ServingObject,
    name: &str,
    text: String,
    named: Option<bool>,
) -> Result<ObjectAnswer, Fault> {
    let failed = |error: PyErr| Fault::failed(error.to_string());
    // The object is taken with the interpreter: see `Node::__traverse__`.
    let begun = Python::try_attach(|py| -> PyResult<Option<(Handler, Vec<Item>)>> {
        let Some(object) = object.upgrade() else {
            return Ok(None);
        };
        let (name, text) = (name.into_py_any(py)?, text.into_py_any(py)?);
        let arguments = vec![name, text, named.into_py_any(py)?];
        Ok(Some((object, arguments)))
    });
    let begun = begun.ok_or_else(|| Fault::failed("the interpreter has ended"))?;
    let gone = || Fault::new(FaultCode::Gone, "the node of the service has been freed");
    let (object, arguments) = begun.map_err(failed)?.ok_or_else(gone)?;
    let given = call(object, arguments).await;
    let given = given.map_err(failed)?;
    let told = Python::try_attach(|py| given.extract::<ObjectAnswer>(py));
    let told = told.ok_or_else(|| Fault::failed("the interpreter has ended"))?;
    told.map_err(failed)
}

/// An answer, or a fault.
fn read(is_well: bool, text: &str) -> Result<Value, Fault> {
    let unfit = |error: serde_json::Error| Fault::failed(format!("no answer in JSON: {error}"));
    match is_well {
        true => serde_json::from_str(text).map_err(unfit),
        false => Err(serde_json::from_str::<Fault>(text).map_err(unfit)?),
    }
}

impl Service for Hosted {
    type Contract = Written;
    const NAME: &'static str = "python";
    const MANY: bool = false;
    const LISTED: bool = true;

    fn partners() -> Vec<Partner> {
        Vec::new()
    }

    fn build(mut parts: Parts<Written>) -> Result<Self, Fault> {
        Ok(Hosted {
            state: parts.take_state(),
            object: None,
        })
    }

    fn state(&self) -> &State<Value> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State<Value> {
        &mut self.state
    }

    async fn start(&mut self, _: &Cx) -> Result<(), Fault> {
        Ok(())
    }

    async fn stop(self, _: &Cx) {}
}

impl Serves<Hosted> for Written {
    async fn concurrent(service: &Hosted, _: &Cx, request: ServiceMessage) -> Result<Value, Fault> {
        match request {
            ServiceMessage::Find(name, found) => {
                let operation = find(&service.object()?.1, &name)?;
                found.get_or_init(|| operation);
                Ok(Value::Null)
            }
            ServiceMessage::Call(operation, body, named) => {
                service.carry_out(operation.name, &body, named).await.0
            }
            ServiceMessage::Serve(..) => Err(elsewhere()),
        }
    }

    async fn exclusive(
        service: &mut Hosted,
        cx: &Cx,
        request: ServiceMessage,
    ) -> Result<Value, Fault> {
        match request {
            ServiceMessage::Serve(object, operations) => {
                cx.lists(operations.values().copied().collect());
                service.object = Some((object, operations));
                Ok(Value::Null)
            }
            ServiceMessage::Call(operation, body, named) => {
                let (answer, state) = service.carry_out(operation.name, &body, named).await;
                if let Some(state) = state.filter(|state| *state != *service.state) {
                    service.state.set(state);
                }
                answer
            }
            ServiceMessage::Find(..) => Err(elsewhere()),
        }
    }

    async fn teardown(_: Hosted, _: &Cx, _: ServiceMessage) -> Result<Value, Fault> {
        Err(elsewhere())
    }

    async fn independent(_: &Cx, _: ServiceMessage) -> Result<Value, Fault> {
        Err(elsewhere())
    }

    fn beats() -> Vec<(Duration, ServiceMessage)> {
        Vec::new()
    }
}

fn elsewhere() -> Fault {
    Fault::failed("the operation is not of this group")
}

/// A node that answers by HTTP.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Node {
    running: Mutex<Option<Running>>,
    /// What it serves, while it is to serve. The services themselves keep none of it.
    objects: Mutex<Option<Vec<Handler>>>,
    /// Whether it has ended well, from its end on.
    ended: Port<bool>,
    /// Where it answers.
    #[pyo3(get)]
    url: String,
    maker: Maker,
}

struct Running {
    server: Server,
    node: OfServices,
    dispatcher: Dispatcher,
}

#[pymethods]
impl Node {
    #[new]
    fn new(name: &str, listen: &str, threads: usize) -> PyResult<Node> {
        let address = Config::address(listen).map_err(|_| {
            PyValueError::new_err(format!(
                "listen is {listen:?}; write an address such as 127.0.0.1:50000"
            ))
        })?;
        if !address.ip().is_loopback() {
            return Err(PyValueError::new_err(format!(
                "listen is {listen:?}: this node asks nobody who calls, so only its own machine may: \
                 listen on 127.0.0.1:0 or [::1]:0, and put a proxy before it that asks"
            )));
        }
        let failed = |error: String| MotetError::new_err(error);
        let dispatcher = Dispatcher::new(threads);
        let node = OfServices::builder(name).register::<Hosted>();
        let node = node.start(&dispatcher);
        let node = node.map_err(|fault| failed(fault.to_string()))?;
        let server = Server::start(&node, Config::at(address));
        let server = server.map_err(|error| failed(error.to_string()))?;
        let url = format!("http://{}", server.address());
        let running = Mutex::new(Some(Running {
            server,
            node,
            dispatcher,
        }));
        Ok(Node {
            running,
            objects: Mutex::new(Some(Vec::new())),
            ended: Port::new(),
            url,
            maker: Maker::new(),
        })
    }

    /// Serves an object at a path: `object(operation, body, named)` carries out what is asked.
    /// Operations are names, documentation, and whether they change the state.
    fn add(
        &self,
        py: Python<'_>,
        path: String,
        object: Py<PyAny>,
        operations: Vec<(String, String, bool)>,
        state: &str,
    ) -> PyResult<()> {
        self.maker.check("Node")?;
        let node = self
            .running
            .lock()
            .as_ref()
            .map(|running| running.node.clone());
        let node = node.ok_or_else(|| MotetError::new_err("the node has been closed"))?;
        if self.objects.lock().is_none() {
            let reason = "the node has been freed, and what had it came back: make another";
            return Err(MotetError::new_err(reason));
        }
        if Server::answers_at(&path) {
            return Err(MotetError::new_err(format!(
                "the node answers at {path} itself; give the service another path"
            )));
        }
        let state = body(state)?;
        let operations = operations.iter().map(|(name, about, changes)| {
            let operation = kept(name, about, *changes);
            (name.clone(), operation)
        });
        let object = Arc::new(object);
        let serving = Arc::downgrade(&object);
        let asked = ServiceMessage::Serve(serving, Arc::new(operations.collect()));
        let mut created = pin!(async move {
            let service = Create::<Hosted>::of().at(&path).state(&state);
            let client = node.create(service).await?;
            client.call(asked, Options::default()).await
        });
        let created: Result<Value, Fault> = blocked(py, None, created.as_mut())?;
        created.map_err(|fault| MotetError::new_err(fault.to_string()))?;
        if let Some(objects) = &mut *self.objects.lock() {
            objects.push(object);
        }
        Ok(())
    }

    /// Shows Python's garbage collector what the node alone keeps. An object that is being called
    /// is kept by its call, which takes it with the interpreter: none begins while this looks.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nobody has the lock for longer than the interpreter.
        let Some(objects) = self.objects.try_lock() else {
            return Ok(());
        };
        for object in objects.iter().flatten() {
            if Arc::strong_count(object) == 1 {
                visit.call(&**object)?;
            }
        }
        Ok(())
    }

    /// Nobody has the node any more, nor what it serves: its drop ends it.
    fn __clear__(&self) {
        self.release();
    }

    /// Begins no call any more: nobody has the node. The collector asks for this before it empties
    /// anything, and may empty what is served before it comes to the node. It asks once only, also
    /// where a destructor of Python gives the node to somebody again.
    fn forget(&self) {
        self.release();
    }

    /// Answers no more, and ends the services. One that is being closed is waited for.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.maker.is_here() {
            // What the other process has made is its own.
            return Ok(());
        }
        in_no_handler(
            "Node.close waits for the operations, and this is one, or a handler: call it on \
             another thread",
        )?;
        let running = self.running.lock().take();
        if let Some(running) = running {
            self.begin_end(running)?;
        }
        let is_well = seen(py, &self.ended)?;
        self.release();
        match is_well {
            true => Ok(()),
            false => Err(MotetError::new_err(
                "the node has not ended as it should: see standard error",
            )),
        }
    }
}

impl Node {
    /// Keeps nothing of what it serves any more, and takes nothing that it would serve.
    fn release(&self) {
        let objects = self.objects.lock().take();
        // Outside the lock: what is freed runs code of Python.
        drop(objects);
    }

    /// Ends it on a thread that may wait for the services.
    fn begin_end(&self, running: Running) -> PyResult<()> {
        let tell = self.ended.clone();
        let body = move || {
            let ended = catch_unwind(AssertUnwindSafe(|| end(running)));
            // Nobody closes the port.
            let _ = tell.post(ended.is_ok());
        };
        let started = thread::spawn_named("motet-end", body);
        started.map(drop).map_err(|error| {
            let _ = self.ended.post(false);
            MotetError::new_err(error.to_string())
        })
    }
}

fn end(running: Running) {
    // Not on a thread of the dispatcher: what is left then ends with it. The services end first:
    // who has subscribed is told.
    let _ = wait_blocking(running.node.shutdown());
    running.server.stop();
    drop(running.node);
    running
        .dispatcher
        .drain()
        .into_iter()
        .for_each(motet::Task::cleanup);
}

impl Drop for Node {
    fn drop(&mut self) {
        let running = self.running.lock().take();
        if !self.maker.is_here() {
            return leave(running);
        }
        // First: the collector may empty them next, and what is empty must not be called.
        self.release();
        if let Some(running) = running {
            // This may be a thread of it.
            drop(thread::spawn_named("motet-end", || end(running)));
        }
    }
}
