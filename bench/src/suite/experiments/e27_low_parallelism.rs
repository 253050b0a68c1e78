//! E27: overhead at low parallelism.

use crate::selection::Missing;
use crate::suite::layouts;
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};

/// Overhead f of all patterns of few cores.
#[derive(Debug)]
pub(crate) struct LowParallelism;

impl Experiment for LowParallelism {
    fn about(&self) -> About {
        About {
            key: "E27",
            name: "low-parallelism",
            title: "Overhead at low parallelism, threads and processes",
            question: "With few cores: do processes lose less than threads?",
            definition: "f as in E26, N = 2,000 (4,000 with --full), in all patterns t x m x n up to the cores there are, 64 at most.",
            parameters: layouts::PARAMETERS,
            threats: "As E25.",
            sources: &["P4 Fig. 6", "P4 Fig. 7"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[100][..], &[2_000][..], &[4_000][..]);
        layouts::overheads(setting, &layouts::low(), sizes)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e27-overhead",
            "Overhead at low parallelism",
            Axis::linear("pattern", ""),
            Axis::linear("overhead f", ""),
        );
        vec![picture.bars().panels_by(&["points"])]
    }
}
