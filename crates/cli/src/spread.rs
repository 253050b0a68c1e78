//! Commands that run on several processes: they start themselves again by the launcher of an MPI library.

use std::env;
use std::path::PathBuf;
use std::process;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use motet::{Current, World, tell_why};

use crate::error::CliError;
use crate::run::{self, RunArgs};

/// Options that say on which processes a command runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Processes")]
pub struct SpreadArgs {
    /// Processes on each node; each has the threads of --threads
    #[arg(short = 'm', long, value_name = "M", default_value_t = 1, value_parser = count())]
    pub processes: usize,

    /// Nodes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = count())]
    pub nodes: usize,

    /// File with the names of the nodes, one per line [default: the batch system's, else this machine]
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<PathBuf>,

    /// The MPI library: a file, or a folder that holds it [default: found]
    #[arg(long, value_name = "PATH", env = "MOTET_MPI_LIB")]
    pub mpi_lib: Option<PathBuf>,
}

impl SpreadArgs {
    /// Whether several processes are asked for.
    pub(crate) fn is_several(&self) -> bool {
        self.processes * self.nodes > 1
    }

    /// The world to run on, with so many ranks in each process. Where processes are still to be started this process
    /// becomes their launcher, and does not come back.
    ///
    /// # Errors
    /// [`CliError::Mpi`], [`CliError::Start`], [`CliError::World`].
    pub(crate) fn world(self, threads: usize) -> Result<World, CliError> {
        if World::is_one_of_several() {
            return Ok(World::current()?);
        }
        if !self.is_several() {
            let world = World::threads(threads);
            // Without it the clustering is the same.
            let _ = tell_why(&world, None);
            return Ok(world);
        }
        let own = env::current_exe()
            .map_err(|source| run::not_started(PathBuf::from("motet"), source))?;
        let program = [own.into_os_string()]
            .into_iter()
            .chain(env::args_os().skip(1));
        let SpreadArgs {
            processes,
            nodes,
            hostfile,
            mpi_lib,
        } = self;
        run::run(RunArgs {
            threads,
            processes,
            nodes,
            hostfile,
            mpi_lib,
            slurm: false,
            dry_run: false,
            why: None,
            quiet: true,
            program: program.collect(),
        })?;
        process::exit(0)
    }
}

fn count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1_000_000)
}
