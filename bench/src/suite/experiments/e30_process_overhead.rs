//! E30: overhead of processes in a node.

use crate::selection::Missing;
use crate::suite::layouts;
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};

/// Overhead f of 1 x m x n.
#[derive(Debug)]
pub(crate) struct ProcessOverhead;

impl Experiment for ProcessOverhead {
    fn about(&self) -> About {
        About {
            key: "E30",
            name: "process-overhead",
            title: "Overhead of processes in a node",
            question: "What do processes inside a node lose that have one thread each?",
            definition: "f as in E26 in the patterns 1 x m x n. The papers' models are f = a1 p and f = a1 p + a2 p \
                         squared.",
            parameters: layouts::PARAMETERS,
            threats: "As E25 and E26.",
            sources: &["P4 Fig. 10"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[100][..], &[2_000][..], &layouts::LARGE[..]);
        layouts::overheads(setting, &layouts::processes_in_nodes(), sizes)
    }

    fn pictures(&self) -> Vec<Picture> {
        let of = [
            ("e30-overhead", "Overhead of processes in a node"),
            (
                "e30-two-factors",
                "Overhead of processes in a node, model of p and p²",
            ),
        ];
        let pictures = layouts::two_models(Axis::linear("p", "cores"), of, &["p", "p^2"]);
        pictures
            .map(|picture| picture.series_by(&["points"]))
            .into()
    }
}
