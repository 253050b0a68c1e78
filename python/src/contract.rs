//! The contract of services that are written in Python: one for all classes, whose operations have
//! names of their own.
//!
//! A call by name asks the service first which operation that is; then it is posted to the group of
//! the operation.

use motet::ports::ReplyPort;
use motet_service::{
    Answering, Client, Contract, ContractClient, Fault, FaultCode, Group, Operation, Options,
    Value, Verb,
};
use pyo3::{Py, PyAny};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

/// The contract.
#[derive(Debug)]
pub(crate) enum Written {}

/// The operations of a class by their names. They stay as long as the process: their names are in
/// notifications.
pub(crate) type Operations = BTreeMap<String, &'static Operation>;

/// An object that serves. Its node keeps it.
pub(crate) type ServingObject = Weak<Py<PyAny>>;

/// What is asked of a service.
#[derive(Clone)]
pub(crate) enum ServiceMessage {
    /// Comes first, and once: the object that serves.
    Serve(ServingObject, Arc<Operations>),
    /// Which operation has this name? Answered with nothing; the operation is left here.
    Find(String, Arc<OnceLock<&'static Operation>>),
    /// The body has arguments by their names, or is one, if that is said.
    Call(&'static Operation, Value, Option<bool>),
}

/// The client.
#[derive(Clone)]
pub(crate) struct ByName(Client<Written>);

static SERVE: Operation = operation("serve", "", Verb::Submit, Group::Exclusive);
static FIND: Operation = operation("find", "", Verb::Query, Group::Concurrent);

/// An operation whose body and answer may be anything.
const fn operation(name: &'static str, about: &'static str, verb: Verb, group: Group) -> Operation {
    Operation {
        name,
        verb,
        group,
        about,
        body: || Value::Bool(true),
        answer: || Value::Bool(true),
        job: false,
        rollback: false,
        // Its handler waits for the interpreter.
        is_async: true,
        number: 0,
        called: true,
    }
}

/// An operation of a class, which changes the state or only reads it.
pub(crate) fn kept(name: &str, about: &str, changes: bool) -> &'static Operation {
    let (verb, group) = match changes {
        true => (Verb::Update, Group::Exclusive),
        false => (Verb::Query, Group::Concurrent),
    };
    let (name, about) = (name.to_owned().leak(), about.to_owned().leak());
    Box::leak(Box::new(operation(name, about, verb, group)))
}

impl Contract for Written {
    const URI: &'static str = "motet:python/1";
    const REPLACE: bool = false;
    const PATCH: bool = false;
    const OPERATIONS: &'static [Operation] = &[];
    const IS_OPEN: bool = true;
    type State = Value;
    type Request = ServiceMessage;
    type Reply = ReplyPort<Result<Value, Fault>>;
    type Outcome = Result<Value, Fault>;
    type Client = ByName;

    fn operation(request: &ServiceMessage) -> &'static Operation {
        match request {
            ServiceMessage::Serve(..) => &SERVE,
            ServiceMessage::Find(..) => &FIND,
            ServiceMessage::Call(operation, ..) => operation,
        }
    }

    fn body(request: &ServiceMessage) -> Result<Value, Fault> {
        Ok(match request {
            ServiceMessage::Call(_, body, _) => body.clone(),
            ServiceMessage::Find(..) | ServiceMessage::Serve(..) => Value::Null,
        })
    }

    fn refuse(reply: Self::Reply, fault: Fault) {
        // An asker that has gone need not know.
        drop(reply.post(Err(fault)));
    }

    fn post(reply: Self::Reply, outcome: Self::Outcome) -> bool {
        reply.post(outcome).is_ok()
    }

    fn post_stored(reply: Self::Reply, value: Value) {
        drop(reply.post(Ok(value)));
    }

    fn fault(outcome: &Self::Outcome) -> Option<&Fault> {
        outcome.as_ref().err()
    }

    fn value(outcome: &Self::Outcome) -> Result<Value, Fault> {
        outcome.clone()
    }

    fn call_named(
        client: Client<Written>,
        operation: &str,
        body: Value,
        options: Options,
    ) -> Answering {
        let (client, name) = (ByName(client), operation.to_owned());
        Box::pin(async move {
            let mut ask = Options::default();
            ask.within = options.within;
            ask.principal.clone_from(&options.principal);
            ask.chain.clone_from(&options.chain);
            let found = Arc::new(OnceLock::new());
            let find = ServiceMessage::Find(name, Arc::clone(&found));
            client.call(find, ask).await?;
            let gone = || Fault::failed("the service has not said which operation that is");
            let operation = *found.get().ok_or_else(gone)?;
            let asked = ServiceMessage::Call(operation, body, options.named);
            client.call(asked, options).await
        })
    }
}

/// The operation of this name.
pub(crate) fn find(operations: &Operations, name: &str) -> Result<&'static Operation, Fault> {
    operations.get(name).copied().ok_or_else(|| {
        let known: Vec<&str> = operations.keys().map(String::as_str).collect();
        let reason = format!(
            "the service has no operation {name:?}; it has {}, and those that all services have",
            known.join(", ")
        );
        Fault::new(FaultCode::ActionNotSupported, reason)
    })
}

impl ByName {
    /// Calls an operation.
    pub(crate) async fn call(
        &self,
        asked: ServiceMessage,
        options: Options,
    ) -> Result<Value, Fault> {
        let call = self.0.call(asked, |to| to, |outcome| outcome);
        call.with(options).await
    }
}

impl ContractClient for ByName {
    type Contract = Written;
}

impl From<Client<Written>> for ByName {
    fn from(client: Client<Written>) -> ByName {
        ByName(client)
    }
}

impl fmt::Debug for ServiceMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({})", Written::operation(self).name)
    }
}
