//! What a service is to those who write one and to those who call it.
//!
//! - `contract.rs`: what the attribute makes of a trait; `definition.rs`: the trait of services,
//!   their partners;
//! - `slot.rs`: the ports of a service; `batches.rs`: changes that wait;
//! - `client.rs`, `call.rs`: how they are posted to; `any_service.rs`: without knowing the
//!   contract; `standing.rs`: how a service stands;
//! - `admission.rs`: what is looked at before; `direct.rs`: when they need not be posted to;
//! - `cx.rs`: what a handler knows;
//! - `subscriptions.rs`: the subscription manager; `notification.rs`, `any_notification.rs`,
//!   `subscription.rs`: what it tells whom; `new_subscription.rs`: its number, on its way;
//! - `shared.rs`: what the services of a node share; `threads.rs`: the threads that some have for
//!   themselves.

mod admission;
mod any_notification;
mod any_service;
mod batches;
mod call;
mod client;
mod contract;
mod cx;
mod definition;
mod direct;
mod new_subscription;
mod notification;
mod shared;
mod slot;
mod standing;
mod subscription;
mod subscriptions;
mod threads;

pub use any_notification::AnyNotification;
pub use any_service::{AnyClient, OperationInfo, ServiceFigures, ServiceInfo};
pub use call::{Call, Calling};
pub use client::{Client, Remote};
pub use contract::{Contract, ContractClient, Serves};
pub use cx::Cx;
pub use definition::{Partner, Parts, Policy, Service};
pub use notification::{Event, Notification};
pub use subscription::Subscription;

pub(crate) use admission::admit;
pub(crate) use any_service::{AnyService, operations};
pub(crate) use client::timeout;
pub(crate) use contract::{ContractOf, StateOf};
pub(crate) use definition::typed;
pub(crate) use direct::AtOnce;
pub(crate) use new_subscription::NewSubscription;
pub(crate) use shared::NodeShared;
pub(crate) use slot::{Common, Figures, OperationBody, OperationItem, ServiceSlot, SlotOf};
pub(crate) use subscriptions::Entering;
pub(crate) use threads::OwnThreads;

use crate::Fault;
use crate::spec::Spec;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A service whatever its contract.
pub(crate) type Any = Arc<dyn AnyService>;

/// Ends the work of a service from outside, when its node ends.
pub(crate) trait Abandon: Send + Sync {
    fn abandon(&self);
}

/// A service that is being made.
pub(crate) type Making = Pin<Box<dyn Future<Output = Result<Any, Fault>> + Send>>;

/// A type of services, whatever it is.
pub(crate) trait ServiceKind: Send + Sync {
    fn name(&self) -> &'static str;
    fn uri(&self) -> &'static str;
    fn operations(&self) -> Vec<OperationInfo>;
    fn partners(&self) -> Vec<Partner>;
    fn create(&self, shared: &Arc<NodeShared>, spec: Spec) -> Making;
}
