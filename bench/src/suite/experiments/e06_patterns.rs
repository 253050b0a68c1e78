//! E06: pattern, threads and parallelism of spawned stages.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::stages::{PARAMETERS, Peer, Stages, parallels};
use crate::suite::{About, Axis, Case, Experiment, LineShape, PaperBeside, Picture, Setting};
use motet_sync::thread;

/// Overhead per stage for each pattern, with as many threads as computations and with the default.
#[derive(Debug)]
pub(crate) struct Patterns;

const PATTERNS: [Pattern; 4] = [
    Pattern::Pipeline,
    Pattern::Shift,
    Pattern::TwoShifts,
    Pattern::Exchange,
];

/// The parameters of all stages, and the choice of threads.
const CHOSEN: &[(&str, &str)] = &[
    PARAMETERS[0],
    PARAMETERS[1],
    PARAMETERS[2],
    (
        "choice",
        "match: as many threads as computations; default: as many as cores",
    ),
    PARAMETERS[3],
    PARAMETERS[4],
    PARAMETERS[5],
    PARAMETERS[6],
];

impl Experiment for Patterns {
    fn about(&self) -> About {
        About {
            key: "E06",
            name: "patterns",
            title: "Pattern, threads and parallelism",
            question: "What does a stage cost that is a fresh handler, for each pattern of messages, each number of \
                       computations, and each choice of threads?",
            definition: "Overhead per stage = (T(S) - T(1) * ceil(P / threads)) / S with 20 units of work in each stage; T(1) is \
                         the same work in one stage, in the same process, next to T(S). \"match\": as many threads as \
                         computations; \"default\": as many as cores. The peers start a task, a goroutine, a virtual thread or a boxed \
                         handler for each message; C has a thread for each computation.",
            parameters: CHOSEN,
            threats: "With more computations than threads, or more threads than cores, the ideal time is by the rule of \
                      ceil(P / threads), which handlers that are balanced may beat: then the overhead is negative. With few stages the \
                      difference of two run times has the spread of both.",
            sources: &["P0 Table 1", "P0 Table 2", "R017", "R132"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let mut cases = Vec::new();
        for pattern in PATTERNS {
            for parallel in parallels(setting) {
                if parallel == 1 && pattern != Pattern::Pipeline {
                    continue;
                }
                for (choice, threads) in [("match", parallel), ("default", thread::cores())] {
                    let stages = Stages {
                        pattern,
                        mode: StageMode::Spawned,
                        parallel,
                        threads,
                        stages: setting.by_effort(5, 100, 20_000),
                        units: 20,
                    };
                    let point = stages.point(setting).with("choice", choice);
                    // The peers' threads are as many as motet's: one choice says it all.
                    let peers = match choice {
                        "default" => Peer::SPAWNED,
                        _ => &[],
                    };
                    cases.push(stages.case_at(point, setting, peers));
                }
            }
        }
        Ok(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let overhead = Axis::log("overhead per stage", "us");
        vec![
            Picture::new(
                "e06-overhead",
                "Overhead per stage by parallelism",
                Axis::linear("parallel", "computations"),
                overhead,
            )
            .series_by(&["choice"])
            .panels_by(&["pattern"])
            .beside(PaperBeside {
                table: "p0_table2_overhead",
                only: &[("status", "ok")],
                x: "parallel",
                y: "value",
                series_by: &["machine", "threads"],
            }),
            Picture {
                shape: LineShape::Bars,
                ..Picture::new(
                    "e06-patterns",
                    "Overhead per stage by pattern",
                    Axis::linear("pattern", ""),
                    overhead,
                )
                .panels_by(&["parallel"])
                .only(&[("choice", "default")])
            },
        ]
    }
}
