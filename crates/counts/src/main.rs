//! Short programs whose machine instructions are counted: `motet-counts ROW` under callgrind.
//!
//! Callgrind forgets what it has counted when [`counted_begin`](span::counted_begin) is called and writes
//! down what it has at [`counted_end`](span::counted_end); between them lie [`STEPS`](span::STEPS) steps of
//! the row. Everything has run as often before, so that memory is there and branches of a beginning
//! are past. Between the two calls one thread works and the others sleep: the counts are the same
//! from run to run.
//!
//! - Depends on: sync, dispatch, ports, and nothing else, so that it is built in seconds.
//! - Used by: `cargo xtask counts`, which runs every row and compares with `baseline.txt` beside this
//!   crate's manifest.
//!
//! ```text
//!  cargo xtask counts ─► valgrind --tool=callgrind motet-counts ROW ─► steps, instructions ─► baseline.txt
//! ```
//!
//! Read next: `rows.rs` (what is counted).

mod rows;
mod span;

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        println!("{}", span::STEPS);
        rows::ROWS.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Some((_, row)) = rows::ROWS.iter().find(|(known, _)| *known == name) else {
        eprintln!("motet-counts: there is no row `{name}`; without arguments it lists them");
        return ExitCode::from(2);
    };
    row();
    ExitCode::SUCCESS
}
