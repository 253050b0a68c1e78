//! The project's recipes: `cargo xtask test`, `preflight`, `tidy`, `loom`, `shuttle`, `stress`,
//! `deep`, `mesh`, `counts`, `sanitize`, `targets`, `docs`, `release`, `bench`.
//!
//! `cargo xtask test` is the gate: it runs everything that must hold before a change is merged, in
//! order. It ends with a table of what ran, what failed and what was left out.
//!
//! - Depends on: Cargo, and nothing of the project, so that it works when the project does not.
//! - Used by: developers, `.ci/run`.
//!
//! ```text
//!  args ─► recipes ─┬─► runner   steps, child processes, the table
//!                   ├─► needs    what some tests need of the machine
//!                   ├─► said     programs that are asked something
//!                   ├─► tidy     the house rules as checks
//!                   └─► source   the project's files, for all of them
//! ```
//!
//! Read next: `recipes/test.rs` (the gate), `tidy/checks.rs` (the rules).

mod args;
mod needs;
mod recipes;
mod runner;
mod said;
mod source;
mod tidy;

use clap::Parser;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    recipes::run(&args::Command::parse()).unwrap_or_else(|fault| {
        // A reader that has gone need not know.
        let _ = writeln!(io::stderr(), "xtask: {fault:#}");
        ExitCode::FAILURE
    })
}
