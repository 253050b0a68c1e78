//! The `motet` program.

use std::process::ExitCode;

/// musl's own allocator makes threads wait for each other.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    motet_cli::main(std::env::args_os())
}
