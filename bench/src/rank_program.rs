//! A program of ranks that is started on several processes, to be measured beside the same in C.

use crate::program::{Pattern, Program};
use crate::rendezvous;
use crate::rows::rank_collectives::{Operation, run_on};
use crate::unit::Unit;
use motet_comm::World;
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
    /// Wait for all.
    Barrier,
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

impl RankProgram {
    /// Runs it on all ranks of `world` until the rounds last about so many µs, and measures those. All processes of
    /// the world call it together.
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
        let (mut rounds, processes) = (20, world.process().1);
        loop {
            let us = self.rounds(world, rounds)?;
            // All processes must go on alike.
            let longest = world.run(async |comm| comm.allreduce(us, f64::max).await);
            let us = longest.map_err(|error| error.to_string())?[0];
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

    /// The time of one of so many rounds, in µs.
    fn rounds(self, world: &World, rounds: u64) -> Result<f64, String> {
        match self {
            RankProgram::Exchange => {
                let program = Program {
                    pattern: Pattern::Exchange,
                    parallel: world.size() * world.process().1,
                    stages: rounds,
                    units: 0,
                    unit: Unit::calibrate(),
                    threads: 0,
                };
                let time = rendezvous::run_on(world, &program);
                Ok(time.as_secs_f64() * 1e6 / rounds as f64)
            }
            RankProgram::Allreduce(length) => run_on(world, Operation::Allreduce, length, rounds),
            RankProgram::Barrier => run_on(world, Operation::Barrier, 1, rounds),
        }
    }
}

impl fmt::Display for RankProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankProgram::Exchange => f.write_str("exchange"),
            RankProgram::Allreduce(length) => write!(f, "allreduce:{length}"),
            RankProgram::Barrier => f.write_str("barrier"),
        }
    }
}

impl FromStr for RankProgram {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, length) = text.split_once(':').unwrap_or((text, "1"));
        let length = length.parse().ok().filter(|length| *length > 0);
        match (name, length) {
            ("exchange", Some(1)) => Ok(RankProgram::Exchange),
            ("allreduce", Some(length)) => Ok(RankProgram::Allreduce(length)),
            ("barrier", Some(1)) => Ok(RankProgram::Barrier),
            _ => Err(format!(
                "{text} is no program: name exchange, barrier or allreduce:LENGTH"
            )),
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
            RankProgram::Barrier,
        ] {
            assert_eq!(program.to_string().parse(), Ok(program));
        }
        for wrong in ["", "exchange:2", "allreduce:0", "allreduce:x", "gather"] {
            assert!(wrong.parse::<RankProgram>().is_err(), "{wrong}");
        }
    }
}
