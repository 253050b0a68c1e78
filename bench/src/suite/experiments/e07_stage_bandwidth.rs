//! E07: bandwidth from the number of stages.

use crate::selection::Missing;
use crate::suite::copies::{Copies, CopyTarget, PARAMETERS};
use crate::suite::{About, Axis, Case, Experiment, LineFit, Picture, Setting};

/// A thousand words copied in each stage, against the number of stages.
#[derive(Debug)]
pub(crate) struct StageBandwidth;

/// Words of a message.
const WORDS: usize = 1_000;

impl Experiment for StageBandwidth {
    fn about(&self) -> About {
        About {
            key: "E07",
            name: "stage-bandwidth",
            title: "Bandwidth from the number of stages",
            question: "How many bytes a second are copied when each stage copies a thousand words that its message \
                       refers to?",
            definition: "Pipeline of four computations with 20 units per stage; each stage copies 1000 words and six integers to the next \
                         part of a large array. Bandwidth: all bytes, counted once, over the time that the threads spend copying, in 1e9 bytes \
                         a second; the papers' 4 * 1000 * 8 * S / (T with copies - T without) follows from the run times. Beside: the same copies on threads that send no messages.",
            parameters: PARAMETERS,
            threats: "A copy of 8 kB takes less than a tenth of the work of its stage, so the difference of two run \
                      times has the spread of both; the time of a copy by the clock has the clock's 25 ns in it.",
            sources: &["P0 Fig. 8"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let stages: &[u64] = setting.by_effort(
            &[5],
            &[500, 1_000, 2_000],
            &[10_000, 30_000, 100_000, 300_000, 1_000_000],
        );
        let case = |&stages| {
            Copies::new(CopyTarget::Stepped, WORDS, (4, stages, 20), setting).case(setting)
        };
        Ok(stages.iter().map(case).collect())
    }

    fn pictures(&self) -> Vec<Picture> {
        let stages = Axis::linear("stages", "");
        vec![
            Picture::new(
                "e07-time",
                "Run time against stages",
                stages,
                Axis::linear("run time", "s"),
            )
            .fit(LineFit::Line),
            Picture::new(
                "e07-bandwidth",
                "Copy bandwidth",
                Axis::log("stages", ""),
                Axis::linear("copy bandwidth", "GB/s"),
            ),
        ]
    }
}
