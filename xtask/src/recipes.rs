//! One file per recipe, and what they share.

mod bench;
mod counts;
mod deep;
mod docs;
mod mesh;
mod models;
mod preflight;
mod project;
mod python;
mod release;
mod sanitize;
mod schemathesis;
mod stress;
mod targets;
mod test;
mod tidy;

use crate::args::Options;
pub(crate) use bench::bench;
use std::process::ExitCode;

/// Runs the recipe of that name.
///
/// # Errors
/// What keeps it from starting.
pub(crate) fn run(name: &str, options: &Options) -> Result<ExitCode, String> {
    match name {
        "test" => test::test(options),
        "preflight" => preflight::preflight(options.keep_going),
        "tidy" => tidy::tidy(),
        "loom" => models::models(models::Checker::Loom, options),
        "shuttle" => models::models(models::Checker::Shuttle, options),
        "stress" => stress::stress(options),
        "deep" => deep::deep(options),
        "mesh" => mesh::mesh(options),
        "counts" => counts::counts(options.bless),
        "sanitize" => sanitize::sanitize(options),
        "targets" => targets::targets(options.keep_going),
        "docs" => docs::docs(options.open),
        "release" => release::release(options),
        _ => Err(format!("the recipe `{name}` has no program")),
    }
}
