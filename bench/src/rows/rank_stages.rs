//! Ranks that wait for their neighbours, beside C programs on MPI (papers E14, E15, R034 to R039).
//!
//! Question: what does a stage of a rendezvous program cost, beside the same program on the MPI
//! libraries there are, each at its best setting? Definition: time of S stages over S, until all
//! ranks have done all, with 0, 1 and 20 units of work in each. tokio and Go run their ring of
//! messages beside the stages without work: one message a stage for pipeline and shift, two for the
//! exchanges, no rank that waits for both sides. Threats: with work in each stage the work is most
//! of the time, so those rows only say that nobody is faster; processes that spin suffer more from
//! other load than ranks do.

use crate::contest::{Bar, Contest, ContestProgram as Run};
use crate::peers::go::Go;
use crate::peers::mpi::Mpi;
use crate::peers::tokio;
use crate::program::{Pattern, WorkProgram};
use crate::unit::{Unit, Units};
use motet_patterns::rendezvous;
use motet_sync::thread;
use std::rc::Rc;

const PATTERNS: [Pattern; 4] = [
    Pattern::Pipeline,
    Pattern::Shift,
    Pattern::Exchange,
    Pattern::ExchangeTwoShifts,
];
const RANKS: [usize; 6] = [1, 2, 3, 4, 7, 8];
const UNITS: [u64; 3] = [0, 1, 20];
/// With more ranks than two on two cores a stage takes at most this part of the time of any MPI.
const PART: f64 = 0.2;
/// Stages at least.
const LEAST: u64 = 20;

/// The peers, built once for all rows.
#[derive(Clone, Copy)]
pub(crate) struct Peers<'a> {
    pub(crate) mpi: &'a Rc<[Mpi]>,
    pub(crate) go: &'a Rc<Result<Go, String>>,
    /// Each run of a program of MPI takes about so long, in µs.
    pub(crate) budget_us: f64,
}

/// One row for each pattern, number of ranks and amount of work.
pub(crate) fn contests(stages: u64, peers: Peers<'_>) -> Vec<Contest> {
    let unit = Unit::calibrate();
    let mut contests = Vec::new();
    for pattern in PATTERNS {
        for parallel in RANKS {
            for units in UNITS {
                let program = WorkProgram {
                    pattern,
                    parallel,
                    stages: (stages / (units + 1)).max(LEAST),
                    threads: parallel.min(thread::cores()),
                    pin: parallel >= thread::cores(),
                    work: Units { unit, count: units },
                };
                contests.push(contest(program, peers));
            }
        }
    }
    contests
}

fn contest(program: WorkProgram, peers: Peers<'_>) -> Contest {
    let few = program.parallel <= 2;
    let mut against: Vec<(&'static str, Run)> = Vec::new();
    let mut bars = Vec::new();
    for at in 0..peers.mpi.len() {
        let name = peers.mpi[at].name;
        against.push((
            name,
            on_mpi(Rc::clone(peers.mpi), at, program, peers.budget_us),
        ));
        let times = if few || program.work.count > 0 {
            1.0
        } else {
            PART
        };
        bars.push(Bar::AtMostTimes(times, name));
    }
    if program.work.count == 0 {
        for (name, run) in rings(program, peers.go) {
            against.push((name, run));
            if !few {
                bars.push(Bar::AtMostTimes(1.0, name));
            }
        }
    }
    let WorkProgram {
        pattern, parallel, ..
    } = program;
    let units = program.work.count;
    Contest {
        row: format!("ranks {pattern}, P = {parallel}, U = {units}"),
        unit: "µs a stage",
        motet: Box::new(move || {
            Ok(rendezvous::run(&program).as_secs_f64() * 1e6 / program.stages as f64)
        }),
        peers: against,
        bars,
        limit: None,
        cold: false,
    }
}

/// The program in C.
fn on_mpi(all: Rc<[Mpi]>, at: usize, program: WorkProgram, budget_us: f64) -> Run {
    Box::new(move || Ok(all[at].stages(&program, budget_us)?.0))
}

/// The rings of tokio and Go with as many messages a stage.
fn rings(program: WorkProgram, go: &Rc<Result<Go, String>>) -> [(&'static str, Run); 2] {
    let (pattern, tokio_name, go_name) = match program.pattern {
        Pattern::Exchange | Pattern::ExchangeTwoShifts | Pattern::TwoShifts => {
            (Pattern::TwoShifts, "tokio, two shifts", "go, two shifts")
        }
        one @ (Pattern::Pipeline | Pattern::Shift) => (one, "tokio", "go"),
    };
    let ring = WorkProgram { pattern, ..program };
    let go = Rc::clone(go);
    let per = move |time: std::time::Duration| time.as_secs_f64() * 1e6 / ring.stages as f64;
    [
        (
            tokio_name,
            Box::new(move || tokio::channels(&ring).map(per)),
        ),
        (
            go_name,
            Box::new(move || {
                let go = go.as_ref().as_ref().map_err(Clone::clone)?;
                go.ring(&ring).map(per)
            }),
        ),
    ]
}
