//! Ranks in several processes, beside C programs on the same MPI library (papers R042; E15).
//!
//! Question: what does the fabric between processes add to the library under it? Is a rank in the
//! same process cheaper than one in another? Definition: time of a round until all ranks have done
//! all, t ranks in each of m processes. The C program has one rank in each of as many processes.
//! Threats: starting processes takes longer than measuring them.

use crate::contest::{Bar, Contest, ContestProgram};
use crate::peers::mpi::Mpi;
use crate::program::Pattern;
use crate::rank_program::{RankMeasured, RankProgram};
use crate::rows::pairwise_steps::{self, Hands};
use crate::rows::rank_collectives::{CollectiveOperation, LEAST, run_on};
use crate::rows::rank_stages::Peers;
use crate::rows::trees;
use crate::rows::windows;
use crate::said::Said;
use itertools::iproduct;
use motet_comm::World;
use motet_mining::Dissimilarities;
use motet_patterns::{PatternProgram as Stages, rendezvous};
use motet_problems::Uts;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// The rows for each library that motet can open. `motet` is the program that runs
/// [`RankProgram`]s.
pub(crate) fn contests(peers: Peers<'_>, motet: Option<&Path>) -> Vec<Contest> {
    let Some(motet) = motet else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for at in 0..peers.mpi.len() {
        if peers.mpi[at].library().is_none() {
            continue;
        }
        let side = Side {
            all: Rc::clone(peers.mpi),
            at,
            motet: motet.to_owned(),
            budget_us: peers.budget_us,
        };
        // The C program that does the same, and its arguments.
        for (program, in_c) in [
            (RankProgram::Exchange, "stages exchange 0 1"),
            (RankProgram::Barrier, "collectives barrier 1"),
            (RankProgram::Allreduce(1), "collectives allreduce 1"),
            (RankProgram::Allreduce(4096), "collectives allreduce 4096"),
        ] {
            rows.push(beside_c(program, in_c, &side));
        }
        let programs = [
            RankProgram::Allreduce,
            RankProgram::Broadcast,
            RankProgram::Allgather,
            RankProgram::Alltoall,
        ];
        for (processes, length, program) in iproduct!([2, 4], LENGTHS, programs) {
            rows.push(beside_call(program(length), length, processes, &side));
        }
        rows.extend(PUTS.map(|length| beside_window(length, &side)));
        rows.push(layouts(RankProgram::Exchange, &side));
        rows.push(layouts(RankProgram::Allreduce(1), &side));
        rows.push(tree(&side));
    }
    rows
}

/// Lengths of slices: 8 bytes to 40 MB.
const LENGTHS: [usize; 5] = [1, 128, 1024, 131_072, 5_000_000];
/// Numbers that are put into a window: 8 bytes, and 1 MB.
const PUTS: [usize; 2] = [1, 131_072];
/// Bytes of a slice that is long.
const LONG: usize = 8 * 1024;

/// One library, and what runs on it.
#[derive(Clone)]
struct Side {
    all: Rc<[Mpi]>,
    at: usize,
    motet: PathBuf,
    budget_us: f64,
}

/// One rank in each of two processes, beside the C program.
fn beside_c(program: RankProgram, in_c: &str, side: &Side) -> Contest {
    let name = side.name();
    side.row(program, (1, 2), "")
        .beside(name, side.in_c(in_c, 2))
        .bar(Bar::Within(1.15, 0.3, name))
}

/// One rank in each of so many processes, beside the library's own call.
fn beside_call(program: RankProgram, length: usize, processes: usize, side: &Side) -> Contest {
    // They have the same names in C.
    let in_c = format!("collectives {}", program.to_string().replace(':', " "));
    let long = length * size_of::<f64>() >= LONG;
    side.row(program, (1, processes), ", its own call")
        .beside(side.name(), side.in_c(&in_c, processes))
        .bar(Bar::AtMostTimes(if long { 1.5 } else { 2.0 }, side.name()))
}

/// A put and a fence of one rank in each of two processes, beside those of the library.
fn beside_window(length: usize, side: &Side) -> Contest {
    let name = side.name();
    let shared = match name {
        "Intel MPI" => "Intel MPI, its own memory",
        _ => "MPICH, its own memory",
    };
    let in_c = |memory: &str| side.in_c(&format!("windows {memory} {length}"), 2);
    side.row(RankProgram::Put(length), (1, 2), ", its own window")
        .beside(name, in_c("create"))
        .beside(shared, in_c("allocate"))
        .bar(Bar::AtMostTimes(1.5, name))
}

/// Two ranks in each of two processes, beside four in one and one in each of four.
fn layouts(program: RankProgram, side: &Side) -> Contest {
    side.row(program, (2, 2), "")
        .beside("motet, t = 1, m = 4", side.motet(program, 1, 4))
        .beside("motet, t = 4, m = 1", side.motet(program, 4, 1))
        .bar(Bar::AtMostTimes(1.0, "motet, t = 1, m = 4"))
}

/// A tree that two processes search, beside two threads.
fn tree(side: &Side) -> Contest {
    let threads = "motet, t = 2, m = 1";
    side.row(RankProgram::Uts, (1, 2), "")
        .beside(threads, side.motet(RankProgram::Uts, 2, 1))
        .bar(Bar::AtMostTimes(1.0 / 0.9, threads))
}

impl Side {
    fn name(&self) -> &'static str {
        self.all[self.at].name
    }

    /// Motet with t ranks in each of m processes.
    fn row(&self, program: RankProgram, (t, m): (usize, usize), what: &str) -> Contest {
        let name = format!("over {}, {program}, t = {t}, m = {m}{what}", self.name());
        Contest::new(name, "µs a round", self.motet(program, t, m))
    }

    fn motet(&self, program: RankProgram, threads: usize, processes: usize) -> ContestProgram {
        let side = self.clone();
        Box::new(move || {
            let mpi = &side.all[side.at];
            let program = program.to_string();
            mpi.run_motet(&side.motet, &program, (threads, processes), side.budget_us)
        })
    }

    fn in_c(&self, line: &str, processes: usize) -> ContestProgram {
        let (all, at, budget) = (Rc::clone(&self.all), self.at, self.budget_us.to_string());
        let mut words = line.split(' ').map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let arguments: Vec<String> = words.chain([budget]).collect();
        Box::new(move || all[at].run(&name, processes, &arguments))
    }
}

impl RankProgram {
    /// Runs it on all ranks of `world` until the rounds last about so many µs, and measures those.
    /// All processes of the world call it together.
    ///
    /// # Errors
    /// Why the world has ended early.
    ///
    /// ```
    /// use motet_bench::RankProgram;
    /// use motet_comm::World;
    ///
    /// let measured = RankProgram::Allreduce(3).measure(&World::threads(2), 100.0).unwrap();
    /// assert!(measured.us > 0.0 && measured.processes == 1);
    /// ```
    pub fn measure(self, world: &World, budget_us: f64) -> Result<RankMeasured, String> {
        let pairs = match self {
            RankProgram::Pairwise { rows, .. }
            | RankProgram::PairwiseByLoop { rows, .. }
            | RankProgram::PairwiseByRayon { rows, .. } => Some(pairwise_steps::pairs(rows)),
            _ => None,
        };
        measured(world, budget_us, self.least(), |rounds| {
            self.rounds(world, pairs.as_ref(), rounds)
        })
    }

    /// Who computes the rows of a rank.
    fn hands(self) -> Hands {
        match self {
            RankProgram::PairwiseByLoop { threads, .. } => Hands::filling_by_loop(threads),
            RankProgram::PairwiseByRayon { threads, .. } => Hands::filling_by_rayon(threads),
            _ => Hands::Own,
        }
    }

    /// Rounds at least.
    fn least(self) -> u64 {
        match self {
            // It takes a quarter of a second.
            RankProgram::Uts => 2,
            // A step of thousands of rows takes milliseconds.
            RankProgram::Pairwise { .. }
            | RankProgram::PairwiseByLoop { .. }
            | RankProgram::PairwiseByRayon { .. } => pairwise_steps::LEAST,
            _ => LEAST,
        }
    }

    /// The time of one of so many rounds, in µs.
    fn rounds(
        self,
        world: &World,
        pairs: Option<&Arc<Dissimilarities>>,
        rounds: u64,
    ) -> Result<f64, String> {
        let run = |operation, length| run_on(world, operation, length, rounds);
        match self {
            RankProgram::Exchange => {
                let program = Stages {
                    pattern: Pattern::Exchange,
                    parallel: world.size() * world.process().1,
                    stages: rounds,
                    threads: 0,
                    pin: false,
                    work: (),
                };
                let time = rendezvous::run_on(world, &program);
                Ok(time.as_secs_f64() * 1e6 / rounds as f64)
            }
            RankProgram::Allreduce(length) => run(CollectiveOperation::Allreduce, length),
            RankProgram::Broadcast(length) => run(CollectiveOperation::Broadcast, length),
            RankProgram::Allgather(length) => run(CollectiveOperation::Allgather, length),
            RankProgram::Alltoall(length) => run(CollectiveOperation::Alltoall, length),
            RankProgram::Put(length) => windows::run_on(world, length, rounds),
            RankProgram::Barrier => run(CollectiveOperation::Barrier, 1),
            RankProgram::Uts => trees::run_on(world, &Uts::T1, rounds),
            RankProgram::Pairwise { clusters, .. }
            | RankProgram::PairwiseByLoop { clusters, .. }
            | RankProgram::PairwiseByRayon { clusters, .. } => {
                let pairs = pairs.ok_or("the dissimilarities are not made")?;
                pairwise_steps::run_on(world, (pairs, clusters), self.hands(), rounds)
            }
        }
    }
}

/// The time of one of so many rounds, `least` at least, that they last about `budget_us`, in µs.
/// `time` gives that of one of its argument.
pub(crate) fn measured(
    world: &World,
    budget_us: f64,
    least: u64,
    time: impl Fn(u64) -> Result<f64, String>,
) -> Result<RankMeasured, String> {
    let (mut rounds, processes) = (least, world.process().1);
    // Once for nothing: the first rounds set up what the others use, in ranks as in the library.
    time(rounds)?;
    loop {
        let us = time(rounds)?;
        // All processes must go on alike.
        let longest = world.run(async |comm| comm.allreduce(us, f64::max).await);
        let us = longest.said()?[0];
        if us * rounds as f64 >= budget_us / 2.0 {
            let mpi = "motet";
            return Ok(RankMeasured {
                us,
                rounds,
                processes,
                mpi,
            });
        }
        rounds = ((budget_us / us) as u64).clamp(2 * rounds, 100 * rounds);
    }
}
