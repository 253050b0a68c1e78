//! Publish-subscribe: a topic is a port on other nodes, and who loses a sample is told.
//!
//! ```text
//!   publisher                                      subscriber
//!   Topic::publish ─► queue for each ─ credit ─►   numbers ─► Port ─► Receive, join, select …
//!                     subscriber     ◄─ accepted ─
//!                └───────────────── Carrier ─────────────────┘    inside one node: no bytes
//! ```
//!
//! - **Depends on**: `motet-ports`, `motet-dispatch`, `motet-sync`; `serde` and `postcard` for what
//!   crosses a link; `crc32fast` for what lies on a disk.
//! - **Used by**: the facade, `motet-service`, `motet-mesh-zenoh`, the experiments.
//!
//! | you want … | use |
//! |---|---|
//! | each subscriber to have the newest | [`Qos::latest`] |
//! | all samples, while the link lives | [`Qos::reliable`] |
//! | all samples, also over broken links | [`Qos::acknowledged`] |
//! | all samples on the disk first, and later subscribers to get them | [`Qos::durable`], [`Node::durable_topic`], [`StartFrom`] |
//! | late subscribers to get the last samples | [`Qos::retaining`] |
//! | samples in a handler, a join or a choice | [`Subscription::port`] |
//! | one answer to one question | [`Node::call`], [`Node::serve`] |
//! | items of ports of several nodes and of this one, all or none | [`Node::export`], [`RemotePort`], [`take_all`] |
//! | an item of the first of them that has one | [`take_first`] |
//! | values that survive the members that hold them, rooms, presence | [`Overlay`] |
//! | members that may do some things only | [`MeshRights`] |
//! | to know who is there | [`Node::peers`], [`Node::peer_changes`] |
//! | to try a program under delays, cuts and restarts | [`SimulatedNetwork`] |
//!
//! Read next: [`Node`] (an example), `outgoing.rs` and `incoming.rs` (the two halves of a flow),
//! `publishing.rs`, `subscribed.rs`, `core.rs`, `listening.rs`, `arrivals.rs`; of durable topics
//! `log.rs`, `publishing/durable.rs`, `subscribed/logs.rs`.
#![forbid(unsafe_code)]

mod arrivals;
mod caller;
mod calling;
mod calls;
mod carrier;
mod core;
mod enough;
mod error;
mod export;
mod flow;
mod frame;
mod held;
mod here_or_queued;
#[cfg(test)]
mod hostile;
mod incoming;
mod info;
mod key;
mod listening;
mod local_part;
mod log;
mod node;
mod outgoing;
mod overlay;
mod peers;
mod publishing;
mod qos;
mod remote_port;
mod rights;
mod sample;
mod simulated;
mod start_from;
mod step;
mod subscribe_config;
mod subscribed;
mod subscription;
mod take_error;
mod taking;
mod topic;
mod under;
mod unwinding;

pub use calling::Server;
pub use calls::Request;
pub use carrier::{Carrier, CarrierError, CarrierEvent, FramePriority, Frames, PeerName};
pub use core::MAX_ENTRIES;
pub use error::{CallError, MeshError, NotAllowed, PublishError, PublishRefusal};
pub use export::PortExport;
pub use frame::MAX_FRAME;
pub use info::{PeerInfo, SubscriberInfo, SubscriptionInfo, TopicInfo};
pub use key::{Key, KeyError, MAX_KEY, MAX_PARTS};
pub use log::{LogConfig, LogError, LogInfo};
pub use node::Node;
pub use overlay::{
    MAX_VALUE, Member, MemberChange, Overlay, OverlayConfig, OverlayError, PutOutcome, Room,
    Version,
};
pub use peers::PeerChange;
pub use publishing::{Lost, Published};
pub use qos::{Class, Gap, Qos};
pub use remote_port::{RemoteBatch, RemotePort};
pub use rights::{Deed, MeshRights};
pub use sample::Sample;
pub use simulated::{LinkConfig, SimulatedNetwork};
pub use start_from::StartFrom;
pub use subscribe_config::{Ack, SubscribeConfig};
pub use subscription::Subscription;
pub use take_error::TakeError;
pub use taking::{TakeChoice, TakePart, TakeParts, take_all, take_first};
pub use topic::Topic;
