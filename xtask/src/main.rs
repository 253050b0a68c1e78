//! The project's recipes: `cargo xtask test`, `preflight`, `tidy`, `loom`, `shuttle`, `stress`,
//! `deep`, `counts`, `sanitize`, `targets`, `docs`, `release`, `bench`.
//!
//! `cargo xtask test` is the gate: it runs everything that must hold before a change is merged, in
//! order, and ends with a table of what ran, what failed and what was left out.
//!
//! - Depends on: Cargo, and nothing of the project, so that it works when the project does not.
//! - Used by: developers, `.ci/run`.
//!
//! ```text
//!  args ─► recipes ─┬─► runner   steps, child processes, the table
//!                   ├─► needs    what some tests need of the machine
//!                   ├─► tidy     the house rules as checks
//!                   └─► source   the project's files, for all of them
//! ```
//!
//! Read next: `recipes/test.rs` (the gate), `tidy/checks.rs` (the rules).

mod args;
mod needs;
mod recipes;
mod runner;
mod source;
mod tidy;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(message) => {
            eprintln!("xtask: {message}\n\n{}", args::HELP);
            return ExitCode::from(2);
        }
    };
    let outcome = match command {
        Command::Help => {
            println!("{}", args::HELP);
            Ok(ExitCode::SUCCESS)
        }
        Command::Bench(rest) => recipes::bench(&rest),
        Command::Recipe(name, options) => recipes::run(name, &options),
    };
    outcome.unwrap_or_else(|message| {
        eprintln!("xtask: {message}");
        ExitCode::FAILURE
    })
}
