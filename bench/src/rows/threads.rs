//! More threads than cores: what it costs to have too many.
//!
//! Question: how much slower is the same work when the dispatcher has eight threads instead of two?
//! Definition: time of a stage of eight computations on a ring, spawned, without computation.
//! Threats: on a machine with eight cores and more the row says nothing.

use crate::contest::{Bar, Contest};
use crate::program::{Pattern, WorkProgram};
use crate::unit::{Unit, Units};
use motet_patterns::spawned;

const MANY: usize = 8;
const FEW: usize = 2;

/// The rows.
pub(crate) fn contests(stages: u64) -> Vec<Contest> {
    let unit = Unit::calibrate();
    let timed = move |pattern: Pattern, threads: usize| {
        let program = WorkProgram {
            pattern,
            parallel: 8,
            stages,
            threads,
            pin: false,
            work: Units { unit, count: 0 },
        };
        move || Ok(spawned::run(&program).as_secs_f64() * 1e9 / stages as f64)
    };
    [Pattern::Pipeline, Pattern::Shift, Pattern::TwoShifts]
        .map(|pattern| {
            let name = format!("{MANY} threads, spawned {pattern}, P = 8");
            Contest::new(name, "ns a stage", timed(pattern, MANY))
                .beside("two threads", timed(pattern, FEW))
                .bar(Bar::AtMostTimes(1.5, "two threads"))
        })
        .into()
}
