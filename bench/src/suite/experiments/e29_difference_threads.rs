//! E29: static less dynamic split, threads in a node.

use crate::selection::Missing;
use crate::suite::layouts;
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};

/// f with a static split less f with a dynamic one, t x 1 x n.
#[derive(Debug)]
pub(crate) struct DifferenceThreads;

impl Experiment for DifferenceThreads {
    fn about(&self) -> About {
        About {
            key: "E29",
            name: "difference-threads",
            title: "Static less dynamic split, threads in a node",
            question: "Does it matter for clustering whether the points are split by hand or handed out?",
            definition: "The difference of f between motet's ranks, over ports or over shared memory, each with its share \
                         (static), and motet's parallel loop on the same kernel (dynamic), in the patterns t x 1 x n: p (T static - T dynamic) / T(1), \
                         T(1) being that of motet's one rank for both, all measured one after the other. Positive: the static split loses more.",
            parameters: layouts::PARAMETERS,
            threats: "Every block costs the same here, which is a static split's best case. A difference of two small \
                      numbers: look at least and most.",
            sources: &["P4 Fig. 9"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[100][..], &layouts::SIZES[..], &layouts::LARGE[..]);
        layouts::differences(setting, &layouts::threads_in_nodes(), sizes)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e29-difference",
            "f static less f dynamic, threads",
            Axis::linear("p", "cores"),
            Axis::linear("difference of f", ""),
        );
        vec![picture.series_by(&["points"])]
    }
}
