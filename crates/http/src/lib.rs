//! Services of a node by HTTP: a server for a node, and a client whose calls are those of a client
//! in the process.
//!
//! - Depends on: `motet-service` (nodes), `motet-ports`, `motet-sync`; `hyper`, `tokio` (one thread
//!   for a peer's connections; one for the server, and a second for when that is blocked).
//! - Used by: the program `motet`, the Python package, the experiments.
//!
//! ```text
//!   connection ─► Host, Origin ─► limits ─► path ─► AnyClient ─► ports of the service, or,
//!                                                                if it is brief, its handler
//! ```
//!
//! | URL | does |
//! |---|---|
//! | `GET /drive` | Get; its `ETag` is the version; `If-None-Match` |
//! | `GET /drive?at=/left`, `GET /drive/left` | Query by JSON Pointer |
//! | `PUT /drive`, `PATCH /drive` | Replace; Update by merge patch or JSON Patch; `If-Match`, `ETag` |
//! | `POST`, `PUT`, `PATCH`, `DELETE /drive/FIELD/KEY` | Insert, Upsert, Update, Delete of an entry |
//! | `DELETE /words?body=ant` | Delete, where the contract has one operation that deletes |
//! | `GET`, `POST /drive/-/pose` | an operation by its name: those that read by GET, all by POST |
//! | `OPTIONS /drive`, `GET /drive/-/lookup` | Lookup |
//! | `POST /drive` | an operation as a SOAP envelope of DSSP |
//! | `POST /drive/-/drop` | Drop |
//! | `GET /drive/-/events?type=update&sync=1` | Subscribe: events as a stream; `Last-Event-ID` resumes |
//! | `GET /events?of=/a,/b` | Subscribe to several services: one stream of the events of all |
//! | `/console/` | a page that shows all of it |
//! | `/`, `/openapi.json`, `/metrics`, `/healthz`, `/readyz` | the node |
//!
//! The `type` of events is the name of an operation, or a verb in lower case, for all operations of
//! that verb. Without one all are told; one of which the service never tells is refused.
//!
//! Bodies are JSON, or CBOR by `Content-Type` and `Accept`. A call may say `Motet-Timeout`
//! (milliseconds), `Idempotency-Key`, and `Motet-Capture: 1` (`/sys/debug` keeps it). It may say
//! `Motet-Body: fields` or `argument` where a service, as one of Python, takes arguments by their
//! names or one that may be an object. A [`Peer`] says `Motet-Chain`, too: the services that wait
//! for the call, to which it must not come back. `traceparent` goes with the calls that the handler
//! makes. A fault is `application/problem+json` (RFC 9457), whose member `fault` is the fault
//! itself. Its status says whether another try may help: 503 comes with `Retry-After`, and was not
//! carried out.
//!
//! ```
//! use motet_dispatch::Dispatcher;
//! use motet_http::{Config, Peer, Server};
//! use motet_service::{Create, Fault, Node, Service, State, contract, data};
//!
//! #[data]
//! #[derive(Default)]
//! struct Account { cents: u64 }
//!
//! #[contract(uri = "doc:account/1", state = Account)]
//! trait Accounts {
//!     #[update] fn deposit(&mut self, cents: u64) -> u64;
//! }
//!
//! #[derive(Service)]
//! #[service(contract = Accounts)]
//! struct Till { #[state] account: State<Account> }
//!
//! impl Accounts for Till {
//!     fn deposit(&mut self, cents: u64) -> u64 { self.account.cents += cents; self.account.cents }
//! }
//!
//! let dispatcher = Dispatcher::new(2);
//! # motet_ports::wait_blocking(async {
//! let node = Node::builder("shop").register::<Till>().start(&dispatcher)?;
//! node.create(Create::<Till>::of().at("/till")).await?;
//! let server = Server::start(&node, Config::at(([127, 0, 0, 1], 0).into())).unwrap();
//!
//! let peer = Peer::at(&format!("http://{}", server.address()))?;
//! let till: AccountsClient = peer.client("/till");
//! assert_eq!(till.deposit(40).await?, 40);
//! assert_eq!(till.deposit(2).key("receipt 17").await?, 42);
//! assert_eq!(till.deposit(2).key("receipt 17").await?, 42, "it is carried out once");
//! assert_eq!(till.get().await?.version, 2);
//! # Ok::<(), Fault>(())
//! # }).unwrap().unwrap();
//! ```
//!
//! Read next: `server.rs` (its threads), `connection.rs`, `answer.rs` (who may ask, and what),
//! `resource.rs` (a service), `standby.rs` (a handler that blocks), `peer.rs` (the other side).
#![forbid(unsafe_code)]

mod accept;
mod access;
mod answer;
mod body;
mod caller;
mod cbor;
mod config;
mod connection;
mod console;
mod content;
mod counts;
#[cfg(feature = "dssp")]
mod dssp;
mod events;
#[cfg(test)]
mod fuzz;
mod headers;
mod heads;
mod jitter;
#[cfg(feature = "tls")]
mod keys;
#[cfg(not(feature = "tls"))]
mod keys_absent;
mod lines;
mod metrics;
mod openapi;
mod part;
mod peer;
mod problem;
mod resource;
mod retry;
mod server;
mod several;
mod site;
mod standby;
mod target;
#[cfg(feature = "dssp")]
mod told;
mod wakes;
mod watch;
mod weight;
mod writes;

#[cfg(not(feature = "tls"))]
use keys_absent as keys;

pub use access::Access;
pub use config::{Config, Limits, StartError};
#[cfg(feature = "tls")]
pub use keys::{Keys, KeysError};
pub use peer::Peer;
pub use server::Server;
pub use watch::{RemoteNotification, Watch};
