//! R130, R163: how overhead grows when a stage has hardly any work.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::stages::{PARAMETERS, Stages};
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};
use motet_sync::thread;

/// Overhead per stage by the work in it.
#[derive(Debug)]
pub(crate) struct TinyStages;

impl Experiment for TinyStages {
    fn about(&self) -> About {
        About {
            key: "R163",
            name: "tiny-stages",
            title: "Stages with hardly any work",
            question: "Does a stage cost more, besides its work, when that work is tiny?",
            definition: "Overhead per stage = (T(S) - T(1)) / S with a computation for each core, by the units of work in each \
                         stage; one unit is about 1.4 us.",
            parameters: PARAMETERS,
            threats: "With much work the difference of two long times has the spread of both: the right end of a line is less sure \
                      than its left end.",
            sources: &["R130", "R163"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let units: &[u64] = setting.by_effort(
            &[0, 5],
            &[0, 1, 2, 5, 20, 100],
            &[0, 1, 2, 5, 10, 20, 50, 100],
        );
        let mut cases = Vec::new();
        for pattern in [Pattern::Pipeline, Pattern::Exchange] {
            for mode in [StageMode::Spawned, StageMode::Rendezvous] {
                for &units in units {
                    let stages = Stages {
                        pattern,
                        mode,
                        parallel: thread::cores(),
                        threads: thread::cores(),
                        stages: setting.by_effort(5, 1_000, 10_000),
                        units,
                    };
                    cases.push(stages.case(setting, &[]));
                }
            }
        }
        Ok(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "r163-overhead",
            "Overhead per stage by its work",
            Axis::linear("units", "units of work"),
            Axis::linear("overhead per stage", "us"),
        );
        vec![picture.series_by(&["mode"]).panels_by(&["pattern"])]
    }
}
