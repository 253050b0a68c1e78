//! The programs of stages, with units of work in each stage.

use crate::unit::Units;
use motet_patterns::{rendezvous, spawned};
use std::time::Duration;

pub use motet_patterns::{Pattern, StageMode};

/// `parallel` computations of `stages` stages of `work.count` units.
pub(crate) type WorkProgram = motet_patterns::PatternProgram<Units>;

/// The same work in one stage, on as many computations at once as there are threads for. Also how
/// often that many have to take turns. Without overhead the program takes so many times as long.
pub(crate) fn one_stage(program: &WorkProgram) -> (WorkProgram, f64) {
    let once = WorkProgram {
        parallel: program.parallel.min(program.threads),
        stages: 1,
        work: Units {
            count: program.work.count * program.stages,
            ..program.work
        },
        ..*program
    };
    (once, program.parallel.div_ceil(program.threads) as f64)
}

/// Runs a program of motet's.
pub(crate) fn run(mode: StageMode, program: &WorkProgram) -> Duration {
    match mode {
        StageMode::Spawned => spawned::run(program),
        StageMode::Rendezvous => rendezvous::run(program),
    }
}

/// What a stage adds in µs, the run time in s, and that of the same work in one stage. All three
/// are of a pair of runs in turn.
pub(crate) fn overhead(
    program: &WorkProgram,
    run: &dyn Fn(&WorkProgram) -> Result<Duration, String>,
) -> Result<[f64; 3], String> {
    let (once, rounds) = one_stage(program);
    let ideal = run(&once)?.as_secs_f64() * rounds;
    let time = run(program)?.as_secs_f64();
    Ok([(time - ideal) * 1e6 / program.stages as f64, time, ideal])
}
