//! What ports promise, test by test.
//!
//! `ccr_NNN` is behaviour NNN of the reference that the project started from, `sem_gNN` a promise of
//! `docs/SEMANTICS.md`; where the two differ the test shows motet's rule.

mod support;

mod awaited;
mod bounds;
mod cost;
mod join;
mod model;
mod port;
mod programs;
mod receive;
mod refusals;
