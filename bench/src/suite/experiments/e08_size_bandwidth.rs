//! E08: bandwidth from the size of the array, in the papers' three data models.

use crate::selection::Missing;
use crate::suite::copies::{Copies, CopyTarget, PARAMETERS};
use crate::suite::{About, Axis, Case, Experiment, LineFit, PaperBeside, Picture, Setting};

/// Arrays of growing size, copied to a new array, a fixed one, or the next part of a large one.
#[derive(Debug)]
pub(crate) struct SizeBandwidth;

impl Experiment for SizeBandwidth {
    fn about(&self) -> About {
        About {
            key: "E08",
            name: "size-bandwidth",
            title: "Bandwidth from the size of the array",
            question: "How many bytes a second are copied from messages of growing size, to a new array, to a fixed one, and \
                       to the next part of a large one?",
            definition: "Pipeline of four computations; each stage copies the N words that its message refers to, then computes. \
                         Bandwidth: all bytes, counted once, over the time that the threads spend copying, in 1e9 bytes a \
                         second. The papers' 4 * 8 * S over the slope of a line through T(N) follows from the run times. Beside: the same copies on threads that send no \
                         messages.",
            parameters: PARAMETERS,
            threats: "Small arrays stay in a cache. A new array costs its allocation too, and large ones come from the system page \
                      by page. With few words the copy is lost in the spread of the run times, and has the \
                      clock's 25 ns in it.",
            sources: &["P0 Fig. 9 to 12", "P0 Table 3"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let words: &[usize] = setting.by_effort(
            &[100],
            &[1_000, 10_000, 100_000, 1_000_000],
            &[1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
        );
        let shapes: &[(u64, u64)] =
            setting.by_effort(&[(2, 4)], &[(20, 40)], &[(2_500, 40), (2_500, 4_000)]);
        let mut cases = Vec::new();
        for &(stages, units) in shapes {
            for place in CopyTarget::ALL {
                for &words in words {
                    let copies = Copies::new(place, words, (4, stages, units), setting);
                    cases.push(copies.case(setting));
                }
            }
        }
        Ok(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let time = Picture::new(
            "e08-time",
            "Run time against the size of the array",
            Axis::linear("words", "words"),
            Axis::linear("run time", "s"),
        );
        let bandwidth = Picture::new(
            "e08-bandwidth",
            "Copy bandwidth against the size of the array",
            Axis::log("words", "words"),
            Axis::log("copy bandwidth", "GB/s"),
        );
        vec![
            time.panels_by(&["place", "units"]).fit(LineFit::Line),
            bandwidth
                .panels_by(&["place", "units"])
                .beside(PaperBeside {
                    table: "p0_table3_bandwidth",
                    only: &[("status", "ok")],
                    x: "words_per_core",
                    y: "value",
                    series_by: &["machine", "location", "stages"],
                }),
        ]
    }
}
