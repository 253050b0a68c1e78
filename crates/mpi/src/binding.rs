//! An MPI library behind safe types: the only place that calls MPI.
//!
//! ```text
//!  Library ── start ──► Environment ──► Comm ──► Request ──► Status
//!  opened, not yet       MPI is          who     what is      who sent
//!  started               started         meets   under way    how much
//! ```
//!
//! All of them hold the started library; it ends (`MPI_Finalize`) when the last of them is gone.
//! Requests own the memory that MPI reads or writes, so it lives as long as MPI needs it.

mod abi;
mod comm;
mod element;
mod environment;
mod library;
mod request;
mod request_set;
mod running;
mod symbols;

pub use comm::{Comm, Matched};
pub use element::{Element, Reduction};
pub use environment::Environment;
pub use library::{Library, ThreadLevel};
pub use request::{Request, Status};
pub use request_set::RequestSet;
