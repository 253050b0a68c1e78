//! R155: where the model f = a p / N fails.

use crate::selection::Missing;
use crate::suite::layouts;
use crate::suite::{About, Axis, Case, Experiment, Picture, Quantity, Setting};

/// Overhead by the size of the data, over a wider range than the papers'.
#[derive(Debug)]
pub(crate) struct LinearModels;

const FACTOR: Quantity = Quantity::new("overhead f N / p", "");

impl Experiment for LinearModels {
    fn about(&self) -> About {
        About {
            key: "R155",
            name: "linear-models",
            title: "Where linear models fail",
            question: "In which range is the overhead proportional to p / N, for threads and for processes?",
            definition: "f = p T(p) / T(1) - 1 of a step of pairwise annealing of N sequences as in E28 and E31, from so few sequences that \
                         f is large to many, and f N / p: the factor of the model f = a p / N, which is the same for all N where the model holds.",
            parameters: layouts::PARAMETERS,
            threats: "Where f is small, f N / p multiplies the spread of the run times by N / p: look at least and most.",
            sources: &["P4 IV.C", "P4 VI", "R155"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(
            &[100][..],
            &[32, 64, 128, 256, 512, 1_024, 2_048, 4_096],
            &[32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192],
        );
        let mut all = layouts::threads_only();
        all.extend(layouts::processes_only());
        let quantities = [layouts::OVERHEAD, FACTOR];
        layouts::of_ranks(setting, &all, sizes, &quantities, |times| times.factor())
    }

    fn pictures(&self) -> Vec<Picture> {
        let (x, title) = (
            Axis::log("points", "sequences"),
            "Overhead by the number of sequences",
        );
        let overhead = Picture::new("r155-overhead", title, x, Axis::log("overhead f", ""));
        let title = "The factor of a model f = a p / N";
        let factor = Picture::new("r155-factor", title, x, Axis::log(FACTOR.name, ""));
        let by_pattern = |picture: Picture| picture.series_by(&["pattern"]);
        vec![by_pattern(overhead), by_pattern(factor)]
    }
}
