//! The measurement suite: every experiment of the papers, with today's peers beside motet.
//!
//! Each experiment says what is asked, what is measured and what may mislead, and makes [`Case`]s:
//! a point, quantities, and a program for each series. One [`MeasuringMethod`] runs them all, so
//! that no experiment has a clock policy of its own. What comes out are [`Row`]s, one JSON object
//! per line, and a record of the [`Machine`]; tables, pictures and verdicts are made from these
//! files alone.
//!
//! ```text
//!  registry ──> Experiment ── cases(Setting) ──> Case ──> MeasuringMethod ──> Row ──> RowStore (rows.jsonl, machine.json)
//!                   └─ about, pictures: what a report says and draws
//! ```
//!
//! Read next: [`Experiment`], then one file of `suite/experiments`.

mod case;
mod experiment;
mod experiments;
mod load;
mod machine;
mod method;
mod picture;
mod plan;
mod registry;
mod row;
mod run;
mod setting;
mod stages;
mod store;

pub use case::{Case, CaseProgram, CaseValues, Quantity, Series};
pub use experiment::{Cases, Experiment, MakeCases};
pub use machine::{Identity, Machine, Measures};
pub use method::{Listener, Measurer, MeasuringMethod, Stop};
pub use picture::{Axis, LineFit, LineShape, PaperBeside, Picture};
pub use plan::CasePlan;
pub use registry::{Unknown, all, find};
pub use row::{ParameterValue, Point, Row, RowOutcome, RowValues, SCHEMA};
pub use run::{RunListener, run};
pub use setting::{Setting, SuiteConfig, UnknownPeer};
pub use store::{RowStore, StoreError, read, read_machine};
