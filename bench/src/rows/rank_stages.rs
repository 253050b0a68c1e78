//! Ranks that wait for their neighbours, beside C programs on MPI (papers E14, E15, R034 to R039).
//!
//! Question: what does a stage of a rendezvous program cost, beside the same program on the MPI
//! libraries there are, each at its best setting? Definition: time of S stages over S, until all
//! ranks have done all, with 0, 1 and 20 units of work in each. Beside the stages without work,
//! tokio and Go run their ring of messages. Their ring has one message a stage for pipeline and
//! shift, two for the exchanges, and no rank that waits for both sides. Threats: with work in each
//! stage the work is most of the time, so those rows only say that nobody is faster. Processes that
//! spin suffer more from other load than ranks do.

use crate::contest::{Bar, Contest, ContestProgram as Run};
use crate::kernels::Lazy;
use crate::peers::go::Go;
use crate::peers::mpi::Mpi;
use crate::peers::tokio;
use crate::program::{Pattern, WorkProgram};
use crate::unit::{Unit, Units};
use itertools::iproduct;
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
    pub(crate) go: &'a Rc<Lazy<Go>>,
    /// Each run of a program of MPI takes about so long, in µs.
    pub(crate) budget_us: f64,
}

impl Peers<'_> {
    /// Beside each MPI library's program, which must take so many times as long at least.
    pub(crate) fn beside_mpi(
        &self,
        row: Contest,
        times: f64,
        run: impl Fn(&Mpi, f64) -> Result<f64, String> + Clone + 'static,
    ) -> Contest {
        (0..self.mpi.len()).fold(row, |row, at| {
            let (all, budget_us, run) = (Rc::clone(self.mpi), self.budget_us, run.clone());
            let name = all[at].name;
            row.beside(name, move || run(&all[at], budget_us))
                .bar(Bar::AtMostTimes(times, name))
        })
    }
}

/// One row for each pattern, number of ranks and amount of work.
pub(crate) fn contests(stages: u64, peers: Peers<'_>) -> Vec<Contest> {
    let unit = Unit::calibrate();
    let program = |(pattern, parallel, units): (_, usize, u64)| WorkProgram {
        pattern,
        parallel,
        stages: (stages / (units + 1)).max(LEAST),
        threads: parallel.min(thread::cores()),
        pin: parallel >= thread::cores(),
        work: Units { unit, count: units },
    };
    let all = iproduct!(PATTERNS, RANKS, UNITS).map(program);
    all.map(|program| contest(program, peers)).collect()
}

fn contest(program: WorkProgram, peers: Peers<'_>) -> Contest {
    let WorkProgram {
        pattern, parallel, ..
    } = program;
    let (few, units) = (parallel <= 2, program.work.count);
    let row = Contest::new(
        format!("ranks {pattern}, P = {parallel}, U = {units}"),
        "µs a stage",
        move || Ok(rendezvous::run(&program).as_secs_f64() * 1e6 / program.stages as f64),
    );
    let times = if few || units > 0 { 1.0 } else { PART };
    let row = peers.beside_mpi(row, times, move |mpi, budget_us| {
        Ok(mpi.stages(&program, budget_us)?.0)
    });
    if units > 0 {
        return row;
    }
    rings(program, peers.go)
        .into_iter()
        .fold(row, |row, (name, run)| {
            let row = row.beside(name, run);
            match few {
                true => row,
                false => row.bar(Bar::AtMostTimes(1.0, name)),
            }
        })
}

/// The rings of tokio and Go with as many messages a stage.
fn rings(program: WorkProgram, go: &Rc<Lazy<Go>>) -> [(&'static str, Run); 2] {
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
        (go_name, Box::new(move || go.get()?.ring(&ring).map(per))),
    ]
}
