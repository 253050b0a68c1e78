//! E06, E14, E16, E21, R131, R163: what a stage costs, by pattern, mode, computations, threads and
//! work.

use crate::program::{Pattern, StageMode};
use crate::suite::stages::{PARAMETERS, Peer, Stages, parallels};
use crate::suite::{Axis, Case, Experiment, PaperBeside, Picture, Setting};
use motet_sync::thread;

const OVERHEAD: Axis = Axis::log("overhead per stage", "us");

/// Spawned stages for each pattern, with as many threads as computations and with the default.
pub(crate) const E06: Experiment = Experiment {
    key: "E06",
    parameters: &[
        PARAMETERS[0],
        PARAMETERS[1],
        PARAMETERS[2],
        (
            "choice",
            "match: as many threads as computations; default: as many as cores",
        ),
        PARAMETERS[3],
        PARAMETERS[4],
        PARAMETERS[5],
        PARAMETERS[6],
    ],
    cases: patterns,
    pictures: &[
        Picture::new(
            "e06-overhead",
            "Overhead per stage by parallelism",
            Axis::linear("parallel", "computations"),
            OVERHEAD,
        )
        .series_by(&["choice"])
        .panels_by(&["pattern"])
        .beside(PaperBeside {
            table: "p0_table2_overhead",
            only: &[("status", "ok")],
            x: "parallel",
            y: "value",
            series_by: &["machine", "threads"],
        }),
        Picture::new(
            "e06-patterns",
            "Overhead per stage by pattern",
            Axis::linear("pattern", ""),
            OVERHEAD,
        )
        .bars()
        .panels_by(&["parallel"])
        .only(&[("choice", "default")]),
    ],
};

/// The papers' seven modes: three spawned patterns and four of rendezvous, against parallelism.
pub(crate) const E14: Experiment = Experiment {
    key: "E14",
    parameters: PARAMETERS,
    cases: modes,
    pictures: &[Picture::new(
        "e14-overhead",
        "Overhead per stage by parallelism",
        Axis::linear("parallel", "computations"),
        OVERHEAD,
    )
    .panels_by(&["mode", "pattern"])
    .beside(PaperBeside {
        table: "p1_table2_overhead",
        only: &[("status", "ok")],
        x: "parallel",
        y: "value",
        series_by: &["machine", "pattern", "mode"],
    })],
};

/// Shift and Exchange of ranks, beside Java and MPI.
pub(crate) const E16: Experiment = Experiment {
    key: "E16",
    parameters: PARAMETERS,
    cases: beside_java_and_mpi,
    pictures: &[Picture::new(
        "e16-overhead",
        "Overhead per stage beside Java and MPI",
        Axis::linear("pattern", ""),
        OVERHEAD,
    )
    .bars()
    .panels_by(&["parallel"])
    .beside(PaperBeside {
        table: "text_values",
        only: &[("experiment", "E16")],
        x: "pattern",
        y: "value",
        series_by: &["runtime"],
    })],
};

/// The latency of an exchange on all cores, beside everybody who can.
pub(crate) const E21: Experiment = Experiment {
    key: "E21",
    parameters: PARAMETERS,
    cases: exchange,
    pictures: &[Picture::new(
        "e21-latency",
        "The latency of an exchange",
        Axis::linear("series", ""),
        OVERHEAD,
    )
    .bars()
    .panels_by(&["units"])
    .beside(PaperBeside {
        table: "p3_table3_exchange",
        only: &[("status", "ok")],
        x: "runtime",
        y: "value",
        series_by: &["machine", "os"],
    })],
};

/// R131, R134, R164: computations and threads beyond the cores, and short of them.
pub(crate) const R131: Experiment = Experiment {
    key: "R131",
    parameters: PARAMETERS,
    cases: computations,
    pictures: &[Picture::new(
        "r131-overhead",
        "Overhead per stage by computations",
        Axis::log("parallel", "computations"),
        OVERHEAD,
    )
    .series_by(&["threads"])
    .panels_by(&["pattern"])],
};

/// R130, R163: how overhead grows when a stage has hardly any work.
pub(crate) const R163: Experiment = Experiment {
    key: "R163",
    parameters: PARAMETERS,
    cases: tiny_stages,
    pictures: &[Picture::new(
        "r163-overhead",
        "Overhead per stage by its work",
        Axis::linear("units", "units of work"),
        Axis::linear("overhead per stage", "us"),
    )
    .series_by(&["mode"])
    .panels_by(&["pattern"])],
};

fn patterns(setting: &Setting) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for pattern in [
        Pattern::Pipeline,
        Pattern::Shift,
        Pattern::TwoShifts,
        Pattern::Exchange,
    ] {
        for parallel in parallels(setting) {
            if parallel == 1 && pattern != Pattern::Pipeline {
                continue;
            }
            // The peers' threads are as many as motet's: one choice says it all.
            for (choice, threads, peers) in [
                ("match", parallel, &[][..]),
                ("default", thread::cores(), Peer::SPAWNED),
            ] {
                let stages = Stages {
                    pattern,
                    mode: StageMode::Spawned,
                    parallel,
                    threads,
                    stages: setting.by_effort(5, 100, 20_000),
                    units: 20,
                };
                let point = stages.point(setting).with("choice", choice);
                cases.push(stages.case_at(point, setting, peers));
            }
        }
    }
    Ok(cases)
}

fn modes(setting: &Setting) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (mode, pattern) in [
        (StageMode::Spawned, Pattern::Pipeline),
        (StageMode::Spawned, Pattern::Shift),
        (StageMode::Spawned, Pattern::TwoShifts),
        (StageMode::Rendezvous, Pattern::Pipeline),
        (StageMode::Rendezvous, Pattern::Shift),
        (StageMode::Rendezvous, Pattern::ExchangeTwoShifts),
        (StageMode::Rendezvous, Pattern::Exchange),
    ] {
        for parallel in parallels(setting) {
            let stages = Stages {
                pattern,
                mode,
                parallel,
                threads: parallel.min(thread::cores()),
                stages: setting.by_effort(5, 50, 20_000),
                units: 20,
            };
            cases.push(stages.case(setting, Peer::of(mode)));
        }
    }
    Ok(cases)
}

fn beside_java_and_mpi(setting: &Setting) -> Result<Vec<Case>, String> {
    let peers = [
        Peer::Java,
        Peer::Locks,
        Peer::CSharp,
        Peer::Mpi,
        Peer::JavaMpi,
    ];
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
            cases.push(stages.case(setting, &peers));
        }
    }
    Ok(cases)
}

fn exchange(setting: &Setting) -> Result<Vec<Case>, String> {
    let parallel = thread::cores().max(2);
    let shapes = [
        (20, setting.by_effort(5, 1_000, 100_000)),
        (0, setting.by_effort(20, 20_000, 500_000)),
    ];
    let case = |(units, stages)| {
        let stages = Stages {
            pattern: Pattern::Exchange,
            mode: StageMode::Rendezvous,
            parallel,
            threads: parallel.min(thread::cores()),
            stages,
            units,
        };
        stages.case(setting, Peer::RENDEZVOUS)
    };
    Ok(shapes.map(case).into())
}

fn computations(setting: &Setting) -> Result<Vec<Case>, String> {
    let cores = thread::cores();
    let computations: &[usize] = setting.by_effort(&[1, 2], &[1, 2, 4, 8], &[1, 2, 4, 8, 16, 32]);
    let mut threads = vec![1, cores, 2 * cores];
    threads.dedup();
    let mut cases = Vec::new();
    for pattern in [Pattern::Pipeline, Pattern::Exchange] {
        for &threads in &threads {
            for &parallel in computations.iter().filter(|&&parallel| parallel >= threads) {
                let stages = Stages {
                    pattern,
                    mode: StageMode::Spawned,
                    parallel,
                    threads,
                    stages: setting.by_effort(5, 20_000, 200_000),
                    units: 0,
                };
                cases.push(stages.case(setting, &[]));
            }
        }
    }
    Ok(cases)
}

fn tiny_stages(setting: &Setting) -> Result<Vec<Case>, String> {
    let units: &[u64] = setting.by_effort(
        &[0, 5],
        &[0, 1, 2, 5, 20, 100],
        &[0, 1, 2, 5, 10, 20, 50, 100],
    );
    let mut cases = Vec::new();
    for pattern in [Pattern::Pipeline, Pattern::Exchange] {
        for mode in [StageMode::Spawned, StageMode::Rendezvous] {
            for &units in units {
                let stages = Stages {
                    pattern,
                    mode,
                    parallel: thread::cores(),
                    threads: thread::cores(),
                    stages: setting.by_effort(5, 1_000, 10_000),
                    units,
                };
                cases.push(stages.case(setting, &[]));
            }
        }
    }
    Ok(cases)
}
