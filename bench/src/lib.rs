//! Measurements of motet, against the limits of the machine and against peers.
//!
//! Every number is a ratio to something measured in the same run. One file per experiment: question,
//! definition, method, threats.
//!
//! - Depends on: the core crates; nothing depends on it but the command line.
//!
//! ```text
//!  stages ──> spawned | rendezvous     one program each way
//!     └─────> unit, limits, statistics shared by all experiments
//! ```
//!
//! Read next: [`stages`] (overhead per stage, the papers' measure), `README.md` (the list).

mod experiments;
pub mod limits;
pub mod statistics;
pub mod unit;

mod program;
mod rendezvous;
mod spawned;

pub use experiments::{crowded, idle, soak, stages};
