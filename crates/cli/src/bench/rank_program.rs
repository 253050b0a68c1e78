//! `motet bench rank-program`: what the experiments start on several processes.

use clap::Args;
use motet::{Current, World};
use motet_bench::RankProgram;

use crate::error::CliError;
use crate::stdout::print;

/// Arguments of `motet bench rank-program`.
#[derive(Debug, Clone, Args)]
pub struct RankProgramArgs {
    /// exchange, barrier, allreduce:LENGTH, annealing:POINTS:CLUSTERS or
    /// annealing-by-rayon:POINTS:CLUSTERS:THREADS
    #[arg(value_name = "PROGRAM")]
    pub program: RankProgram,

    /// How long the rounds are to last, in µs
    #[arg(value_name = "BUDGET")]
    pub budget_us: f64,
}

/// Runs a program of ranks on the world that this process was started in; the first process tells
/// the time.
pub(super) fn run(args: &RankProgramArgs) -> Result<(), CliError> {
    let world = World::current()?;
    let measured = args.program.measure(&world, args.budget_us);
    let measured = measured.map_err(CliError::Run)?;
    if world.process().0 > 0 {
        return Ok(());
    }
    let line = serde_json::to_string(&measured).expect("numbers can be written");
    print(|to| writeln!(to, "{line}"))
}
