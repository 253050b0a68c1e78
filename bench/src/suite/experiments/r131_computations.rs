//! R131, R134, R164: computations and threads beyond the cores, and short of them.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::stages::{PARAMETERS, Stages};
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};
use motet_sync::thread;

/// Overhead per stage for each number of computations and of threads.
#[derive(Debug)]
pub(crate) struct Computations;

impl Experiment for Computations {
    fn about(&self) -> About {
        About {
            key: "R131",
            name: "computations",
            title: "Computations and threads, fewer and more than cores",
            question: "Why is overhead lower with fewer computations, why does it double with twice as many as cores, and which \
                       number of threads is best?",
            definition: "Overhead per stage = (T(S) - T(1) * ceil(P / threads)) / S without any work in a stage, in the \
                         mode \"spawned\" of motet. A thread has the messages of ceil(P / threads) computations to handle: divided \
                         by that the overhead is one of a message.",
            parameters: PARAMETERS,
            threats: "Without work nothing hides a message that comes late: with work in the stages the overhead may be less. \
                      Where the machine is busy, a part of 20 units cannot be told from its fluctuation.",
            sources: &["R131", "R132", "R134", "R164"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let cores = thread::cores();
        let computations: &[usize] =
            setting.by_effort(&[1, 2], &[1, 2, 4, 8], &[1, 2, 4, 8, 16, 32]);
        let mut threads = vec![1, cores, 2 * cores];
        threads.dedup();
        let mut cases = Vec::new();
        for pattern in [Pattern::Pipeline, Pattern::Exchange] {
            for &threads in &threads {
                for &parallel in computations.iter().filter(|&&parallel| parallel >= threads) {
                    let stages = Stages {
                        pattern,
                        mode: StageMode::Spawned,
                        parallel,
                        threads,
                        stages: setting.by_effort(5, 20_000, 200_000),
                        units: 0,
                    };
                    cases.push(stages.case(setting, &[]));
                }
            }
        }
        Ok(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "r131-overhead",
            "Overhead per stage by computations",
            Axis::log("parallel", "computations"),
            Axis::log("overhead per stage", "us"),
        );
        vec![picture.series_by(&["threads"]).panels_by(&["pattern"])]
    }
}
