//! One file per recipe, and what they share.

mod bench;
mod counts;
mod deep;
mod docs;
mod models;
mod preflight;
mod project;
mod python;
mod sanitize;
mod stress;
mod test;
mod tidy;

pub(crate) use bench::bench;
pub(crate) use counts::counts;
pub(crate) use deep::deep;
pub(crate) use docs::docs;
pub(crate) use models::models;
pub(crate) use preflight::preflight;
pub(crate) use sanitize::sanitize;
pub(crate) use stress::stress;
pub(crate) use test::test;
pub(crate) use tidy::tidy;
