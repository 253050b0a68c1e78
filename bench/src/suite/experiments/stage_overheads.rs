//! E06, E14, E16, E21, R131, R163: what a stage costs, by pattern, mode, computations, threads and
//! work.

use crate::program::{Pattern, StageMode};
use crate::suite::stages::{Peer, Stages, parallels};
use crate::suite::{Cases, Setting};
use motet_sync::thread;

/// E06: spawned stages for each pattern, with as many threads as computations and with the default.
pub(crate) fn e06(setting: &Setting) -> Cases {
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

/// E14: the papers' seven modes: three spawned patterns and four of rendezvous, against
/// parallelism.
pub(crate) fn e14(setting: &Setting) -> Cases {
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

/// E16: Shift and Exchange of ranks, beside Java and MPI.
pub(crate) fn e16(setting: &Setting) -> Cases {
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

/// E21: the latency of an exchange on all cores, beside everybody who can.
pub(crate) fn e21(setting: &Setting) -> Cases {
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

/// R131, R134, R164: computations and threads beyond the cores, and short of them.
pub(crate) fn r131(setting: &Setting) -> Cases {
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

/// R130, R163: how overhead grows when a stage has hardly any work.
pub(crate) fn r163(setting: &Setting) -> Cases {
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
