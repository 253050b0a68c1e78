//! The rendezvous programs: each computation is a rank that waits for its neighbours (papers R053).

use crate::program::{Pattern, PatternProgram, Work};
use motet_comm::{CommError, Communicator, World};
use std::time::{Duration, Instant};

/// Runs the program; the time from the first rank's start, when all are there, to the last one's
/// end. A rank that never waits may run before rank 0 does, so no single rank's clock will do.
///
/// # Panics
/// For [`Pattern::TwoShifts`], which tests a receive of two items. When the threads do not start.
pub fn run<W: Work>(program: &PatternProgram<W>) -> Duration {
    let world = World::threads(program.parallel).workers(program.threads);
    run_on(&world.pin(program.pin), program)
}

/// As [`run`], on a world of as many ranks; the time in this process.
///
/// # Panics
/// As [`run`], and when the processes of the world cannot go on.
pub fn run_on<W: Work>(world: &World, program: &PatternProgram<W>) -> Duration {
    let spans = world
        .run(async |comm| rank(&comm, program).await)
        .expect("the ranks do not fail");
    let started = spans.iter().map(|span| span.0).min();
    let ended = spans.iter().map(|span| span.1).max();
    ended
        .zip(started)
        .map_or(Duration::ZERO, |(ended, started)| ended - started)
}

async fn rank<W: Work>(
    comm: &Communicator,
    program: &PatternProgram<W>,
) -> Result<(Instant, Instant), CommError> {
    let mut ring = comm.ring::<f64>().await?;
    let mut value = comm.rank() as f64;
    comm.barrier().await?;
    let started = Instant::now();
    // One loop per pattern: the choice is not part of a stage.
    match program.pattern {
        Pattern::Pipeline => {
            let me = comm.rank();
            for _ in 0..program.stages {
                program.work.stage();
                value = comm.sendrecv(me, value, me, 0).await?;
            }
        }
        Pattern::Shift => {
            for _ in 0..program.stages {
                program.work.stage();
                value = ring.shift_right(value).await?;
            }
        }
        Pattern::ExchangeTwoShifts => {
            for _ in 0..program.stages {
                program.work.stage();
                let right = ring.shift_left(value).await?;
                let left = ring.shift_right(value).await?;
                value = 0.5 * (left + right);
            }
        }
        Pattern::Exchange => {
            for _ in 0..program.stages {
                program.work.stage();
                let (left, right) = ring.exchange(value, value).await?;
                value = 0.5 * (left + right);
            }
        }
        Pattern::TwoShifts => panic!("two shifts at once are no rendezvous pattern"),
    }
    let total = comm.reduce(0, value, |a, b| a + b).await?;
    let ended = Instant::now();
    // The values only move and mix: their sum stays.
    let count = program.parallel as f64;
    let expected = count * (count - 1.0) / 2.0;
    if let Some(total) = total {
        assert!(
            (total - expected).abs() <= 1e-6 * expected.max(1.0),
            "{total}, not {expected}"
        );
    }
    Ok((started, ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_comes_to_its_end() {
        let rendezvous = [
            Pattern::Pipeline,
            Pattern::Shift,
            Pattern::ExchangeTwoShifts,
            Pattern::Exchange,
        ];
        for pattern in rendezvous {
            for parallel in [1, 2, 5] {
                let program = PatternProgram {
                    pattern,
                    parallel,
                    stages: 50,
                    threads: 2,
                    pin: false,
                    work: (),
                };
                // The program itself checks what has arrived.
                assert!(run(&program) > Duration::ZERO, "{pattern}, {parallel}");
            }
        }
    }
}
