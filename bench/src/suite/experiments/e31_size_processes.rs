//! E31: overhead by the size of the data, processes in a node.

use crate::selection::Missing;
use crate::suite::layouts;
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};

/// Overhead f of 1 x m x n for three sizes.
#[derive(Debug)]
pub(crate) struct SizeProcesses;

impl Experiment for SizeProcesses {
    fn about(&self) -> About {
        About {
            key: "E31",
            name: "size-processes",
            title: "Overhead against data size, processes in a node",
            question: "Is the overhead of processes a function of the grain size alone?",
            definition: "E28 with one thread in each of m processes.",
            parameters: layouts::PARAMETERS,
            threats: "As E28.",
            sources: &["P4 Fig. 11"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[100][..], &layouts::SIZES, &layouts::LARGE);
        layouts::overheads(setting, &layouts::processes_in_nodes(), sizes)
    }

    fn pictures(&self) -> Vec<Picture> {
        let of = [
            ("e31-overhead", "Overhead of processes against p / N"),
            (
                "e31-two-factors",
                "Overhead of processes against p / N, model of p / N and n",
            ),
        ];
        let pictures = layouts::two_models(Axis::linear("p/N", "1/points"), of, &["p/N", "nodes"]);
        pictures.into()
    }
}
