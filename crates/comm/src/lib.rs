//! Ranks that talk: communicators, point-to-point messages, collectives and topologies.
//!
//! The rendezvous paradigm (MPI): a fixed set of ranks runs the same program; each waits where it
//! needs a message. A rank is an async task with a home worker, so a rank that waits holds no
//! thread. The same program runs with as many ranks as you like on as many cores as there are.
//!
//! - Depends on: `motet-sync`, `motet-dispatch`; `motet-values` for what ranks hand over;
//!   `motet-ports` for the fabric `ports`; `motet-sums` for sums with the same bits; `motet-trace`
//!   for reports and profiles.
//! - Used by: `motet-files`, `motet-mining`, `motet-mpi`, `motet-patterns`, `motet-search`,
//!   `motet-service`, `motet-sim`, `motet-window`, the facade, the command line, the benchmarks.
//!
//! ```text
//!   World::threads(4).run(async |comm| …)
//!
//!      worker 0              worker 1
//!   ┌────────────┐        ┌────────────┐      send/recv     mailbox per rank
//!   │ rank 0 ◄──►│ rank 1 │ rank 2 ◄──►│ rank 3  ring, line    padded rings between neighbours
//!   └────────────┘ ◄────► └────────────┘      collectives   a tree over cache lines
//! ```
//!
//! | to … | use |
//! |---|---|
//! | send and receive | [`Communicator::send`], [`recv`](Communicator::recv), [`sendrecv`](Communicator::sendrecv), [`shift`](Communicator::shift) |
//! | … and be sure that it was received | [`ssend`](Communicator::ssend) |
//! | … later, several at once | [`irecv`](Communicator::irecv), [`Requests`] |
//! | … numbers in place | [`send_slice`](Communicator::send_slice), [`recv_into`](Communicator::recv_into) |
//! | … elements that do not lie in a row | [`Layout`], [`send_layout`](Communicator::send_layout) |
//! | let messages in that no rank sends | [`Communicator::entrance`] |
//! | have something done at a rank while it computes | [`Communicator::delegate`] |
//! | look before receiving | [`probe`](Communicator::probe), [`mprobe`](Communicator::mprobe) |
//! | exchange with neighbours, often | [`Communicator::ring`], [`line`](Communicator::line) |
//! | neighbours on a grid or graph | [`cartesian`](Communicator::cartesian), [`graph`](Communicator::graph) |
//! | wait for all | [`barrier`](Communicator::barrier) |
//! | one to all | [`broadcast`](Communicator::broadcast), [`scatter`](Communicator::scatter) |
//! | all to one | [`reduce`](Communicator::reduce), [`gather`](Communicator::gather) |
//! | all to all | [`allreduce`](Communicator::allreduce), [`allgather`](Communicator::allgather), [`alltoall`](Communicator::alltoall), [`reduce_scatter`](Communicator::reduce_scatter) |
//! | what those before me have | [`scan`](Communicator::scan), [`exscan`](Communicator::exscan) |
//! | a sum with the same bits | [`reproducible_sum`](Communicator::reproducible_sum), [`ExactSum`], [`Dyadic`] |
//! | talk among some of the ranks | [`split`](Communicator::split), [`dup`](Communicator::dup), [`create`](Communicator::create) |
//! | … between two groups of them | [`Communicator::intercommunicator`] |
//! | lay numbers where processes of a machine use them together | [`share`](Communicator::share) |
//! | find out why nothing goes on | [`RunError::Stuck`] |
//! | … and have it name who has called a library | [`Communicator::called_from`] |
//! | see who waits for whom while it runs | [`World::watch`] |
//! | learn where the time went | [`World::profile`] |
//! | hear of ranks that have more to compute than others | [`World::on_imbalance`], [`Profile::imbalances`] |
//!
//! Collectives also come in place (`allreduce_into`), and are awaited, or started to be waited for
//! later (`allreduce(…).start()`).
//!
//! ```
//! use motet_comm::{CommError, World};
//!
//! // Four ranks estimate π together.
//! let pi = World::threads(4)
//!     .run(async |comm| -> Result<f64, CommError> {
//!         let (rank, size, n) = (comm.rank(), comm.size(), 1000);
//!         let x = |i: usize| (i as f64 + 0.5) / n as f64;
//!         let mine: f64 = (rank..n).step_by(size).map(|i| 4.0 / (1.0 + x(i) * x(i))).sum();
//!         Ok(comm.allreduce(mine, |a, b| a + b).await? / n as f64)
//!     })
//!     .unwrap();
//! assert!((pi[0] - std::f64::consts::PI).abs() < 1e-6);
//! ```
//!
//! Read next: [`World`], [`Communicator`]; then these files:
//!
//! - `fabric.rs`: what a fabric is.
//! - `fabric/ports.rs`: the whole of one on a few pages.
//! - `collective_part.rs`: a collective.
//! - `rank_slot.rs`: how a rank waits.
//! - `fabric/combining_tree.rs`, and `ring.rs` of `motet-values`: what is fast.

mod asks;
mod collective_call;
mod collective_part;
mod collectives;
mod communicator;
#[cfg(doctest)]
mod compile_fail;
mod delegate;
mod entrance;
mod envelope;
mod error;
mod exchange;
mod fabric;
mod group;
mod intercommunicator;
mod layer_call;
mod limit;
mod outcome;
mod pending;
mod point_to_point;
mod rank_slot;
mod request;
mod run;
mod schedule;
mod share;
mod split;
mod topology;
mod transport;
mod watch;
mod world;

// By what they are about, for the modules here.
use motet_sums as exact_sum;
use motet_trace::{self as address, self as profile, self as report};
use motet_values::{any_cell, buffer_pool, non_temporal, rendezvous_copy, wire};

pub use motet_sums::{Dyadic, ExactSum, Real};
pub use motet_trace::{
    ANY_SOURCE, ANY_TAG, CallSite, CollectiveNow, Dest, Imbalance, OUTSIDE, Overhead,
    OverheadModel, Profile, RankNow, RankProfile, RankState, Source, StageProfile, Status, Tag,
    TagMatch, Unmatched, Wait, WaitGraph, WaitNow, WaitOperation, WaitReport,
};
pub use motet_values::shared_numbers::{SharedMemory, SharedNumbers};
pub use motet_values::{Layout, LayoutError, Local, Plain, Value};

pub use collective_call::{CollectiveCall, Startable};
pub use communicator::Communicator;
pub use delegate::Delegate;
pub use entrance::{Entrance, EntranceError};
pub use error::{CommError, RunError};
pub use fabric::Asked;
pub use group::Group;
pub use intercommunicator::Intercommunicator;
pub use layer_call::LayerCall;
pub use limit::SendOverflow;
pub use outcome::Outcome;
pub use point_to_point::{Message, PersistentRecv, PersistentSend, Probe};
pub use request::{Request, Requests};
pub use run::{BlockedRank, Entered};
pub use topology::{Cartesian, Line, Neighbourhood, Ring, dims_create};
pub use transport::{Gone, Header, MemoryOffer, Transport, TransportError};
pub use watch::RunWatch;
pub use world::{WeakWorld, World};
