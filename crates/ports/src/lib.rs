//! Ports, receivers and arbiters: from posted items to tasks.
//!
//! The first half of motet's one way through. Items wait in ports. Arbiters see when a condition on
//! ports is met, take the items and make the task that `motet-dispatch` runs.
//!
//! - Depends on: `motet-sync`, `motet-dispatch`; `futures-core`, `futures-sink` (traits only).
//! - Used by: `motet-comm`, `motet-http`, `motet-mesh`, `motet-mesh-zenoh`, `motet-patterns`,
//!   `motet-service`, `motet-counts`, the facade, the command line, the benchmarks.
//!
//! ```text
//!            ┌───────────── Port ─────────────┐
//!  post ───> │ items   [3][2][1]              │   accept
//!            │ receivers  Receive, join, …  ──┼──────────> task ──> DispatcherQueue ──> handler
//!            └────────────────────────────────┘   reject: the item waits
//! ```
//!
//! | to handle … | use | waiting form |
//! |---|---|---|
//! | one item of one port | [`Receive`] | [`Port::recv`] |
//! | … at most so many at a time | [`Receive::at_most`] | |
//! | `n` items of one port | [`MultipleItemReceive`] | |
//! | up to `n` items of one port, after a time | [`MultipleItemReceive::or_after`] | [`Port::recv_up_to`] |
//! | items of several ports: some together, some alone, some last | [`Interleave`] | |
//! | … with state that the handlers share | [`Interleave::with_state`] | |
//! | items of each of several ports | [`JoinedReceive`] | [`join`] |
//! | an item of each of any number of ports of one type | [`MultiplePortReceive`] | |
//! | `n` items of several ports, any mix | [`MultipleItemGather`] | |
//! | … that satisfy a [`guard`] | [`Port::when`], [`Receive::when`] | |
//! | the first of several that can run | [`Choice`] | [`select`] |
//! | nothing: just run | [`FromHandler`] | |
//! | blocks of data, in parallel | [`ParallelLoop`] | the same: its results are awaited |
//! | look without taking | [`Port::test`], [`Port::items`] | [`Port::ready`] |
//! | items of several types, addressed by type | [`PortSet`], [`SharedPortSet`] | |
//! | an answer to one request | [`ReplyPort`] | [`reply`] |
//! | items one by one, with combinators | [`Port::sink`] | [`Port::stream`] |
//! | anything, on a thread that runs no tasks | | [`Port::recv_blocking`], [`wait_blocking`] |
//! | panics | [`ExceptionPort`], for all work under a name [`CausalityPorts`] | |
//! | what a queue's policy does | [`ExecutionPolicyNotificationPort`] | |
//! | time | [`timer::timeout_port`], [`timer::enqueue_timer`] | [`timer::sleep`], [`within`](timer::Deadline::within) |
//!
//! | to post … | use | waiting form |
//! |---|---|---|
//! | to a port without limit | [`Port::post`] | [`Port::post_wait`], for room in the receiver's queue |
//! | to a [bounded](Port::bounded) port | [`Port::post`]: its [`Overflow`] policy decides | [`Port::post_wait`], [`Port::post_blocking`] |
//! | to all who subscribe | [`BroadcastPort::post`] | [`BroadcastPort::post_wait`] |
//!
//! ```
//! use motet_dispatch::{Dispatcher, QueueConfig};
//! use motet_ports::{Port, Receive};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! let dispatcher = Dispatcher::new(2);
//! let queue = dispatcher.queue(QueueConfig::default());
//! let port = Port::new();
//! let sum = Arc::new(AtomicU64::new(0));
//! let adder = Arc::clone(&sum);
//! Receive::persistent(&port, move |n: u64| { adder.fetch_add(n, Ordering::Relaxed); })
//!     .activate(&queue)
//!     .unwrap();
//! (1..=100).for_each(|n| port.post(n).unwrap());
//! dispatcher.wait_idle();
//! assert_eq!(sum.load(Ordering::Relaxed), 5050);
//! ```
//!
//! Read next: [`Port`], then `claim.rs` and `domain.rs`, then one file of `arbiter/`. The first two
//! say how one item gets one taker, and how a join takes several at once.
#![forbid(unsafe_code)]

mod activation;
mod arbiter;
mod blocking;
mod broadcast;
mod causality_ports;
mod claim;
#[cfg(doctest)]
mod compile_fail;
mod deferred;
mod delivery;
mod description;
mod direct_delivery;
mod domain;
mod ending;
mod error;
mod exception_port;
pub mod guard;
mod handle_cache;
mod handler;
mod outlet;
mod parallel_loop;
mod parent;
mod policy_port;
mod port;
mod port_items;
mod port_origin;
mod port_set;
mod predicate;
mod readers;
mod reading;
mod ready;
mod receiver;
mod recv;
mod reply;
mod result_mailbox;
mod select;
mod sink;
mod stamps;
mod stream;
mod tokens;
mod weak_port;

pub mod timer;

#[cfg(all(test, motet_loom))]
mod loom_choice;
#[cfg(all(test, motet_loom))]
mod loom_close;
#[cfg(all(test, motet_loom))]
mod loom_ports;
#[cfg(all(test, motet_shuttle))]
mod shuttle_programs;

pub use activation::{Activation, Active, Attach};
pub use arbiter::{
    ActiveInterleave, After, Batch, Choice, CombineError, EnteredInterleave, Exclusive, Fairness,
    FromHandler, Interleave, IntoMemberSource, IntoPart, IntoPartList, IntoParts, IntoShares,
    JoinInputs, JoinedReceive, MemberSource, MultipleItemGather, MultipleItemReceive,
    MultiplePortReceive, Part, Receive, SentInterleave, SharedState, StatefulInterleave,
};
pub use blocking::{wait_blocking, wait_blocking_for};
pub use broadcast::{Broadcast, BroadcastPort, Subscription};
pub use causality_ports::{CausalityPorts, CoordinateError};
pub use deferred::Keep;
pub use ending::{MayEnd, OrClosed};
pub use error::{BlockingError, Closed, PostAnyError, PostError, PostRefusal};
pub use exception_port::ExceptionPort;
pub use outlet::Outlet;
pub use parallel_loop::{LoopError, LoopRun, ParallelLoop, Schedule};
pub use parent::{LongPass, Pass};
pub use policy_port::ExecutionPolicyNotificationPort;
pub use port::{Overflow, Port, PortConfig, PortCounters, PostWait};
pub use port_set::{
    At, HandlersFor, Holds, PortSet, PortTypes, SharedPortSet, SuccessFailurePort, one_of,
};
pub use ready::Ready;
pub use receiver::{Offer, Receiver, Verdict};
pub use recv::Recv;
pub use reply::{NoReply, Reply, ReplyError, ReplyPort, reply};
pub use select::{Join, Select, join, select};
pub use sink::PortSink;
pub use stream::{PortStream, Until};
pub use weak_port::WeakPort;
