//! Event simulation: processes that wait in virtual time, and logical processes that tell each
//! other events on any ranks.
//!
//! | the model is written as … | it runs on | begin with |
//! |---|---|---|
//! | async functions that sleep, hold resources, take from stores (SimPy's words) | one thread | [`Simulation`] |
//! | logical processes that handle events | any ranks, with one trace | [`Model`] |
//!
//! # Logical processes
//!
//! A model is a number of processes. Each handles events one after the other, in the order of their
//! times, and schedules events for itself and for others. Ranks of a communicator run it together.
//! Order of events, random numbers and states at the end are the same on one rank and on a hundred,
//! in every mode.
//!
//! - **Depends on**: `motet-comm`; `motet-sync`.
//! - **Used by**: the facade, `motet-problems`, the experiments.
//!
//! ```text
//!  Model ─► processes in blocks on ranks
//!             │  Sequential     one rank, one list of events
//!             │  Windows        all before the least next event + lookahead, then one exchange
//!             │  NullMessages   each link promises until when nothing comes
//!             │  TimeWarp       ahead of the others, and back where that was too early
//!             ▼
//!           Outcome: processes, report, trace of committed events
//! ```
//!
//! | the model … | mode |
//! |---|---|
//! | is small, or is to be looked at | [`Mode::Sequential`] |
//! | promises that events for others come late | [`Mode::Windows`] |
//! | has few links per process, of different lookaheads | [`Mode::NullMessages`] |
//! | promises nothing, or little, and its handlers take long | [`Mode::TimeWarp`] |
//!
//! [`Model::run_part`] runs until a time and gives what another run goes on from. The futures of a
//! [`Simulation`] cannot be written: it is repeated from its seed instead.
//!
//! Read next: [`Model`] (an example), `event.rs` (the order of events), `ladder_queue.rs` (what
//! waits), `share.rs` (the processes of one rank). Then a mode: `sequential.rs`, `windows.rs`,
//! `null_messages.rs`, `time_warp.rs`. For processes: [`Simulation`], `simulation/process.rs`.
#![forbid(unsafe_code)]

mod draw;
mod error;
mod event;
mod ladder_queue;
mod logical;
mod model;
mod null_messages;
mod options;
mod out;
mod outcome;
mod rules;
mod saved;
mod sequential;
mod share;
mod simulation;
mod time_warp;
mod windows;

pub use draw::mix;
pub use error::{ModelError, SimError};
pub use event::{EventKey, Time};
pub use logical::{Logical, Reversible};
pub use model::{Mode, Model};
pub use options::{Options, Tie};
pub use out::Out;
pub use outcome::{Outcome, Report};
pub use saved::Saved;
pub use simulation::{
    Amount, BatchMeans, Container, Event, Get, Happened, Held, Injector, Interrupt, Process, Put,
    Request, Resource, Sim, Simulation, Sleep, Store, Stuck, StuckProcess, Tally, TimeWeighted,
    Timeout, UnlessInterrupted, timeline,
};
