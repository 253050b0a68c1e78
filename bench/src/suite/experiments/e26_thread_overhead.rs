//! E26: overhead of threads in a node.

use crate::selection::Missing;
use crate::suite::layouts;
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};

/// Overhead f of t x 1 x n.
#[derive(Debug)]
pub(crate) struct ThreadOverhead;

impl Experiment for ThreadOverhead {
    fn about(&self) -> About {
        About {
            key: "E26",
            name: "thread-overhead",
            title: "Overhead of threads in a node",
            question: "What do threads inside a node lose, with a static and a dynamic split?",
            definition: "f = p T(p) / T(1) - 1 of the step of E25 in the patterns t x 1 x n, T(1) being that of motet's one rank for all series, \
                         measured just before. \
                         The papers' model is f = a1 p + a2 n.",
            parameters: layouts::PARAMETERS,
            threats: "As E25, of nodes. One thread may run at a higher clock than all. The model has as many points as there are numbers \
                      of threads: on few cores it says little.",
            sources: &["P4 Fig. 5"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[100][..], &[2_000][..], &layouts::LARGE[..]);
        layouts::overheads(setting, &layouts::threads_in_nodes(), sizes)
    }

    fn pictures(&self) -> Vec<Picture> {
        let of = [
            ("e26-overhead", "Overhead of threads in a node"),
            (
                "e26-two-factors",
                "Overhead of threads in a node, model of p and n",
            ),
        ];
        let pictures = layouts::two_models(Axis::linear("p", "cores"), of, &["p", "nodes"]);
        pictures
            .map(|picture| picture.series_by(&["points"]))
            .into()
    }
}
