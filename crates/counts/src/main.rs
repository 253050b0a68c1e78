//! Short programs whose machine instructions are counted: `motet-counts ROW` under callgrind.
//!
//! Callgrind forgets what it has counted when [`counted_begin`](span::counted_begin) is called and
//! writes down what it has at [`counted_end`](span::counted_end); between them lie
//! [`STEPS`](span::STEPS) steps of the row. Everything has run as often before, so that memory is
//! there and branches of a beginning are past. Between the two calls one thread works and the
//! others sleep: the counts are the same from run to run.
//!
//! - Depends on: sync, dispatch, ports and patterns, and nothing else, so that it is built in
//!   seconds.
//! - Used by: `cargo xtask counts`, which runs every row and compares with `baseline.txt` beside
//!   this crate's manifest.
//!
//! ```text
//!  cargo xtask counts ─► valgrind --tool=callgrind motet-counts ROW ─► steps, instructions ─► baseline.txt
//! ```
//!
//! Read next: `rows.rs` (what is counted), `patterns.rs` (the stages of the suite's experiments).

mod patterns;
mod rows;
mod span;

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        println!("{}", span::STEPS);
        names().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    if let Some((_, row)) = rows::ROWS.iter().find(|(known, _)| *known == name) {
        row();
    } else if let Some(row) = patterns::ROWS.iter().find(|row| row.name == name) {
        row.run();
    } else {
        eprintln!("motet-counts: there is no row `{name}`; without arguments it lists them");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn names() -> impl Iterator<Item = &'static str> {
    let paths = rows::ROWS.iter().map(|(name, _)| *name);
    paths.chain(patterns::ROWS.iter().map(|row| row.name))
}
