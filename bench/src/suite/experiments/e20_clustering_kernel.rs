//! E20: the clustering kernel with more points and more threads at once.

use crate::mixture::mixture;
use crate::selection::Missing;
use crate::suite::synchronised::Kernel;
use crate::suite::{About, Axis, Case, Experiment, Picture, Quantity, Setting};

/// Scaled run time of the kernel.
#[derive(Debug)]
pub(crate) struct ClusteringKernel;

const SCALED: Quantity = Quantity::new("scaled run time", "");
const STEP: Quantity = Quantity::new("time of a step", "us");

impl Experiment for ClusteringKernel {
    fn about(&self) -> About {
        About {
            key: "E20",
            name: "clustering-kernel",
            title: "The clustering kernel: scaled run time",
            question: "Does a thread take longer for the same points when other threads compute beside it, and does a point take longer \
                       when there are more of them?",
            definition: "Every thread has n points of its own in the plane, the same ones, and computes one step of annealing with K \
                         clusters over them; then all meet at a barrier, and so on. T(P, n, K) is the mean over threads and \
                         synchronisations of the time between two barriers, which are not counted. Scaled run time = \
                         (T(P, n, K) / (n K)) / (T(1, n0, 1) / n0), n0 being the smallest n; T(1, n0, 1) is measured anew before each \
                         value. All exponentials are formed: every step costs the same.",
            parameters: &[
                ("points per thread", "n"),
                ("clusters", "K"),
                ("threads", "P"),
            ],
            threats: "One cluster is one exponential a point, whose cost does not stand for that of many: more clusters share what a \
                      point costs at all. Threads that share a cache or a power limit are slower together without any fault of \
                      the runtime's. Fewer synchronisations than the papers' 1000 in quick runs.",
            sources: &["P3 Fig. 3", "P3 Fig. 4", "P3 Fig. 5"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let least = Kernel::sizes(setting)[0];
        Ok(Kernel::cases(
            setting,
            &[SCALED, STEP],
            move |kernel, points| {
                let alone = Kernel {
                    threads: 1,
                    points: least,
                    clusters: 1,
                    ..kernel
                };
                let base = alone.run(&mixture(least))?.mean() / least as f64;
                let step = kernel.run(points)?.mean();
                Ok(vec![
                    step / (kernel.points * kernel.clusters) as f64 / base,
                    step,
                ])
            },
            |case, _| case,
        ))
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e20-scaled",
            "Scaled run time of the clustering kernel",
            Axis::linear("threads", "threads"),
            Axis::linear("scaled run time", ""),
        );
        vec![
            picture
                .series_by(&["points per thread"])
                .panels_by(&["clusters"]),
        ]
    }
}
