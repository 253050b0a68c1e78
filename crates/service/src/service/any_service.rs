//! A service whose contract is not known: what directories, manifests and consoles need.

use super::any_call::{AnyUniform, StateJson, call_uniform, change, entered};
use super::any_notification::AnyNotification;
use super::client::Client;
use super::entrance::EnteredOperation;
use super::new_subscription::NewSubscription;
use super::slot::{Common, OperationBody, ServiceSlot};
use super::subscriptions::Sink;
use super::suspension::Suspension;
use crate::json::{Answering, To, from_value, is_same, schema, to_value};
use crate::latency::OperationLatency;
use crate::{
    Contract, Fault, Group, Lifecycle, Operation, Options, Snapshot, Subscribe, SubscriptionInfo,
    Verb,
};
use motet_ports::{Port, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// What Lookup answers with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ServiceInfo {
    /// Where it is.
    pub path: String,
    /// The name of its type.
    pub kind: String,
    /// The name of its contract.
    pub contract: String,
    /// What becomes of it.
    pub lifecycle: Lifecycle,
    /// The version of its state.
    pub version: u64,
    /// The paths of its partners, by their names.
    pub partners: BTreeMap<String, String>,
    /// The operations of its contract.
    pub operations: Vec<OperationInfo>,
    /// Operations that no client calls: those of time, and of what other services tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncalled: Vec<String>,
    /// Its subscriptions.
    pub subscriptions: Vec<SubscriptionInfo>,
    /// The schema of its state.
    pub state: Value,
    /// Whether Replace is allowed.
    #[serde(default)]
    pub replace: bool,
    /// Whether Update by a patch is allowed.
    #[serde(default)]
    pub patch: bool,
}

/// An operation of a contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OperationInfo {
    /// Its name.
    pub name: String,
    /// What it means.
    pub verb: Verb,
    /// When it runs.
    pub group: Group,
    /// Its documentation.
    pub about: String,
    /// Whether it answers with a job.
    pub job: bool,
    /// The schema of its body.
    pub body: Value,
    /// The schema of its answer.
    pub answer: Value,
}

/// How often what has happened at a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ServiceFigures {
    /// Operations that were started.
    pub calls: u64,
    /// Those that ended in a fault.
    pub faults: u64,
    /// Handlers that panicked.
    pub panics: u64,
    /// Answers that nobody waited for any more.
    pub late: u64,
    /// How often it was built anew.
    pub restarts: u64,
    /// Reading operations that wait now.
    pub reads_waiting: usize,
    /// Exclusive operations that wait now.
    pub changes_waiting: usize,
    /// Operations that were refused because too many waited.
    pub refused: u64,
}

/// A slot, whatever its contract.
pub(crate) trait AnyService: Send + Sync {
    fn common(&self) -> &Arc<Common>;
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    fn takes(&self, operation: &str) -> bool;
    /// Whether its contract does not list all of its operations.
    fn is_open(&self) -> bool;
    fn state_schema(&self) -> Value;
    fn operations(&self) -> &'static [Operation];
    /// The subscriptions that are there now.
    fn subscriptions(&self, now: Instant) -> Vec<SubscriptionInfo>;
    /// Whether Replace is allowed, and whether patches are.
    fn lets_set(&self) -> (bool, bool);
    fn call(self: Arc<Self>, operation: &str, body: Value, options: Options) -> Answering;
    /// Calls an operation of the contract.
    fn call_own(self: Arc<Self>, operation: &str, body: Value, options: Options) -> Answering;
    fn get(self: Arc<Self>, options: Options) -> Getting;
    /// A state of its type.
    fn read_state(&self, body: Value) -> Result<Box<dyn Any + Send>, Fault>;
    /// Whether a state that was read is, as JSON, what was sent.
    fn is_as_sent(&self, state: &(dyn Any + Send), sent: &Value) -> bool;
    /// Posts what may be. Until when the answer may take.
    fn post_uniform(&self, what: AnyUniform, to: To<()>, entered: EnteredOperation) -> Instant;
    /// Asks for a subscription. Until when the answer may take.
    fn begin_subscribe(
        &self,
        how: Subscribe,
        port: Port<Arc<AnyNotification>>,
        options: Options,
    ) -> Result<(Instant, Reply<Result<NewSubscription, Fault>>), Fault>;
    fn suspension(&self) -> &dyn Suspension;
    /// Answers whatever still comes with the fault of a service that has ended.
    fn refuse_all(self: Arc<Self>);
}

/// A version, and the state.
type Getting = Pin<Box<dyn Future<Output = Result<(u64, Box<dyn StateJson>), Fault>> + Send>>;

/// Calls a service whose contract is not known, by names and JSON.
///
/// ```
/// # use motet_service::*;
/// # #[data] #[derive(Default)] struct Count { n: u64 }
/// # #[contract(uri = "doc:count/1", state = Count)] trait Counts { #[update] fn add(&mut self, n: u64); }
/// # #[derive(Service)] #[service(contract = Counts, name = "counter")] struct Counter { #[state] count: State<Count> }
/// # impl Counts for Counter { fn add(&mut self, n: u64) { self.count.n += n; } }
/// # let dispatcher = motet_dispatch::Dispatcher::new(1);
/// # motet_ports::wait_blocking(async {
/// let node = Node::builder("here").register::<Counter>().start(&dispatcher)?;
/// node.create(Create::<Counter>::of().at("/count")).await?;
/// let any = node.find("/count")?;
/// any.call("add", 3.into()).await?;
/// assert_eq!(any.call("get", Value::Null).await?["state"]["n"], 3);
/// assert_eq!(any.query("/n").await?, 3);
/// # Ok::<(), Fault>(())
/// # }).unwrap().unwrap();
/// ```
#[derive(Clone)]
pub struct AnyClient(pub(crate) Arc<dyn AnyService>);

impl AnyClient {
    /// What the service is. Its schemas are written for each call: for one operation ask
    /// [`AnyClient::operation`].
    #[must_use]
    pub fn lookup(&self) -> ServiceInfo {
        self.0.info()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.common().path
    }

    /// The name of its contract.
    #[must_use]
    pub fn contract(&self) -> &'static str {
        self.0.common().uri
    }

    /// The JSON Schema of its state, written for each call.
    #[must_use]
    pub fn state_schema(&self) -> Value {
        self.0.state_schema()
    }

    /// The operations of its contract that clients may call, and those that the service has said
    /// [besides](crate::Cx::lists). No schema is written.
    pub fn operations(&self) -> impl Iterator<Item = &'static Operation> {
        let further = self.0.common().further.get().into_iter().flatten();
        let own = self.0.operations().iter().filter(|own| own.called);
        own.chain(further.copied())
    }

    /// The operation of these that has this name.
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<&'static Operation> {
        self.operations().find(|own| own.name == name)
    }

    /// How often what has happened there.
    #[must_use]
    pub fn figures(&self) -> ServiceFigures {
        self.0.figures()
    }

    /// How long its operations take: first all of them together, then each that has been called.
    #[must_use]
    pub fn latencies(&self) -> Vec<OperationLatency> {
        self.0.latencies()
    }

    /// Calls an operation by its name. `get`, `lookup`, `replace`, `patch`, `patch_json`, `save`
    /// and `drop` are there for every service.
    pub fn call(&self, operation: &str, body: Value) -> Answering {
        self.call_with(operation, body, Options::default())
    }

    /// As [`AnyClient::call`], with what a call says beside its body.
    pub fn call_with(&self, operation: &str, body: Value, options: Options) -> Answering {
        Arc::clone(&self.0).call(operation, body, options)
    }

    /// As [`AnyClient::call_with`] of `replace`, `patch` or `patch_json`: the version that the
    /// change has made. `None` if the caller cannot know the state of it: the same key has made the
    /// change before, or the state is not what was sent to replace it, since fields were filled in
    /// or left out. `None`, too, for other operations.
    ///
    /// # Errors
    /// As a call.
    pub async fn change(
        &self,
        operation: &str,
        body: Value,
        options: Options,
    ) -> Result<Option<u64>, Fault> {
        change(&self.0, operation, body, options).await
    }

    /// Get: the version, and the state as the text of JSON, with its fields in the order of its
    /// type. No [`Value`] is made of it.
    ///
    /// # Errors
    /// As a call.
    pub async fn state_text(&self, options: Options) -> Result<(u64, Vec<u8>), Fault> {
        let (version, state) = Arc::clone(&self.0).get(options).await?;
        Ok((version, state.text()?))
    }

    /// Query by JSON Pointer (RFC 6901).
    ///
    /// # Errors
    /// [`UnknownEntry`](crate::FaultCode::UnknownEntry) when there is nothing at `pointer`.
    pub async fn query(&self, pointer: &str) -> Result<Value, Fault> {
        let mut snapshot = self.call("get", Value::Null).await?;
        let state = snapshot["state"].take();
        state.pointer(pointer).cloned().ok_or_else(|| {
            let reason = format!("the state has nothing at {pointer:?}");
            Fault::unknown_entry(reason).of_service(&self.0.common().path)
        })
    }

    /// Has the changes of the state posted to the port that this gives; the number is for
    /// `call("unsubscribe", number)`. When as many wait as may, the subscription ends with `gone`.
    ///
    /// # Errors
    /// As a call.
    pub async fn subscribe(
        &self,
        how: Subscribe,
    ) -> Result<(Value, Port<Arc<AnyNotification>>), Fault> {
        self.subscribe_with(how, Options::default()).await
    }

    /// As [`AnyClient::subscribe`], with what a call says beside its body.
    ///
    /// # Errors
    /// As a call.
    pub async fn subscribe_with(
        &self,
        how: Subscribe,
        options: Options,
    ) -> Result<(Value, Port<Arc<AnyNotification>>), Fault> {
        let port = Port::new();
        let (until, answer) = self.0.begin_subscribe(how, port.clone(), options)?;
        let id = entered(self.0.common(), until, answer).await?;
        Ok((Value::from(id), port))
    }
}

impl<C: Contract> AnyService for ServiceSlot<C> {
    fn common(&self) -> &Arc<Common> {
        &self.common
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn takes(&self, operation: &str) -> bool {
        self.takes_named(operation)
    }

    fn is_open(&self) -> bool {
        C::IS_OPEN
    }

    fn state_schema(&self) -> Value {
        schema::<C::State>()
    }

    fn operations(&self) -> &'static [Operation] {
        C::OPERATIONS
    }

    fn subscriptions(&self, now: Instant) -> Vec<SubscriptionInfo> {
        self.subscriptions.list(now)
    }

    fn lets_set(&self) -> (bool, bool) {
        (C::REPLACE, C::PATCH)
    }

    fn call(self: Arc<Self>, operation: &str, body: Value, options: Options) -> Answering {
        // Those of the attribute have their answer in one box.
        let is_own = |own: &Operation| own.called && own.name == operation;
        let is_by_all = matches!(
            operation,
            "get" | "lookup" | "drop" | "save" | "patch" | "patch_json" | "replace" | "unsubscribe"
        );
        if !is_by_all && C::OPERATIONS.iter().any(is_own) {
            return self.call_own(operation, body, options);
        }
        Box::pin(call_uniform(self, operation.to_owned(), body, options))
    }

    fn call_own(self: Arc<Self>, operation: &str, body: Value, options: Options) -> Answering {
        C::call_named(Client::here(self), operation, body, options)
    }

    fn get(self: Arc<Self>, options: Options) -> Getting {
        let client = Client::here(self);
        Box::pin(async move {
            let Snapshot { version, state } = client.get().with(options).await?;
            Ok((version, Box::new(state) as Box<dyn StateJson>))
        })
    }

    fn read_state(&self, body: Value) -> Result<Box<dyn Any + Send>, Fault> {
        Ok(Box::new(from_value::<C::State>("replace", body)?))
    }

    fn is_as_sent(&self, state: &(dyn Any + Send), sent: &Value) -> bool {
        let written = state.downcast_ref::<C::State>().map(to_value);
        written.is_some_and(|written| written.is_ok_and(|written| is_same(&written, sent)))
    }

    fn post_uniform(&self, what: AnyUniform, to: To<()>, entered: EnteredOperation) -> Instant {
        let what = match what {
            AnyUniform::Replace(state) => {
                let state = state.downcast();
                OperationBody::Replace(state.expect("this service has read it"), to)
            }
            AnyUniform::Patch(patch) => OperationBody::Patch(patch, to),
            AnyUniform::Save => OperationBody::Save(to),
            AnyUniform::Drop => OperationBody::Drop(Some(to)),
            AnyUniform::Unsubscribe(id) => OperationBody::Unsubscribe(id, to),
        };
        self.post_entered(what, entered)
    }

    fn begin_subscribe(
        &self,
        how: Subscribe,
        port: Port<Arc<AnyNotification>>,
        options: Options,
    ) -> Result<(Instant, Reply<Result<NewSubscription, Fault>>), Fault> {
        self.begin_entering(how, Sink::Json(port), options)
    }

    fn suspension(&self) -> &dyn Suspension {
        self
    }

    fn refuse_all(self: Arc<Self>) {
        ServiceSlot::refuse_all(&self);
    }
}

impl fmt::Debug for AnyClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyClient")
            .field("path", &self.0.common().path)
            .finish_non_exhaustive()
    }
}
