//! Services in the way of DSS: state, uniform operations on it, notifications of its changes,
//! nodes.
//!
//! A service is a state and operations on it, behind an interleave: reads together, changes alone,
//! the end last. A contract is a trait; the receiver of each method decides its group, so the
//! compiler proves that a read changes nothing.
//!
//! - Depends on: `motet-sync`, `motet-dispatch`, `motet-ports`, `motet-comm` (ranks behind an
//!   operation), `motet-mesh`, `motet-service-macros` (the attributes).
//! - Also on: `serde`, `serde_json`, `schemars` (what bodies and states are), `toml` (manifests),
//!   `redb` (a store).
//! - Used by: `motet-http`, the command line, the Python package, the experiments.
//!
//! ```text
//!  call, short, on a worker ───► handler on that thread ─┐
//!  else to the port of its group:                        │               ┌─► subscribers' ports
//!    concurrent, does not wait ──► port ─────────────────┤               │
//!    concurrent, may wait ───────► port ─────────────────┤               │
//!    exclusive, does not wait ───► port, in batches ─────┼─► Interleave ─► state
//!    exclusive, may wait ────────► port ─────────────────┤               │
//!    teardown ───────────────────► port ─────────────────┘               └─► store
//!    independent ────────────────► port ─► handlers without the state
//! ```
//!
//! | to … | use |
//! |---|---|
//! | say what a service can do | [`contract`](macro@contract), [`data`], [`IntoFault`] |
//! | write one | [`Service`](trait@Service), [`State`], [`Cx`] |
//! | run some | [`Node`], [`Create`], manifests ([`Node::load`]) |
//! | call one | the client that the contract has made, [`Client`], [`Call`] |
//! | … without its contract | [`AnyClient`] |
//! | hear of changes | [`Client::subscribe`], [`Subscription`], [`Notification`] |
//! | keep the state | [`Create::persist`], [`Store`]: [`Redb`], [`Folder`], [`Memory`] |
//! | put ranks behind an operation | `#[submit(job)]`, [`Cx::ranks`], [`Ranks::map_reduce`], [`Job`](system::Job) |
//! | call several in an order | [`workflow`] |
//! | see what goes on | the services under `/sys`: [`system`] |
//! | see all of it together | [`robot`] |
//!
//! ```
//! use motet_dispatch::Dispatcher;
//! use motet_service::{Create, Fault, Node, Service, State, Subscribe, contract, data};
//!
//! #[data]
//! #[derive(Default)]
//! struct Account { cents: u64 }
//!
//! #[contract(uri = "doc:account/1", state = Account)]
//! trait Accounts {
//!     #[query] fn balance(&self) -> u64;
//!     #[update] fn deposit(&mut self, cents: u64) -> Result<u64, Fault>;
//! }
//!
//! #[derive(Service)]
//! #[service(contract = Accounts)]
//! struct Till { #[state] account: State<Account> }
//!
//! impl Accounts for Till {
//!     fn balance(&self) -> u64 { self.account.cents }
//!     fn deposit(&mut self, cents: u64) -> Result<u64, Fault> {
//!         self.account.cents += cents;
//!         Ok(self.account.cents)
//!     }
//! }
//!
//! let dispatcher = Dispatcher::new(2);
//! # motet_ports::wait_blocking(async {
//! let node = Node::builder("shop").register::<Till>().start(&dispatcher)?;
//! let till = node.create(Create::<Till>::of().at("/till")).await?;
//! let changes = till.subscribe(Subscribe::all()).await?;
//! assert_eq!(till.deposit(40).await?, 40);
//! assert_eq!(till.deposit(2).key("receipt 17").await?, 42);
//! assert_eq!(till.deposit(2).key("receipt 17").await?, 42, "it is carried out once");
//! assert_eq!(till.get().await?.cents, 42);
//! assert!(matches!(changes.recv().await.operation(), Some(AccountsRequest::Deposit(40))));
//! # node.shutdown().await;
//! # Ok::<(), Fault>(())
//! # }).unwrap().unwrap();
//! ```
//!
//! Read next: `service/contract.rs` (what the attribute makes), `served.rs` (how a service serves),
//! `node.rs`.
#![forbid(unsafe_code)]

// The attributes write `::motet_service`, here too.
extern crate self as motet_service;

mod budget;
#[cfg(doctest)]
mod compile_fail;
mod context;
mod create;
mod deadlines;
mod depth;
mod fault;
#[cfg(test)]
mod fuzz;
mod job;
mod json;
mod keys;
mod latency;
mod lifecycle;
mod manifest;
mod node;
mod operation;
mod options;
mod patch;
mod queue;
mod report;
mod rights;
mod served;
mod service;
mod snapshot;
mod spec;
mod state;
mod store;
mod subscribe;
mod supervise;
mod texts;
mod trace_parent;

#[doc(hidden)]
pub mod macros;
pub mod robot;
pub mod system;
mod weight;
pub mod workflow;

#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;
pub use serde_json::Value;

pub use create::Create;
pub use fault::{Fault, FaultCode};
pub use job::{JobRef, Ranks};
pub use json::Answering;
pub use latency::OperationLatency;
pub use lifecycle::Lifecycle;
pub use motet_service_macros::{IntoFault, Service, contract, data};
pub use node::{Host, Node, NodeBuilder};
pub use operation::{Group, Operation, Verb};
pub use options::Options;
pub use patch::{ChangedEntry, EntryChange};
pub use queue::Queue;
pub use rights::Rights;
pub use service::{
    AnyClient, AnyNotification, Call, Calling, Client, Contract, ContractClient, Cx, Event,
    Notification, OperationInfo, Partner, Parts, Policy, Remote, Serves, Service, ServiceFigures,
    ServiceInfo, Subscription,
};
pub use snapshot::Snapshot;
pub use state::{State, StateRef, StateType};
pub use store::{Folder, Memory, Persist, Redb, Store};
pub use subscribe::{Slow, Subscribe, SubscriptionInfo};
pub use supervise::{Restart, Supervise};
pub use trace_parent::TraceParent;
