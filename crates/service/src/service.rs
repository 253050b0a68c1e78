//! What a service is to those who write one and to those who call it.
//!
//! - `contract.rs`: what the attribute makes of a trait; `definition.rs`: the trait of services,
//!   their partners;
//! - `slot.rs`: the ports of a service; `batches.rs`: changes that wait;
//! - `client.rs`, `call.rs`, `calling.rs`: how they are posted to; `any_service.rs`,
//!   `any_call.rs`: without knowing the contract; `remote.rs`: in another process; `standing.rs`:
//!   how a service stands; `calling_service.rs`: what stands for it where its handlers call;
//! - `admission.rs`, `entrance.rs`: what is looked at before; `direct.rs`, `lengths.rs`: whether
//!   they need not be posted to; `run_now.rs`, `one_way.rs`: how they are called then;
//!   `suspension.rs`: what waits although it could begin;
//! - `cx.rs`: what a handler knows; `refusal.rs`: what comes when the service has ended;
//! - `subscriptions.rs`: the subscription manager; `notification.rs`, `any_notification.rs`,
//!   `subscription.rs`: what it tells whom; `new_subscription.rs`: its number, on its way;
//! - `shared.rs`: what the services of a node share; `reporting.rs`: who is told what happens;
//!   `places.rs`: the paths of those that are there; `dependents.rs`: who has whom as a partner;
//!   `threads.rs`: the threads that some have for themselves.

mod admission;
mod any_call;
mod any_notification;
mod any_service;
mod batches;
mod call;
mod calling;
mod calling_service;
mod client;
mod contract;
mod cx;
mod definition;
mod dependents;
mod direct;
mod entrance;
mod lengths;
mod new_subscription;
mod notification;
mod one_way;
mod places;
mod refusal;
mod remote;
mod reporting;
mod run_now;
mod shared;
mod slot;
mod standing;
mod subscription;
mod subscriptions;
mod suspension;
mod threads;

pub use any_notification::AnyNotification;
pub use any_service::{AnyClient, OperationInfo, ServiceFigures, ServiceInfo};
pub use call::Call;
pub use calling::Calling;
pub use client::Client;
pub use contract::{Contract, ContractClient, Serves};
pub use cx::Cx;
pub use definition::{Partner, Parts, Policy, Service};
pub use notification::{Event, Notification};
pub use remote::Remote;
pub use subscription::Subscription;

pub(crate) use any_call::operations;
pub(crate) use any_service::AnyService;
pub(crate) use client::{no_answer, timeout};
pub(crate) use contract::{ContractOf, StateOf};
pub(crate) use definition::typed;
pub(crate) use direct::RestOfHandler;
pub(crate) use direct::{AtOnce, BegunHandler, BegunOr, GotState, Nested, NotRun, ServesAtOnce};
pub(crate) use lengths::HandlerLengths;
pub(crate) use new_subscription::NewSubscription;
pub(crate) use shared::NodeShared;
pub(crate) use slot::{
    Common, Figures, OperationBody, OperationItem, OwnStep, ServiceSlot, SlotOf, UNIFORM,
};
pub(crate) use subscriptions::Entering;
pub(crate) use threads::OwnThreads;

use crate::Fault;
use crate::spec::Spec;
use crate::store::{Persist, StoreWriter};
use crate::supervise::Supervision;
use motet_sync::Mutex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A service whatever its contract.
pub(crate) type Any = Arc<dyn AnyService>;

/// A service at work, whatever its type.
pub(crate) trait AnyServed: Send + Sync {
    /// Makes the service, runs its start, and begins to serve.
    fn begin(self: Arc<Self>) -> Beginning;

    /// Ends its work from outside, when its node ends.
    fn abandon(&self);

    /// Has it do this when nothing else of it runs.
    fn post_own(&self, step: OwnStep);
}

/// A service that begins.
pub(crate) type Beginning = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send>>;

/// A service that is being made.
pub(crate) type Making = Pin<Box<dyn Future<Output = Result<Any, Fault>> + Send>>;

/// A slot, and what makes it serve.
pub(crate) type NewSlot = (Any, Serving);

/// Has a slot serve by what the service is built of, and what keeps its own threads.
pub(crate) type Serving =
    Box<dyn FnOnce(ServicePlan, Option<Arc<OwnThreads>>) -> Arc<dyn AnyServed> + Send>;

/// What a service is built of, again and again.
pub(crate) struct ServicePlan {
    pub(crate) initial: Option<Value>,
    pub(crate) partners: BTreeMap<String, Any>,
    pub(crate) persist: Option<(Persist, Arc<StoreWriter>)>,
    pub(crate) supervision: Mutex<Supervision>,
    pub(crate) start_within: Duration,
}

/// A type of services, whatever it is.
pub(crate) trait ServiceKind: Send + Sync {
    fn name(&self) -> &'static str;
    fn uri(&self) -> &'static str;
    /// Whether there may be several.
    fn is_many(&self) -> bool;
    /// Whether the directory shows it.
    fn is_listed(&self) -> bool;
    fn operations(&self) -> Vec<OperationInfo>;
    fn partners(&self) -> Vec<Partner>;
    fn slot(&self, common: Common) -> NewSlot;
    /// How many operations its contract has.
    fn operation_count(&self) -> usize;
    fn create(&self, shared: &Arc<NodeShared>, spec: Spec) -> Making;
}
