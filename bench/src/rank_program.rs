//! A program of ranks that is started on several processes, to be measured beside the same in C.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// What the ranks do, round after round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankProgram {
    /// One number to each neighbour on a ring, and one from each.
    Exchange,
    /// The sum of so many f64.
    Allreduce(usize),
    /// So many f64 of rank 0 to all.
    Broadcast(usize),
    /// So many f64 of each rank to all.
    Allgather(usize),
    /// So many f64 of each rank to each.
    Alltoall(usize),
    /// So many f64 put into the window of the next rank, and a fence.
    Put(usize),
    /// Wait for all.
    Barrier,
    /// The nodes of the tree T1 of UTS, counted by all ranks.
    Uts,
    /// A step of pairwise annealing of so many sequences, each rank its share of the rows.
    Pairwise {
        /// Sequences.
        rows: usize,
        /// Clusters.
        clusters: usize,
    },
    /// The same, the share of each rank taken block by block by so many threads of motet.
    PairwiseByLoop {
        /// Sequences.
        rows: usize,
        /// Clusters.
        clusters: usize,
        /// Threads of each rank.
        threads: usize,
    },
    /// The same by threads of rayon.
    PairwiseByRayon {
        /// Sequences.
        rows: usize,
        /// Clusters.
        clusters: usize,
        /// Threads of each rank.
        threads: usize,
    },
}

/// What was measured, as the programs in C print it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankMeasured {
    /// A round, in µs.
    pub us: f64,
    /// Rounds.
    pub rounds: u64,
    /// Processes.
    pub processes: usize,
    /// What carries the messages.
    pub mpi: &'static str,
}

impl fmt::Display for RankProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankProgram::Exchange => f.write_str("exchange"),
            RankProgram::Allreduce(length) => write!(f, "allreduce:{length}"),
            RankProgram::Broadcast(length) => write!(f, "broadcast:{length}"),
            RankProgram::Allgather(length) => write!(f, "allgather:{length}"),
            RankProgram::Alltoall(length) => write!(f, "alltoall:{length}"),
            RankProgram::Put(length) => write!(f, "put:{length}"),
            RankProgram::Barrier => f.write_str("barrier"),
            RankProgram::Uts => f.write_str("uts"),
            RankProgram::Pairwise { rows, clusters } => write!(f, "pairwise:{rows}:{clusters}"),
            RankProgram::PairwiseByLoop {
                rows,
                clusters,
                threads,
            } => write!(f, "pairwise-by-loop:{rows}:{clusters}:{threads}"),
            RankProgram::PairwiseByRayon {
                rows,
                clusters,
                threads,
            } => write!(f, "pairwise-by-rayon:{rows}:{clusters}:{threads}"),
        }
    }
}

impl FromStr for RankProgram {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "{text} is no program: name exchange, barrier, uts, allreduce:LENGTH, broadcast:LENGTH, allgather:LENGTH, \
                 alltoall:LENGTH, put:LENGTH, pairwise:ROWS:CLUSTERS, pairwise-by-loop:ROWS:CLUSTERS:THREADS or pairwise-by-rayon:ROWS:CLUSTERS:THREADS"
            )
        };
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let numbers = numbers.split(':').filter(|number| !number.is_empty());
        let numbers: Result<Vec<usize>, _> = numbers.map(str::parse).collect();
        let numbers = numbers.map_err(|_| unknown())?;
        match (name, &numbers[..]) {
            _ if numbers.contains(&0) => Err(unknown()),
            ("exchange", []) => Ok(RankProgram::Exchange),
            ("barrier", []) => Ok(RankProgram::Barrier),
            ("uts", []) => Ok(RankProgram::Uts),
            ("allreduce", []) => Ok(RankProgram::Allreduce(1)),
            ("allreduce", &[length]) => Ok(RankProgram::Allreduce(length)),
            ("broadcast", &[length]) => Ok(RankProgram::Broadcast(length)),
            ("allgather", &[length]) => Ok(RankProgram::Allgather(length)),
            ("alltoall", &[length]) => Ok(RankProgram::Alltoall(length)),
            ("put", &[length]) => Ok(RankProgram::Put(length)),
            ("pairwise", &[rows, clusters]) => Ok(RankProgram::Pairwise { rows, clusters }),
            ("pairwise-by-loop", &[rows, clusters, threads]) => Ok(RankProgram::PairwiseByLoop {
                rows,
                clusters,
                threads,
            }),
            ("pairwise-by-rayon", &[rows, clusters, threads]) => Ok(RankProgram::PairwiseByRayon {
                rows,
                clusters,
                threads,
            }),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_names() {
        for program in [
            RankProgram::Exchange,
            RankProgram::Allreduce(4096),
            RankProgram::Broadcast(7),
            RankProgram::Allgather(8),
            RankProgram::Alltoall(9),
            RankProgram::Put(3),
            RankProgram::Barrier,
            RankProgram::Uts,
            RankProgram::Pairwise {
                rows: 12_500,
                clusters: 10,
            },
            RankProgram::PairwiseByLoop {
                rows: 12_500,
                clusters: 10,
                threads: 2,
            },
            RankProgram::PairwiseByRayon {
                rows: 12_500,
                clusters: 10,
                threads: 2,
            },
        ] {
            assert_eq!(program.to_string().parse(), Ok(program));
        }
        for wrong in [
            "",
            "exchange:2",
            "allreduce:0",
            "allreduce:x",
            "gather",
            "pairwise:5",
            "pairwise:0:5",
        ] {
            assert!(wrong.parse::<RankProgram>().is_err(), "{wrong}");
        }
    }
}
