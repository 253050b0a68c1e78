//! E25: execution time by pattern of threads and processes.

use crate::selection::Missing;
use crate::suite::layouts::{self, Layout};
use crate::suite::{About, Axis, Case, Experiment, Picture, Setting};

/// Time of a step in each layout.
#[derive(Debug)]
pub(crate) struct PatternTime;

impl Experiment for PatternTime {
    fn about(&self) -> About {
        About {
            key: "E25",
            name: "pattern-time",
            title: "Execution time by pattern t x m x n",
            question: "For the same number of cores: threads in a process, processes, or both?",
            definition: "A step of annealing over all N points of a mixture of normals in the plane, all exponentials \
                         formed, with the sums that all ranks need after it, on t threads in each of m processes on one \
                         node (t x m x 1). motet: a rank for each thread, over MPI between processes; motet ports: the \
                         same over ports, the papers' way, in one process; rayon: one rank for each process, whose blocks \
                         are taken by t threads.",
            parameters: layouts::PARAMETERS,
            threats: "One machine is one node: n is 1 in every pattern. The papers' computation is pairwise annealing, \
                      whose work grows with N squared; here it grows with N, so that communication weighs more at the \
                      same N. Processes on two cores of one chip do not see a network.",
            sources: &["P4 Fig. 4"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[500][..], &[50_000][..], &[12_500, 50_000, 200_000][..]);
        layouts::cases(setting, &Layout::all(), sizes, layouts::TIME, |times| {
            Ok(vec![times.us()?])
        })
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "e25-time",
            "Time of a step by pattern",
            Axis::linear("pattern", ""),
            Axis::log("run time", "us"),
        );
        vec![picture.bars().panels_by(&["points"])]
    }
}
