//! Ranks that talk: communicators, point-to-point messages, collectives and topologies.
//!
//! The rendezvous paradigm (MPI): a fixed set of ranks runs the same program; each waits where it
//! needs a message. A rank is an async task with a home worker, so a rank that waits holds no
//! thread, and the same program runs with as many ranks as you like on as many cores as there are.
//!
//! - Depends on: `motet-sync`, `motet-dispatch`.
//! - Used by: `motet-mining`, the facade, the benchmarks.
//!
//! ```text
//!   World::threads(4).run(async |comm| …)
//!
//!      worker 0              worker 1
//!   ┌────────────┐        ┌────────────┐      send/recv     mailbox per rank
//!   │ rank 0 ◄──►│ rank 1 │ rank 2 ◄──►│ rank 3  ring, line    padded lanes between neighbours
//!   └────────────┘ ◄────► └────────────┘      collectives   a tree over cache lines
//! ```
//!
//! | to … | use |
//! |---|---|
//! | send and receive | [`Communicator::send`], [`recv`](Communicator::recv), [`sendrecv`](Communicator::sendrecv), [`shift`](Communicator::shift) |
//! | exchange with neighbours, often | [`Communicator::ring`], [`line`](Communicator::line) |
//! | wait for all | [`barrier`](Communicator::barrier) |
//! | one to all | [`broadcast`](Communicator::broadcast), [`scatter`](Communicator::scatter) |
//! | all to one | [`reduce`](Communicator::reduce), [`gather`](Communicator::gather) |
//! | all to all | [`allreduce`](Communicator::allreduce), [`allgather`](Communicator::allgather) |
//! | find out why nothing goes on | [`RunError::Stuck`] |
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
//! Read next: [`World`], [`Communicator`]; then `fabric.rs` (what a fabric is), `rank_slot.rs` (how a
//! rank waits), `fabric/lane.rs` and `fabric/meeting.rs` (what is fast).

mod collectives;
mod communicator;
mod envelope;
mod error;
mod fabric;
mod point_to_point;
mod rank_slot;
mod report;
mod reproducible;
mod run;
mod topology;
mod world;

pub use communicator::Communicator;
pub use envelope::{ANY_SOURCE, ANY_TAG, Source, Status, Tag, TagMatch};
pub use error::{CommError, RunError};
pub use report::{Operation, RankState, Wait, WaitReport};
pub use reproducible::Dyadic;
pub use topology::{Line, Ring};
pub use world::World;
