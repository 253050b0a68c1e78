//! Options that say on which processes and nodes something runs.

use std::env;
use std::path::{Path, PathBuf};

use clap::Args;
use motet_sync::thread;

use crate::amount::{count, given, path};

/// Options that say on which processes a command or a program runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Processes")]
pub struct SpreadArgs {
    /// Processes on each node; each has the threads of --threads
    #[arg(short = 'm', long, value_name = "M", default_value_t = 1, value_parser = count())]
    pub processes: usize,

    /// Nodes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = count())]
    pub nodes: usize,

    /// File with the names of the nodes, one per line
    /// [default: the batch system's, else this machine]
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<PathBuf>,

    /// The program that starts processes on other nodes [default: ssh, or the batch system's]
    ///
    /// It is called as ssh is: options, the name of a node, and a command for a shell there. With
    /// it nodes can be reached by another port, key or program, as in a script that ends in
    /// exec ssh -p 2222 "$@".
    #[arg(long, value_name = "PROGRAM")]
    pub launcher_exec: Option<PathBuf>,

    /// The MPI library: a file, or a folder that holds it [default: found]
    #[arg(long, value_name = "PATH", env = "MOTET_MPI_LIB", value_parser = path())]
    pub mpi_lib: Option<PathBuf>,
}

/// Variables by which launchers learn the nodes of a batch job.
const BATCH: [&str; 4] = [
    "SLURM_JOB_ID",
    "PBS_NODEFILE",
    "PE_HOSTFILE",
    "LSB_MCPU_HOSTS",
];

impl SpreadArgs {
    /// The MPI library that was named.
    pub(crate) fn library(&self) -> Option<&Path> {
        given(self.mpi_lib.as_ref())
    }

    /// All processes.
    pub(crate) fn total(&self) -> usize {
        self.processes * self.nodes
    }

    /// Whether all nodes are this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.hostfile.is_none() && !BATCH.iter().any(|name| env::var_os(name).is_some())
    }

    /// Processors of a node; 0 when the nodes share this machine and there are too few for all.
    pub(crate) fn cores(&self) -> usize {
        match self.is_local() {
            true => thread::cores() / self.nodes,
            false => thread::cores(),
        }
    }

    /// The threads of each process where nobody says how many: its share of the cores of its
    /// machine.
    pub(crate) fn share(&self) -> usize {
        (self.cores() / self.processes).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(processes: usize, nodes: usize) -> SpreadArgs {
        SpreadArgs {
            processes,
            nodes,
            hostfile: None,
            launcher_exec: None,
            mpi_lib: None,
        }
    }

    #[test]
    fn sem_g344_processes_of_a_machine_share_its_cores() {
        let cores = thread::cores();
        assert_eq!(spread(1, 1).share(), cores);
        assert_eq!(spread(cores, 1).share(), 1);
        assert_eq!(spread(2 * cores, 1).share(), 1);
        let apart = SpreadArgs {
            hostfile: Some("hosts".into()),
            ..spread(1, 4)
        };
        assert_eq!(apart.share(), cores, "each node has its own");
        if spread(1, 1).is_local() {
            assert_eq!(
                spread(1, 2 * cores).share(),
                1,
                "nodes that are one machine"
            );
        }
    }
}
