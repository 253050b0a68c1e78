//! The command line of `motet doctor`.

use std::path::PathBuf;

use clap::Args;

use crate::amount::{PYTHON, path, python};

/// Options of `motet doctor`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Say what this machine offers",
    long_about = ABOUT,
    after_help = "Example: motet doctor --json"
)]
pub struct DoctorArgs {
    /// Only this MPI library: a file, or a folder that holds it [default: all that are found]
    #[arg(long, value_name = "PATH", env = "MOTET_MPI_LIB", value_parser = path())]
    pub mpi_lib: Option<PathBuf>,

    /// The Python to ask
    #[arg(
        long,
        value_name = "PATH",
        default_value = PYTHON,
        env = "MOTET_PYTHON",
        value_parser = python()
    )]
    pub python: PathBuf,

    /// The Go compiler to ask
    #[arg(long, value_name = "PATH", default_value = "go")]
    pub go: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Start this MPI library and say from how many threads it may be called
    #[arg(long, value_name = "PATH", hide = true)]
    pub start: Option<PathBuf>,
}

const ABOUT: &str = "\
Say what this machine offers.

Processors and what limits them, caches, the time of a cache line to another core and back, the clock, what two \
cores do together, the time of waking a thread, memory, limits of the system, MPI libraries that can be opened with their versions and \
thread levels, what nodes of a mesh listen on, which of them do now, and whether they have a key, and the programs that benchmarks compare with.

Fields of --json: cores (usable, installed, quota), caches (level, kind, bytes, shared_by), roundtrip_us, \
two_cores (as times what one does), clock_ghz, wakeup_us, memory (total_bytes, available_bytes, limit_bytes), limits (processes, open_files), mpi (path, \
version, standard, launcher, threads, problem), mpi_problem, mesh (listen, rendezvous, key, key_state, certificates, interfaces, nodes, problem), python, go; null where it is not known";
