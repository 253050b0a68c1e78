//! Collectives of ranks, beside C programs on MPI (papers R041, R044).
//!
//! Question: are meetings of ranks as cheap as those of processes? Definition: time of a round,
//! until all ranks have done all. The rounds are: barrier; allreduce of 1 and of 4096 f64, summed
//! place by place; broadcast of 4096 f64; 512 f64 from each to each. Beside motet's own allreduce
//! stands the reproducible sum of as many. Long values are slices that are filled in place, here
//! and there, and rounds fit the same time when they are warm. Where eight ranks bring much on two
//! cores, the copies that they cannot do without stand beside them, alone: no bar, but the limit.
//! Threats: starting processes takes longer than measuring them.

use crate::contest::{Bar, Contest};
use crate::peers::copies::{self, CopiedCollective};
use crate::rows::rank_stages::Peers;
use crate::said::Said;
use motet_comm::{CommError, Communicator, World};
use motet_sync::thread;
use std::time::Instant;

/// The numbers of a long vector.
const LONG: usize = 4096;
/// The numbers from each to each.
const EACH: usize = 512;
/// With eight ranks on two cores a round takes at most this part of the time of any MPI.
const PART: f64 = 0.2;
/// A reproducible sum takes at most so many times a plain one.
const REPRODUCIBLE: f64 = 2.0;

/// Rounds at least.
pub(crate) const LEAST: u64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectiveOperation {
    Barrier,
    Allreduce,
    Broadcast,
    Allgather,
    Alltoall,
    ReproducibleSum,
}

/// One row for each operation, length and number of ranks.
pub(crate) fn contests(peers: Peers<'_>) -> Vec<Contest> {
    let budget_us = peers.budget_us;
    let operations = [
        (CollectiveOperation::Barrier, 1),
        (CollectiveOperation::Allreduce, 1),
        (CollectiveOperation::Allreduce, LONG),
        (CollectiveOperation::Broadcast, LONG),
        (CollectiveOperation::Alltoall, EACH),
    ];
    let each = operations
        .into_iter()
        .flat_map(|(operation, length)| [2, 8].map(|ranks| (operation, length, ranks)));
    let beside_mpi = each.map(|(operation, length, ranks)| {
        let motet = move || run(operation, length, ranks, budget_us);
        let row = Contest::new(row(operation, length, ranks), "µs a round", motet);
        let times = if ranks <= 2 { 1.0 } else { PART };
        let row = peers.beside_mpi(row, times, move |mpi, budget_us| {
            let numbers = [length.to_string(), budget_us.to_string()];
            let arguments = [vec![operation.name().to_owned()], numbers.to_vec()].concat();
            mpi.run("collectives", ranks, &arguments)
        });
        match operation.copies().filter(|_| ranks > 2) {
            Some(copies) => row.beside("copies alone", move || {
                copies::run(copies, (ranks, length), budget_us)
            }),
            None => row,
        }
    });
    let reproducible = [2, 8].map(|ranks| {
        let timed = |operation| move || run(operation, LONG, ranks, budget_us);
        let (sum, plain) = (
            CollectiveOperation::ReproducibleSum,
            CollectiveOperation::Allreduce,
        );
        Contest::new(row(sum, LONG, ranks), "µs a round", timed(sum))
            .beside(plain.name(), timed(plain))
            .bar(Bar::AtMostTimes(REPRODUCIBLE, plain.name()))
    });
    beside_mpi.chain(reproducible).collect()
}

fn row(operation: CollectiveOperation, length: usize, ranks: usize) -> String {
    let of = match operation {
        CollectiveOperation::Barrier => String::new(),
        _ => format!(" of {length} f64"),
    };
    format!("{}{of}, P = {ranks}", operation.name())
}

/// The time of one of so many rounds that they last about `budget_us`, in µs.
fn run(
    operation: CollectiveOperation,
    length: usize,
    ranks: usize,
    budget_us: f64,
) -> Result<f64, String> {
    let world = World::threads(ranks).workers(ranks.min(thread::cores()));
    let times = world.run(async |comm| fitted(&comm, operation, length, budget_us).await);
    Ok(times.said()?[0])
}

/// Runs more and more rounds, as the programs in C do; the last ones count.
async fn fitted(
    comm: &Communicator,
    operation: CollectiveOperation,
    length: usize,
    budget_us: f64,
) -> Result<f64, CommError> {
    let mut rounds = LEAST;
    // Once for nothing.
    rank(comm, operation, length, rounds).await?;
    loop {
        let span = rank(comm, operation, length, rounds).await?;
        let span = comm.allreduce(span, f64::max).await?;
        if span >= budget_us / 2.0 {
            return Ok(span / rounds as f64);
        }
        let fit = rounds as f64 * budget_us / span.max(1.0);
        rounds = (fit as u64).clamp(2 * rounds, 100 * rounds);
    }
}

/// The same on a world, as its ranks in this process see it.
pub(crate) fn run_on(
    world: &World,
    operation: CollectiveOperation,
    length: usize,
    rounds: u64,
) -> Result<f64, String> {
    let spans = world
        .run(async |comm| rank(&comm, operation, length, rounds).await)
        .said()?;
    let longest = spans.into_iter().fold(0.0, f64::max);
    Ok(longest / rounds as f64)
}

/// The time of all rounds of one rank, in µs.
async fn rank(
    comm: &Communicator,
    operation: CollectiveOperation,
    length: usize,
    rounds: u64,
) -> Result<f64, CommError> {
    let mine = comm.rank() as f64 + 1.0;
    let all = match operation {
        CollectiveOperation::Alltoall | CollectiveOperation::Allgather => length * comm.size(),
        _ => length,
    };
    let (mut values, mut came) = (vec![mine; all], vec![-1.0; all]);
    let mut sum = 0.0;
    comm.barrier().await?;
    let started = Instant::now();
    for _ in 0..rounds {
        match operation {
            CollectiveOperation::Barrier => comm.barrier().await?,
            CollectiveOperation::Allreduce if length == 1 => {
                sum = comm.allreduce(mine, |a, b| a + b).await?;
            }
            CollectiveOperation::Allreduce => {
                let add = |a: f64, b: f64| a + b;
                comm.allreduce_into(&values, &mut came, add).await?;
            }
            CollectiveOperation::Broadcast => comm.broadcast_into(0, &mut values).await?,
            CollectiveOperation::Allgather => {
                comm.allgather_into(&values[..length], &mut came).await?;
            }
            CollectiveOperation::Alltoall => comm.alltoall_into(&values, &mut came).await?,
            CollectiveOperation::ReproducibleSum => {
                comm.reproducible_sum_into(&values, &mut came).await?;
            }
        }
    }
    let got = match operation {
        CollectiveOperation::Barrier => 0.0,
        CollectiveOperation::Allreduce if length == 1 => sum,
        CollectiveOperation::Broadcast => values[length - 1],
        _ => came[all - 1],
    };
    // A root may be done long before the others are.
    comm.barrier().await?;
    let span = started.elapsed().as_secs_f64() * 1e6;
    let expected = operation.right(comm.size());
    assert!(got == expected, "{got}, not {expected}");
    Ok(span)
}

impl CollectiveOperation {
    /// What so many ranks get last.
    fn right(self, ranks: usize) -> f64 {
        match self {
            CollectiveOperation::Barrier => 0.0,
            CollectiveOperation::Allreduce | CollectiveOperation::ReproducibleSum => {
                (ranks * (ranks + 1)) as f64 / 2.0
            }
            CollectiveOperation::Broadcast => 1.0,
            CollectiveOperation::Allgather | CollectiveOperation::Alltoall => ranks as f64,
        }
    }

    /// Those that ranks on two threads cannot do without.
    fn copies(self) -> Option<CopiedCollective> {
        match self {
            CollectiveOperation::Broadcast => Some(CopiedCollective::Broadcast),
            CollectiveOperation::Alltoall => Some(CopiedCollective::Alltoall),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            CollectiveOperation::Barrier => "barrier",
            CollectiveOperation::Allreduce => "allreduce",
            CollectiveOperation::Broadcast => "broadcast",
            CollectiveOperation::Allgather => "allgather",
            CollectiveOperation::Alltoall => "alltoall",
            CollectiveOperation::ReproducibleSum => "reproducible sum",
        }
    }
}
