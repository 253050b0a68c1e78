//! One messaging runtime for every way of being parallel.
//!
//! Message-driven handlers and MPI-style ranks run on the same core, and data mining stands on top
//! of it. This crate is the front door: it re-exports the crates below it.
//!
//! - Depends on: the crates it re-exports. Used by: your program, the command line, the C library,
//!   the Python package.
//!
//! ```text
//!  post ──► Port ──► Receiver ──► Arbiter ──► DispatcherQueue ──► Dispatcher ──► handler ──► post …
//!
//!  World::threads(8).run(async |comm| …)     ranks: tasks with a home thread that wait for messages
//!  Annealing { .. }.fit(&comm, &points)      algorithms: written for ranks, run on any number
//! ```
//!
//! | you have … | you want | example |
//! |---|---|---|
//! | events, requests, a graph of steps | [`Port`], [`Receive`], [`JoinedReceive`], [`Choice`] | `hello_port`, `word_count`, `philosophers`, `choice` |
//! | state that handlers share | [`Interleave::with_state`] | `bank` |
//! | questions that want an answer | [`reply`], [`ReplyPort`] | `request_reply`, `with_tokio` |
//! | work on many threads that belongs together | [`Causality`] | `causality` |
//! | one loop over much data, in parallel | [`World`], [`Communicator`] | `hello_ranks`, `heat` |
//! | … on several processes and machines | [`Current`]: `World::current()` | `hello_ranks` under `motet run` |
//! | several programs that exchange while they run | [`Program::split`], `motet run -m 1 ./a : -m 2 ./b` | `coupled` |
//! | a grid of cells whose edges are others' too | [`Ring`](comm::Ring), [`Line`](comm::Line), [`Cartesian`](comm::Cartesian) | `patterns`, `life`, `automaton`, `jacobi` |
//! | data that all must exchange, or see once | [`alltoall`](Communicator::alltoall), [`Ring`](comm::Ring), [`sub`](comm::Cartesian::sub) | `sample_sort`, `nbody`, `matmul` |
//! | numbers that other ranks read and write without you | [`window::Window`] | `window_counter`, `window_halo` |
//! | one file of numbers that all ranks write | [`files::Draft`], [`files::Stored`] | `window_halo` |
//! | a program whose ranks wait, and you ask for whom | [`tell_why`], `motet run --why` | |
//! | a program that fails once in a while | [`Replay`]: the order of a seed, virtual time; ranks: [`World::replayed`] | `replay`, `replayed_ranks` |
//! | one loop over blocks, on the threads of a queue | [`ParallelLoop`] | `parallel_loop` |
//! | items that all who subscribe shall get | [`BroadcastPort`] | `readings` |
//! | samples that other nodes shall get | [`mesh::Topic`] | `publish_subscribe` |
//! | … as messages to a rank | [`Deliver`] | `six_models` |
//! | points to cluster | [`mining::Annealing`] | `cluster` |
//! | a tree to search, with a bound that all ranks know | [`search::Search`] | `tree_search`, `perft` |
//! | a future, as of [`Search::on`](search::Search::on), and `fn main` is to wait for it | [`wait_blocking`] | |
//! | something to simulate, event by event, on many ranks | [`sim::Model`] | `queueing_network` |
//! | … as processes that wait in virtual time | [`sim::Simulation`] | `gas_station`, `bank_queue` |
//!
//! ```
//! use motet::{Dispatcher, Port, QueueConfig, Receive};
//!
//! let dispatcher = Dispatcher::new(2);
//! let queue = dispatcher.queue(QueueConfig::named("greetings"));
//! let (names, greetings) = (Port::new(), Port::new());
//! let out = greetings.clone();
//! Receive::persistent(&names, move |name: &str| out.post(format!("hello {name}")).unwrap())
//!     .activate(&queue)
//!     .unwrap();
//! names.post("motet").unwrap();
//! dispatcher.wait_idle();
//! assert_eq!(greetings.test().as_deref(), Some("hello motet"));
//! ```
//!
//! Read next: the examples (`crates/motet/README.md`), then `docs/ARCHITECTURE.md`.
#![forbid(unsafe_code)]

mod current;
mod deliver;
mod program;
mod why;

pub use current::{Current, CurrentConfig, CurrentError, RUN_NOTE};
pub use deliver::{Deliver, DeliverError, Delivery};
pub use motet_comm as comm;
pub use motet_dispatch as dispatch;
pub use motet_files as files;
pub use motet_mesh as mesh;
pub use motet_mining as mining;
pub use motet_mpi as mpi;
pub use motet_ports as ports;
pub use motet_search as search;
pub use motet_sim as sim;
pub use motet_window as window;
pub use program::{PROGRAM, PROGRAM_NAME, Program, Programs};
pub use why::tell_why;

pub use motet_comm::{CommError, Communicator, Local, RunError, Value, World};
pub use motet_dispatch::{
    Cancelled, Causalities, Causality, Clock, Dispatcher, DispatcherConfig, DispatcherQueue,
    Enqueue, Exception, ExecutionPolicy, ExecutionPolicyNotification, Inline, JoinError,
    JoinHandle, QueueConfig, QueueError, Rate, Replay, ReplayConfig, ReplayQueue, Stall, Task,
    ThreadPriority, Timer, Timescale, Trace, spawn, spawn_with_handle,
};
pub use motet_ports::{
    ActiveInterleave, After, BlockingError, Broadcast, BroadcastPort, CausalityPorts, Choice,
    Closed, CombineError, ExceptionPort, ExecutionPolicyNotificationPort, Fairness, FromHandler,
    Interleave, JoinedReceive, LoopError, MultipleItemGather, MultipleItemReceive,
    MultiplePortReceive, NoReply, Overflow, ParallelLoop, Port, PortConfig, PortCounters, PortSet,
    PostError, PostRefusal, Receive, Reply, ReplyPort, Schedule, SharedPortSet, StatefulInterleave,
    Subscription, SuccessFailurePort, guard, join, reply, select, timer, wait_blocking,
    wait_blocking_for,
};

/// The code in the guide, which is compiled with the examples in the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/MOVING.md")]
mod moving {}

/// As above.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/windows.md")]
mod windows_and_files {}

/// As above.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
