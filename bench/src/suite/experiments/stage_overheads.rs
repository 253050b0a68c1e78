//! E06, E14, E16, E21, R131, R163: what a stage costs, by pattern, mode, computations, threads and
//! work.

use crate::measuring::{Cases, Setting};
use crate::program::{Pattern, StageMode};
use crate::suite::stages::{Peer, Stages, parallels};
use itertools::iproduct;
use motet_sync::thread;

/// E06: spawned stages for each pattern, with as many threads as computations and with the default.
pub(crate) fn e06(setting: &Setting) -> Cases {
    let patterns = [
        Pattern::Pipeline,
        Pattern::Shift,
        Pattern::TwoShifts,
        Pattern::Exchange,
    ];
    let case = |(pattern, parallel, choice): (_, usize, _)| {
        // The peers' threads are as many as motet's: one choice says it all.
        let (threads, peers) = match choice {
            "match" => (parallel, &[][..]),
            _ => (thread::cores(), Peer::SPAWNED),
        };
        let stages = Stages {
            pattern,
            mode: StageMode::Spawned,
            parallel,
            threads,
            stages: setting.by_effort(5, 100, 20_000),
            units: 20,
        };
        stages.case_at(stages.point(setting).with("choice", choice), setting, peers)
    };
    let all = iproduct!(patterns, parallels(setting), ["match", "default"]);
    // Alone all patterns are one.
    let all = all.filter(|&(pattern, parallel, _)| parallel > 1 || pattern == Pattern::Pipeline);
    Ok(all.map(case).collect())
}

/// E14: the papers' seven modes: three spawned patterns and four of rendezvous, against
/// parallelism.
pub(crate) fn e14(setting: &Setting) -> Cases {
    let modes = [
        (StageMode::Spawned, Pattern::Pipeline),
        (StageMode::Spawned, Pattern::Shift),
        (StageMode::Spawned, Pattern::TwoShifts),
        (StageMode::Rendezvous, Pattern::Pipeline),
        (StageMode::Rendezvous, Pattern::Shift),
        (StageMode::Rendezvous, Pattern::ExchangeTwoShifts),
        (StageMode::Rendezvous, Pattern::Exchange),
    ];
    let case = |((mode, pattern), parallel): (_, usize)| {
        let stages = Stages {
            pattern,
            mode,
            parallel,
            threads: parallel.min(thread::cores()),
            stages: setting.by_effort(5, 50, 20_000),
            units: 20,
        };
        stages.case(setting, Peer::of(mode))
    };
    Ok(iproduct!(modes, parallels(setting)).map(case).collect())
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
    let case = |(pattern, parallel): (_, usize)| {
        let stages = Stages {
            pattern,
            mode: StageMode::Rendezvous,
            parallel,
            threads: parallel.min(cores),
            stages: setting.by_effort(5, 1_000, 50_000),
            units: 20,
        };
        stages.case(setting, &peers)
    };
    let patterns = [Pattern::Shift, Pattern::Exchange];
    Ok(iproduct!(patterns, parallels).map(case).collect())
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
    let case = |(pattern, threads, &parallel): (_, usize, &usize)| {
        let stages = Stages {
            pattern,
            mode: StageMode::Spawned,
            parallel,
            threads,
            stages: setting.by_effort(5, 20_000, 200_000),
            units: 0,
        };
        stages.case(setting, &[])
    };
    let patterns = [Pattern::Pipeline, Pattern::Exchange];
    let all = iproduct!(patterns, threads, computations);
    let all = all.filter(|(_, threads, parallel)| *parallel >= threads);
    Ok(all.map(case).collect())
}

/// R130, R163: how overhead grows when a stage has hardly any work.
pub(crate) fn r163(setting: &Setting) -> Cases {
    let units: &[u64] = setting.by_effort(
        &[0, 5],
        &[0, 1, 2, 5, 20, 100],
        &[0, 1, 2, 5, 10, 20, 50, 100],
    );
    let case = |(pattern, mode, &units)| {
        let stages = Stages {
            pattern,
            mode,
            parallel: thread::cores(),
            threads: thread::cores(),
            stages: setting.by_effort(5, 1_000, 10_000),
            units,
        };
        stages.case(setting, &[])
    };
    let patterns = [Pattern::Pipeline, Pattern::Exchange];
    let modes = [StageMode::Spawned, StageMode::Rendezvous];
    Ok(iproduct!(patterns, modes, units).map(case).collect())
}
