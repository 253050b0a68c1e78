//! E25: execution time by pattern of threads and processes.

use crate::selection::Missing;
use crate::suite::layouts::{self, ThreadLayout};
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
            question: "For the same number of cores: threads in a process, processes, nodes, or several of them?",
            definition: "A step of pairwise annealing of N sequences of 300 letters in ten families, with ten clusters: the \
                         product of a rank's rows of the N x N dissimilarities (the shares of letters that differ) with the \
                         shares of all, a reduction of the sums, the new shares of a rank's rows and an allgather of them; \
                         on t threads in each of m processes on each of n nodes (t x m x n). A node is a namespace of this machine: a network, \
                         a host name and processes of its own, t m of the cores for itself, and a virtual cable to a switch, over which \
                         MPI sends by TCP. motet: a rank for each thread, over MPI between processes; motet ports: the \
                         same over ports, the papers' way, in one process; motet dynamic: one rank for each process, whose \
                         blocks of 64 rows t threads of motet's parallel loop take; rayon: the same by rayon's threads.",
            parameters: layouts::PARAMETERS,
            threats: "Nodes are namespaces of one machine, and share its cores, caches and memory: t m n is at most its cores, so \
                      more nodes have fewer cores each, and with two cores a node has one. Their cable is memory of the \
                      kernel: TCP costs the cores what a network card would do, and no wire has a length. Sequences are \
                      made, without gaps, and N is smaller than the papers': each process holds all rows.",
            sources: &["P4 Fig. 4"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(&[100][..], &layouts::SIZES[..], &layouts::LARGE[..]);
        layouts::cases(
            setting,
            &ThreadLayout::all(),
            sizes,
            layouts::TIME,
            |times| Ok(vec![times.us()?]),
        )
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
