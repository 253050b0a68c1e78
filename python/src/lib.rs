//! The extension module of the Python package `motet`: what Python needs of the crates below.
//!
//! Rust works and checks; the Python files hold signatures, documentation, and what scikit-learn
//! wants of a class.
//!
//! - Depends on: the facade `motet`; `motet-service` and `motet-http` (nodes and their clients);
//!   `motet-cli`, since the package carries the program.
//! - Used by: `python/motet`.
//!
//! ```text
//!  motet/cluster.py, mixture.py, hmm.py ─► fit.rs (a run that is watched) ─► motet::mining
//!  motet/comm.py ───────────────────────► world.rs ─► motet::World; its calls are those of motet/mpi4py
//!  motet/mpi4py/*.py ───────────────────► mpi_comm.rs, mpi_request.rs ─► started.rs ─► own.rs
//!        └ windows and files ──────────────► mpi_window.rs, mpi_file.rs ─► own.rs ─► open_window.rs
//!        └ a script without a world ──────► mpi_world.rs ─► motet::comm::Entered
//!  motet/ports.py ──────────────────────► ports.rs, arbiters.rs, dispatch.rs ─► handlers.rs (calls Python)
//!        └ _awaiting.py (asyncio) ─────────► waiting.rs
//!  motet/service.py ────────────────────► service.rs (calls), hosted.rs (a node) ─► contract.rs
//!  motet/_cli.py ───────────────────────► cli.rs ─► motet_cli::main
//! ```
//!
//! Read next: `fit.rs`.
#![forbid(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments come from Python by value"
)]

mod annealed;
mod arbiters;
mod cli;
mod cluster;
mod combine;
mod contract;
mod dispatch;
mod errors;
mod fit;
mod forked;
mod given;
mod handlers;
mod hosted;
mod markov;
mod mixture;
mod mpi_collectives;
mod mpi_comm;
mod mpi_data;
mod mpi_file;
mod mpi_group;
mod mpi_handle;
mod mpi_request;
mod mpi_window;
mod mpi_world;
mod open_file;
mod open_window;
mod outside;
mod own;
mod pairwise;
mod pickled;
mod points;
mod ports;
mod profile;
mod scaling;
mod service;
mod started;
mod stuck;
mod typed;
mod waiting;
mod world;

use pyo3::prelude::*;

/// What `motet` imports.
#[pymodule(gil_used = false)]
fn _motet(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MotetError", module.py().get_type::<errors::MotetError>())?;
    module.add("Cancelled", module.py().get_type::<errors::Cancelled>())?;
    module.add("FewDistinct", module.py().get_type::<errors::FewDistinct>())?;
    module.add_class::<fit::FitRun>()?;
    module.add_class::<profile::Profile>()?;
    module.add_class::<cluster::Clustering>()?;
    module.add_class::<markov::Markov>()?;
    module.add_class::<mixture::Mixture>()?;
    module.add_class::<world::World>()?;
    module.add_class::<mpi_collectives::MpiCollectives>()?;
    module.add_class::<mpi_comm::MpiComm>()?;
    module.add_class::<mpi_file::MpiFile>()?;
    module.add_class::<mpi_group::MpiGroup>()?;
    module.add_class::<mpi_request::MpiRequest>()?;
    module.add_class::<mpi_window::MpiWindow>()?;
    module.add_function(wrap_pyfunction!(mpi_comm::dims_create, module)?)?;
    module.add_function(wrap_pyfunction!(combine::reduce_local, module)?)?;
    module.add_function(wrap_pyfunction!(started::set_mpi_exception, module)?)?;
    module.add_function(wrap_pyfunction!(mpi_world::set_mpi_begin, module)?)?;
    module.add_function(wrap_pyfunction!(mpi_world::enter, module)?)?;
    module.add_function(wrap_pyfunction!(mpi_world::leave, module)?)?;
    module.add_function(wrap_pyfunction!(mpi_world::forget, module)?)?;
    module.add_function(wrap_pyfunction!(mpi_world::is_rank, module)?)?;
    module.add_function(wrap_pyfunction!(mpi_world::is_entered, module)?)?;
    module.add("Closed", module.py().get_type::<ports::Closed>())?;
    module.add_class::<ports::Port>()?;
    module.add_class::<ports::Part>()?;
    module.add_class::<dispatch::Dispatcher>()?;
    module.add_class::<dispatch::Queue>()?;
    module.add_class::<arbiters::Arbiter>()?;
    module.add_class::<arbiters::Activation>()?;
    module.add_class::<waiting::PendingObject>()?;
    module.add_class::<waiting::Alarm>()?;
    module.add_class::<pairwise::PairwiseClustering>()?;
    module.add_class::<hosted::Node>()?;
    module.add_class::<scaling::Places>()?;
    module.add_class::<service::Peer>()?;
    module.add_function(wrap_pyfunction!(scaling::scale, module)?)?;
    module.add_class::<service::Watch>()?;
    module.add_function(wrap_pyfunction!(pairwise::anneal_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(arbiters::receive, module)?)?;
    module.add_function(wrap_pyfunction!(arbiters::several, module)?)?;
    module.add_function(wrap_pyfunction!(arbiters::join, module)?)?;
    module.add_function(wrap_pyfunction!(arbiters::after, module)?)?;
    module.add_function(wrap_pyfunction!(arbiters::choice, module)?)?;
    module.add_function(wrap_pyfunction!(arbiters::interleave, module)?)?;
    module.add_function(wrap_pyfunction!(dispatch::sleeping, module)?)?;
    module.add_function(wrap_pyfunction!(cli::main, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::anneal, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::kmeans, module)?)?;
    module.add_function(wrap_pyfunction!(mixture::mixture, module)?)?;
    module.add_function(wrap_pyfunction!(markov::fit_markov, module)?)?;
    module.add_function(wrap_pyfunction!(fit::cores, module)?)?;
    Ok(())
}
