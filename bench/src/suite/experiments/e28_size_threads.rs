//! E28: overhead by the size of the data, threads in a node.

use crate::selection::Missing;
use crate::suite::layouts;
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};

/// Overhead f of t x 1 x n for three sizes.
#[derive(Debug)]
pub(crate) struct SizeThreads;

impl Experiment for SizeThreads {
    fn about(&self) -> About {
        About {
            key: "E28",
            name: "size-threads",
            title: "Overhead against data size, threads in a node",
            question: "Is the overhead of threads a function of the grain size alone, whatever the size of the data?",
            definition: "f as in E26 for N = 12,500, 25,000 and 50,000 in the patterns t x 1 x n. One factor: f = a1 p / \
                         N, all sizes together. Two factors: p / N and n.",
            parameters: layouts::PARAMETERS,
            threats: "As E26. Caches hold the small sets and not the large ones, which is no matter of grain.",
            sources: &["P4 Fig. 8"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[100][..], &layouts::SIZES, &layouts::LARGE);
        layouts::overheads(setting, &layouts::threads_in_nodes(), sizes)
    }

    fn pictures(&self) -> Vec<Picture> {
        let of = [
            ("e28-overhead", "Overhead of threads against p / N"),
            (
                "e28-two-factors",
                "Overhead of threads against p / N, model of p / N and n",
            ),
        ];
        let pictures = layouts::two_models(Axis::linear("p/N", "1/points"), of, &["p/N", "nodes"]);
        pictures.into()
    }
}
