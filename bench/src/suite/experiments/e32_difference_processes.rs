//! E32: static less dynamic split, processes in a node.

use crate::selection::Missing;
use crate::suite::layouts;
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};

/// f with a static split less f with a dynamic one, 1 x m x n.
#[derive(Debug)]
pub(crate) struct DifferenceProcesses;

impl Experiment for DifferenceProcesses {
    fn about(&self) -> About {
        About {
            key: "E32",
            name: "difference-processes",
            title: "Static less dynamic split, processes in a node",
            question: "Does a scheduler cost anything where it has one thread only to schedule for?",
            definition: "E29 in the patterns 1 x m x n: in each process one rank that computes its share, or one that \
                         hands it block by block to the one thread of a loop.",
            parameters: layouts::PARAMETERS,
            threats: "As E29.",
            sources: &["P4 Fig. 12"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[100][..], &layouts::SIZES[..], &layouts::LARGE[..]);
        layouts::differences(setting, &layouts::processes_in_nodes(), sizes)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e32-difference",
            "f static less f dynamic, processes",
            Axis::linear("p", "cores"),
            Axis::linear("difference of f", ""),
        );
        vec![picture.series_by(&["points"])]
    }
}
