//! The papers' message patterns, as programs that are measured.
//!
//! A program is a number of computations that compute in stages and exchange messages at the ends
//! of the stages (papers R034 to R039). Spawned, each stage is a fresh handler. Rendezvous, each
//! computation is a rank that waits. What a stage computes is the caller's [`Work`]: units of time
//! for the clock, a counter for the count of machine instructions. So both measure one form of each
//! pattern.
//!
//! - Depends on: sync, dispatch, ports, comm.
//! - Used by: bench (run times), counts (instructions), examples of the facade ([`map_reduce`]).
//!
//! ```text
//!  PatternProgram ── spawned::run ────► Port ─► handler: Work::stage ─► post ─► … ─► final reduction
//!        └─── rendezvous::run ─► rank:  Work::stage, exchange, Work::stage, … ─► reduce
//! ```
//!
//! ```
//! use motet_patterns::{Pattern, PatternProgram, spawned};
//!
//! let program = PatternProgram { pattern: Pattern::Shift, parallel: 3, stages: 10, threads: 2, pin: false, work: () };
//! assert!(spawned::run(&program).as_nanos() > 0);
//! ```
//!
//! Read next: [`spawned`], [`rendezvous`], [`map_reduce`].

pub mod map_reduce;
mod program;
pub mod rendezvous;
pub mod spawned;

pub use program::{Pattern, PatternProgram, StageMode, Work};
