//! Measurements of motet, against the limits of the machine and against peers.
//!
//! Every number is a ratio to something measured in the same run. One file per experiment:
//! question, definition, method, threats. Those of the suite say theirs in
//! `bench/data/experiments.toml`.
//!
//! - Depends on: `motet-sync`, `motet-dispatch`, `motet-ports`, `motet-comm`, `motet-window`,
//!   `motet-machine`, `motet-mpi`, `motet-mesh`, `motet-mining`, `motet-patterns`,
//!   `motet-problems`, `motet-search`, `motet-sim`, `motet-service`, `motet-http`.
//! - Used by: the command line, nothing else.
//!
//! ```text
//!  stages ──> motet-patterns            one program each way
//!  stages, annealing, oversubscribed ──> measuring    rounds and cases, as those of the suite
//!  suite ──> measuring, peers           the papers' experiments, into a folder of rows
//!    ├────> results ──> plot, report, compare   what is made of these rows
//!    └────> kernels, mixture            loops, matrices and points that the experiments compute with
//!  row_set ──> core, ranks, search, sim ──> rows ──> contest ──> measuring   cases with bars
//!  annealing ──> peers::scikit_learn        the peer in a process of its own
//!  quality ──> table                   the data sets
//!     └─────> unit, statistics, motet-machine shared by all experiments
//! ```
//!
//! Read next: [`stages`] (overhead per stage, the papers' measure), [`suite`], `README.md` (the
//! list).

pub mod compare;
mod experiments;
pub mod fit;
pub mod join;
pub mod measuring;
pub mod papers;
pub mod picture;
pub mod plot;
pub mod report;
pub mod results;
pub mod statistics;
pub mod suite;
pub mod tables;
pub mod text;
pub mod unit;

mod contest;
mod fingerprints;
mod kernels;
mod mixture;
mod peers;
mod program;
mod rank_program;
mod row_set;
mod rows;
mod said;
mod selection;
mod sequences;
mod table;
mod uts;

pub use contest::{CoreRecord, CoreSpeed};
pub use experiments::{annealing, exclusive, idle, oversubscribed, quality, soak, stages};
use motet_machine::{limits, system};

pub use rank_program::{RankMeasured, RankProgram};
pub use row_set::RowSet;
pub use selection::{Missing, Selection};
