//! Messages between processes over any MPI library with the MPI-5 standard ABI.
//!
//! - Depends on: `motet-sync`, `motet-values`, `motet-comm`, `libloading`. Nothing of MPI is needed
//!   to build: a library is opened when a program is started on several processes.
//! - Used by: the facade (`World::current()`), the command line (`motet run`, `motet doctor`), the
//!   experiments.
//!
//! ```text
//!  LibrarySearch ──► Library ──► Environment ──► Comm ──► Engine ──► Processes ──► World::over: ranks of all processes
//!  which      opened      MPI runs        calls    sends in the background, progress when idle
//!
//!  Launch ──► the line of mpiexec that starts t × m × n, or a batch script
//! ```
//!
//! | to | use |
//! |---|---|
//! | find a library, and say how to get one | [`LibrarySearch`], [`MpiError`] |
//! | call MPI: sends, receives, probes, barriers, reductions | [`Comm`], [`Request`] |
//! | run one world of ranks on all processes | [`Processes`] |
//! | send bytes between processes | [`Engine`] |
//! | start a program on processes and machines | [`Launch`] |
//! | … several programs that are one world | [`ProgramPart`] |
//!
//! # Examples
//!
//! Without a library there is an error that says what to do, and nothing else is lost:
//!
//! ```
//! use motet_mpi::LibrarySearch;
//!
//! let error = LibrarySearch::named("/nowhere").find().unwrap_err();
//! assert!(error.to_string().contains("pip install mpich"));
//! ```
//!
//! Read next: [`Engine`], then `binding.rs`, the only place that calls MPI.

mod binding;
mod engine;
mod error;
mod find;
mod launch;
mod processes;

pub use binding::{
    Comm, Element, Environment, Library, Matched, Reduction, Request, RequestSet, Status,
    ThreadLevel,
};
pub use engine::{Engine, EngineConfig, ReceivedMessage};
pub use error::MpiError;
pub use find::LibrarySearch;
pub use launch::{Family, Launch, MACHINES, MESH, ProgramPart};
pub use motet_comm::Header;
pub use processes::Processes;
