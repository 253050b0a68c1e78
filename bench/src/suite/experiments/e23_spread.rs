//! E23: fluctuation of the clustering kernel: spread between synchronisations.

use crate::selection::Missing;
use crate::suite::synchronised::Kernel;
use crate::suite::{About, Axis, Case, Experiment, Picture, Quantity, Setting};

/// How far the threads lie apart.
#[derive(Debug)]
pub(crate) struct SpreadThreads;

const SPREAD: Quantity = Quantity::new("spread over mean", "");

impl Experiment for SpreadThreads {
    fn about(&self) -> About {
        About {
            key: "E23",
            name: "spread",
            title: "Fluctuation of the clustering kernel: spread",
            question: "How long do the fastest of the threads wait for the slowest?",
            definition: "The kernel of E20. For each synchronisation the longest time of a thread minus the shortest; the mean over all \
                         synchronisations, divided by the mean time. 0 for one thread by definition.",
            parameters: &[
                ("points per thread", "n"),
                ("clusters", "K"),
                ("threads", "P"),
            ],
            threats: "As E22. What is lost at a synchronisation is the longest minus the mean, which is about half of it for two \
                      threads.",
            sources: &["P3 Fig. 8"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        Ok(Kernel::cases(
            setting,
            &[SPREAD],
            |kernel, points| Ok(vec![kernel.run(points)?.spread_over_mean()]),
            |case, _| case,
        ))
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e23-spread",
            "Spread of the kernel's times over their mean",
            Axis::linear("threads", "threads"),
            Axis::linear("spread over mean", ""),
        );
        vec![
            picture
                .series_by(&["points per thread"])
                .panels_by(&["clusters"]),
        ]
    }
}
