//! E16: ranks beside Java and MPI.

use crate::program::{Pattern, StageMode};
use crate::selection::Missing;
use crate::suite::stages::{PARAMETERS, Peer, Stages};
use crate::suite::{About, Axis, Case, Experiment, PaperBeside, Picture, Setting};
use motet_sync::thread;

/// Shift and Exchange of four ranks, beside Java and MPI.
#[derive(Debug)]
pub(crate) struct JavaMpi;

const PEERS: &[Peer] = &[
    Peer::Java,
    Peer::Locks,
    Peer::CSharp,
    Peer::Mpi,
    Peer::JavaMpi,
];

impl Experiment for JavaMpi {
    fn about(&self) -> About {
        About {
            key: "E16",
            name: "java-mpi",
            title: "Ranks beside Java and MPI",
            question: "How do ranks compare with what Java and MPI offer for the same patterns?",
            definition: "Overhead per stage of Shift and Exchange with 20 units of work, as in E14, of as many computations as cores \
                         and of four. Java: virtual threads; MPI: a process for each computation; MPI in Java: MPJ Express, a thread or a \
                         process, and Intel MPI by its binding, a process; \
                         C and C# with locks: a thread that sleeps.",
            parameters: PARAMETERS,
            threats: "mpiJava itself is gone: the binding of Intel MPI is to it what mpiJava was to MPICH2. MPI in C and in Java \
                      runs as many stages as its time allows.",
            sources: &["P1 section 5.1", "P1 abstract"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let cores = thread::cores();
        let mut parallels = vec![cores.max(2), 4];
        parallels.dedup();
        let mut cases = Vec::new();
        for pattern in [Pattern::Shift, Pattern::Exchange] {
            for &parallel in &parallels {
                let stages = Stages {
                    pattern,
                    mode: StageMode::Rendezvous,
                    parallel,
                    threads: parallel.min(cores),
                    stages: setting.by_effort(5, 1_000, 50_000),
                    units: 20,
                };
                cases.push(stages.case(setting, PEERS));
            }
        }
        Ok(cases)
    }

    fn pictures(&self) -> Vec<Picture> {
        let overhead = Picture::new(
            "e16-overhead",
            "Overhead per stage beside Java and MPI",
            Axis::linear("pattern", ""),
            Axis::log("overhead per stage", "us"),
        );
        vec![
            overhead
                .bars()
                .panels_by(&["parallel"])
                .beside(PaperBeside {
                    table: "text_values",
                    only: &[("experiment", "E16")],
                    x: "pattern",
                    y: "value",
                    series_by: &["runtime"],
                }),
        ]
    }
}
