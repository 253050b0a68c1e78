//! What the tests of the crates share; a dev-dependency only.
//!
//! - Depends on: sync, dispatch.
//! - Used by: the tests of nearly every crate.
//!
//! ```text
//!  test ─► within (limit of time) ─► body ─┬─► stress     rounds with seeds
//!                                          ├─► explore    schedules of a replay ─► the smallest that fails
//!                                          └─► Log, Gate, Drops, History ─► what the test asserts
//! ```
//!
//! - [`within`] fails a test that hangs, by name, instead of hanging the run;
//! - [`Log`] records what happened in which order, [`Overlap`] how much of it at one time;
//! - [`Gate`] holds handlers at a point until the test says so;
//! - [`Drops`] counts how many values were made and dropped;
//! - [`History`] tells whether what threads saw is linearizable;
//! - [`stress`] repeats a round with seeds for as long as it is told, [`Random`] makes it of its
//!   seed;
//! - [`mark`] is what a value adds to a checksum that does not know who has it;
//! - [`most_memory`] tells how much memory something takes at most, with the allocator
//!   [`Counting`];
//! - [`fuzz`] gives a reader inputs that are made of a [`Corpus`], and holds its memory to a
//!   [`MemoryBound`];
//! - [`explore`] runs a test under many schedules and makes the first that fails small;
//! - [`data`] finds the folder of the large data sets;
//! - [`mpi_libraries`] finds the MPI libraries to start processes with;
//! - [`example`] finds an example program that is not older than its sources;
//! - [`two_machines`] runs a program on the first of two machines with a cable between them.
//!
//! ```
//! use motet_testkit::{Log, within};
//! use std::time::Duration;
//!
//! let log = Log::new();
//! within(Duration::from_secs(10), {
//!     let log = log.clone();
//!     move || log.push("hello")
//! });
//! assert_eq!(log.take(), ["hello"]);
//! ```
//!
//! Read next: `guard.rs` ([`within`]), then `explore.rs` and `history.rs`.

mod data;
mod drops;
mod example;
mod explore;
mod fuzz;
mod gate;
mod guard;
mod history;
mod log;
mod machines;
mod memory;
mod mpi;
mod overlap;
mod stress;

pub use data::data;
pub use drops::{Dropped, Drops};
pub use example::example;
pub use explore::{explore, explore_with};
pub use fuzz::{Corpus, MemoryBound, fuzz};
pub use gate::Gate;
pub use guard::{patience, within};
pub use history::{History, Sequential};
pub use log::Log;
pub use machines::two_machines;
pub use memory::{Counting, most_memory};
pub use mpi::mpi_libraries;
pub use overlap::Overlap;
pub use stress::{Random, mark, stress};
