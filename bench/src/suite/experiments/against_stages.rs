//! E03 to E05, E15: fixed work, cut into more and more stages.

use crate::program::{Pattern, StageMode};
use crate::suite::stages::{PARAMETERS, Peer, Stages};
use crate::suite::{Axis, Case, Experiment, LineFit, Picture, Setting};
use motet_sync::thread;

/// Pipeline of four spawned computations, from one stage to ten million.
pub(crate) const E03: Experiment = Experiment {
    key: "E03",
    parameters: PARAMETERS,
    cases: |setting| spawned(setting, Pattern::Pipeline, 4),
    pictures: &pictures("e03-time", "e03-overhead"),
};

/// Pipeline of two.
pub(crate) const E04: Experiment = Experiment {
    key: "E04",
    parameters: PARAMETERS,
    cases: |setting| spawned(setting, Pattern::Pipeline, 2),
    pictures: &pictures("e04-time", "e04-overhead"),
};

/// Exchange of four.
pub(crate) const E05: Experiment = Experiment {
    key: "E05",
    parameters: PARAMETERS,
    cases: |setting| spawned(setting, Pattern::Exchange, 4),
    pictures: &pictures("e05-time", "e05-overhead"),
};

/// Ranks on all cores: Exchange, Exchange as two shifts and Shift.
pub(crate) const E15: Experiment = Experiment {
    key: "E15",
    parameters: PARAMETERS,
    cases: |setting| {
        let patterns = [
            Pattern::Exchange,
            Pattern::ExchangeTwoShifts,
            Pattern::Shift,
        ];
        let parallel = thread::cores().max(2);
        let cases = |pattern| cases(setting, pattern, StageMode::Rendezvous, parallel);
        Ok(patterns.into_iter().flat_map(cases).collect())
    },
    pictures: &pictures("e15-time", "e15-overhead"),
};

fn spawned(setting: &Setting, pattern: Pattern, parallel: usize) -> Result<Vec<Case>, String> {
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

/// Run time and overhead against stages.
const fn pictures(time: &'static str, overhead: &'static str) -> [Picture; 2] {
    let time = Picture::new(
        time,
        "Run time against stages",
        Axis::linear("stages", ""),
        Axis::linear("run time", "s"),
    );
    let overhead = Picture::new(
        overhead,
        "Overhead per stage against stages",
        Axis::log("stages", ""),
        Axis::log("overhead per stage", "us"),
    );
    [
        time.panels_by(&["pattern"]).fit(LineFit::Line),
        overhead.panels_by(&["pattern"]),
    ]
}
