//! Measuring: cases of programs that are compared, and the one method by which all are measured.
//!
//! A [`Case`] is a point, quantities, and a program for each series. The [`Measurer`] goes through
//! cases round after round and keeps what each series gave in a [`CasePlan`]. The
//! [suite](crate::suite) makes [`Row`]s of it, the rows with bars ([`RowSet`](crate::RowSet)) a
//! record with ratios, and experiments by themselves what they need.
//!
//! Read next: `measuring/method.rs`.

mod case;
mod effort;
mod load;
mod method;
mod plan;
mod row;
mod setting;

pub use case::{Case, CaseProgram, CaseValues, Cases, Quantity, Series};
pub use effort::Effort;
pub(crate) use method::measured;
pub use method::{Listener, Measurer, MeasuringMethod, Stop};
pub use plan::CasePlan;
pub use row::{ParameterValue, Point, Row, RowOutcome, RowValues, SCHEMA};
pub use setting::{MeasuringConfig, Setting, UnknownPeer};
