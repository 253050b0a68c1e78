//! Spawned stages: each message starts a fresh handler (papers E03, E04, E14).
//!
//! Question: what does a message cost that starts a handler, beside the least that other runtimes
//! ask for a fresh task? Definition: time of S stages without computation over S, at P = 1 over the
//! messages. Threads: P, but no more than cores; the same for all. Threats: at P = 2 everything
//! hangs on how far the cores lie apart (R).

use crate::contest::{Bar, Contest, ContestProgram as Run, MachineLimit};
use crate::kernels::Lazy;
use crate::limits;
use crate::peers::{crossbeam, go::Go, rayon, tokio};
use crate::program::{Pattern, WorkProgram};
use crate::unit::{Unit, Units};
use itertools::iproduct;
use motet_patterns::spawned;
use motet_sync::thread;
use std::rc::Rc;
use std::time::Duration;

/// At most so many ns per message at P = 1.
const MESSAGE_NS: f64 = 80.0;
/// At most so many ns per stage at P = 2 and 4.
const STAGE_NS: f64 = 150.0;

/// One row for each pattern and number of computations.
pub(crate) fn contests(stages: u64, go: &Rc<Lazy<Go>>) -> Vec<Contest> {
    let unit = Unit::calibrate();
    let patterns = [Pattern::Pipeline, Pattern::Shift, Pattern::TwoShifts];
    let program = |(pattern, parallel): (_, usize)| WorkProgram {
        pattern,
        parallel,
        stages,
        threads: parallel.min(thread::cores()),
        pin: parallel >= thread::cores(),
        work: Units { unit, count: 0 },
    };
    let all = iproduct!(patterns, [1, 2, 4, 8]).map(program);
    all.map(|program| contest(program, go)).collect()
}

fn contest(program: WorkProgram, go: &Rc<Lazy<Go>>) -> Contest {
    let messages = match program.pattern {
        Pattern::TwoShifts => 2,
        _ => 1,
    };
    let (per, unit) = match program.parallel {
        1 => (messages * program.stages, "ns a message"),
        _ => (program.stages, "ns a stage"),
    };
    let timed = move |run: fn(&WorkProgram) -> Result<Duration, String>| -> Run {
        Box::new(move || Ok(run(&program)?.as_secs_f64() * 1e9 / per as f64))
    };
    let go = Rc::clone(go);
    let in_go = move || Ok(go.get()?.ring(&program)?.as_secs_f64() * 1e9 / per as f64);
    let row = Contest::new(
        format!("spawned {}, P = {}", program.pattern, program.parallel),
        unit,
        timed(|program| Ok(spawned::run(program))),
    )
    .beside("tokio spawn", timed(tokio::spawn))
    .beside("tokio channels", timed(tokio::channels))
    .beside("rayon", timed(rayon::spawn))
    .beside("crossbeam", timed(crossbeam::threads))
    .beside("go", in_go);
    let row = match program.parallel {
        1 => row.bar(Bar::AtMost(MESSAGE_NS)),
        2 | 4 => row.bar(Bar::AtMost(STAGE_NS)),
        _ => row,
    };
    row.bar(Bar::BelowPeers).within(limit(program.parallel))
}

/// A message that stays on its thread is bounded by A, one that crosses by R.
fn limit(parallel: usize) -> Option<MachineLimit> {
    let (name, us) = match parallel {
        1 => ("A", limits::spawn_us()),
        _ => ("R", limits::roundtrip_us()?),
    };
    Some(MachineLimit {
        name,
        value: us * 1e3,
    })
}
