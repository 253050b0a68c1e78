//! The command line of `motet run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::amount::{count, percent, seconds};
use crate::spread::SpreadArgs;

/// Options of `motet run`.
#[derive(Debug, Clone, Args)]
#[command(
    about = "Start a program on threads, processes and nodes",
    long_about = ABOUT,
    after_help = "Examples: motet run --help",
    after_long_help = TAIL
)]
pub struct RunArgs {
    /// Ranks in each process, one thread each
    #[arg(short = 't', long, value_name = "T", default_value_t = 1, value_parser = count())]
    pub threads: usize,

    /// Processes and nodes.
    #[command(flatten)]
    pub spread: SpreadArgs,

    /// Submit a batch job to Slurm
    #[arg(long, conflicts_with_all = ["hostfile", "launcher_exec"])]
    pub slurm: bool,

    /// Print the line, with --slurm the batch script, and start nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Print who waits for whom on standard error, every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub why: Option<Duration>,

    /// Say at the end what a run has lost to ranks that compute longer than others, if it is that
    /// much, as in 10%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub balance: Option<f64>,

    /// A folder that all machines of the run share, in which nodes of its mesh meet [default: on
    /// one machine, a folder of this user]
    #[arg(long, value_name = "DIR")]
    pub mesh: Option<PathBuf>,

    /// No folder in which nodes of a mesh meet
    #[arg(long, conflicts_with = "mesh")]
    pub no_mesh: bool,

    /// No remarks on standard error
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments; behind a colon, further programs with their own -m and -t
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

const ABOUT: &str = "\
Start a program on threads, processes and nodes.

Starts M processes on each of N nodes by the mpiexec of an MPI library, and tells each that it is to have \
T ranks (T × M × N in all). Any library with the MPI-5 standard ABI will do; pip install mpich brings \
one; a single process on this machine needs none. This program becomes mpiexec: signals go to it, and its exit code is the one that is returned. Each \
process runs under a supervisor, motet itself, which must be on all machines: it gives the others two seconds to \
say whom they have lost when one ends before its run has, and then ends the job with a status that is not 0.

--why has a program that asks for World::current() say who waits for whom: every rank with its call, the rank and the tag it waits for, the line of the program and the time; collectives with who has come and who has not; cycles, and the ranks nobody waits for. Ranks that compute need not help. Without --why, SIGUSR1 makes it say so once.

--balance names the stages in which one rank computes longer than the others, the rank, and what an even share would save.

A process that joins a mesh without further settings (ZenohConfig::of_run of the library, motet mesh) meets the \
other processes of its run, and nobody else: links have mutual TLS, with a key that the first of them makes in a \
folder of mode 0700. The folder is removed when mpiexec has ended. On several machines --mesh names a folder that they \
share, and nodes listen on the first address of their machine.

In a program that asks for World::current() all ranks of all processes are one world. Other programs \
run as they would under mpiexec.

Several programs with a colon between them are one world, too: each has its own -m and -t, 1 where it does \
not say, and every other option comes before the first program. With N nodes, each node has M processes of each. \
Program::split of the library gives the ranks of each program a communicator of their own.";

const TAIL: &str = "\
Examples:
  motet run -t 2 -- ./heat
      one process with two ranks
  motet run -t 8 -m 2 -n 4 --hostfile hosts -- ./heat --steps 1000
      two processes on each of the four machines that the file hosts names, with eight ranks in each
  motet run -m 2 -n 4 --hostfile hosts --launcher-exec ./reach -- ./heat
      the same machines, which the program reach starts processes on in place of ssh
  motet run -t 8 -m 2 -n 4 --slurm --dry-run -- ./heat
      the batch script for the same on a cluster
  motet run -m 1 ./ocean --steps 100 : -t 2 -m 2 ./air
      two programs of one world: one process of the first, two with two ranks each of the second
  motet run -t 2 -m 2 --why 10 -- ./heat
      says every ten seconds where the four ranks are
  motet run -t 2 -m 2 --balance 5% -- ./heat
      says at the end which rank computed longer, if that took 5 % of the run

Environment of the program: MOTET_THREADS (ranks of each process), MOTET_MPI_LIB (the library), \
MOTET_WHY (seconds); MOTET_BALANCE (percent); MOTET_MESH (the folder where nodes of the run's mesh meet); of \
several programs MOTET_PROGRAM (its number, from 0) and MOTET_PROGRAM_NAME

Exit codes: that of mpiexec, which is the program's; 2 when nothing was started";
