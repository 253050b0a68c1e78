//! E03 to E05, E15: fixed work, cut into more and more stages.

use crate::measuring::{Case, Cases, Setting};
use crate::program::{Pattern, StageMode};
use crate::suite::stages::{Peer, Stages};
use motet_sync::thread;

/// E03: Pipeline of four spawned computations, from one stage to ten million.
pub(crate) fn e03(setting: &Setting) -> Cases {
    spawned(setting, Pattern::Pipeline, 4)
}

/// E04: Pipeline of two.
pub(crate) fn e04(setting: &Setting) -> Cases {
    spawned(setting, Pattern::Pipeline, 2)
}

/// E05: Exchange of four.
pub(crate) fn e05(setting: &Setting) -> Cases {
    spawned(setting, Pattern::Exchange, 4)
}

/// E15: Ranks on all cores: Exchange, Exchange as two shifts and Shift.
pub(crate) fn e15(setting: &Setting) -> Cases {
    let patterns = [
        Pattern::Exchange,
        Pattern::ExchangeTwoShifts,
        Pattern::Shift,
    ];
    let parallel = thread::cores().max(2);
    let cases = |pattern| cases(setting, pattern, StageMode::Rendezvous, parallel);
    Ok(patterns.into_iter().flat_map(cases).collect())
}

fn spawned(setting: &Setting, pattern: Pattern, parallel: usize) -> Cases {
    Ok(cases(setting, pattern, StageMode::Spawned, parallel))
}

/// A case for each number of stages.
fn cases(setting: &Setting, pattern: Pattern, mode: StageMode, parallel: usize) -> Vec<Case> {
    // The papers' work is 10^7 units, about 14 s.
    let units: u64 = setting.by_effort(20, 5_000, 10_000_000);
    // T(1) is in every row: at one stage there is nothing to divide by.
    let stages: &[u64] = setting.by_effort(
        &[20],
        &[50, 500, 5_000],
        &[10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000],
    );
    let case = |&stages: &u64| {
        let stages = Stages {
            pattern,
            mode,
            parallel,
            threads: parallel.min(thread::cores()),
            stages,
            units: units / stages,
        };
        stages.case(setting, Peer::of(mode))
    };
    stages.iter().map(case).collect()
}
