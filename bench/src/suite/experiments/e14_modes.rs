//! E14: overhead per stage in the papers' seven modes.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::stages::{PARAMETERS, Peer, Stages, parallels};
use crate::suite::{About, Axis, Case, Experiment, PaperBeside, Picture, Setting};
use motet_sync::thread;

/// Three spawned patterns and four of rendezvous, against parallelism.
#[derive(Debug)]
pub(crate) struct Modes;

const MODES: [(StageMode, Pattern); 7] = [
    (StageMode::Spawned, Pattern::Pipeline),
    (StageMode::Spawned, Pattern::Shift),
    (StageMode::Spawned, Pattern::TwoShifts),
    (StageMode::Rendezvous, Pattern::Pipeline),
    (StageMode::Rendezvous, Pattern::Shift),
    (StageMode::Rendezvous, Pattern::ExchangeTwoShifts),
    (StageMode::Rendezvous, Pattern::Exchange),
];

impl Experiment for Modes {
    fn about(&self) -> About {
        About {
            key: "E14",
            name: "modes",
            title: "Overhead per stage in seven modes",
            question: "What does a stage cost, spawned and rendezvous, for each pattern and number of computations?",
            definition: "Overhead per stage = (T(S) - T(1) * ceil(P / threads)) / S with 20 units of work in each stage, T(1) in the same \
                         process next to T(S), on as many threads as computations but no more than cores. The peers of the \
                         rendezvous modes are tasks, goroutines, virtual threads, threads and processes that wait for their neighbours.",
            parameters: PARAMETERS,
            threats: "With P that is no multiple of the threads, spawned computations are balanced and may beat the rule of \
                      ceil(P / threads), as the papers saw at 7 on 4 cores: the overhead is negative then. Processes that spin suffer most \
                      from other load.",
            sources: &["P1 Table 2", "P2 Table 2"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let mut cases = Vec::new();
        for (mode, pattern) in MODES {
            for parallel in parallels(setting) {
                let stages = Stages {
                    pattern,
                    mode,
                    parallel,
                    threads: parallel.min(thread::cores()),
                    stages: setting.by_effort(5, 50, 20_000),
                    units: 20,
                };
                let peers = match mode {
                    StageMode::Spawned => Peer::SPAWNED,
                    StageMode::Rendezvous => Peer::RENDEZVOUS,
                };
                cases.push(stages.case(setting, peers));
            }
        }
        Ok(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let overhead = Picture::new(
            "e14-overhead",
            "Overhead per stage by parallelism",
            Axis::linear("parallel", "computations"),
            Axis::log("overhead per stage", "us"),
        );
        vec![
            overhead
                .panels_by(&["mode", "pattern"])
                .beside(PaperBeside {
                    table: "p1_table2_overhead",
                    only: &[("status", "ok")],
                    x: "parallel",
                    y: "value",
                    series_by: &["machine", "pattern", "mode"],
                }),
        ]
    }
}
