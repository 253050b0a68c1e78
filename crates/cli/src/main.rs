//! The `motet` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    motet_cli::main(std::env::args_os())
}
