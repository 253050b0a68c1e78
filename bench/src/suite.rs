//! The measurement suite: every experiment of the papers, with today's peers beside motet.
//!
//! Each experiment says what is asked, what is measured and what may mislead. It makes [`Case`]s: a
//! point, quantities, and a program for each series. One [`MeasuringMethod`] runs them all, so that
//! no experiment has a clock policy of its own. What comes out are [`Row`]s, one JSON object per
//! line, and a record of the [`Machine`]. Tables, pictures and verdicts are made from these files
//! alone.
//!
//! [`Case`]: crate::measuring::Case
//! [`MeasuringMethod`]: crate::measuring::MeasuringMethod
//! [`Row`]: crate::measuring::Row
//!
//! ```text
//!  registry ──> Experiment ── cases(Setting) ──> Case ──> MeasuringMethod ──> Row ──> RowStore (rows.jsonl, machine.json)
//!                   └─ about, pictures: what a report says and draws
//! ```
//!
//! Read next: [`Experiment`], then one file of `suite/experiments`.

mod experiment;
mod experiments;
mod machine;
mod picture;
mod registry;
mod run;
mod stages;
mod store;

pub use experiment::{Experiment, MakeCases};
pub use machine::{Identity, Machine, Measures};
pub use picture::{Axis, LineFit, LineShape, PaperBeside, Picture};
pub use registry::{Unknown, all, find};
pub use run::{RunListener, run};
pub use store::{RowStore, StoreError, read, read_machine};
