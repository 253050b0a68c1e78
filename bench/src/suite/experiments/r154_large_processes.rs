//! R154: whether a process with much memory is slower.

use crate::selection::Missing;
use crate::suite::layouts::{self, ThreadLayout};
use crate::suite::{About, Axis, Case, Experiment, Picture, Quantity, Series, Setting};
use motet_sync::thread;
use std::hint::black_box;

/// What a pair of sequences costs a core, by the memory that a step goes over and by what the
/// process holds besides.
#[derive(Debug)]
pub(crate) struct LargeProcesses;

const PAIR: Quantity = Quantity::new("time per pair and core", "ns");

impl Experiment for LargeProcesses {
    fn about(&self) -> About {
        About {
            key: "R154",
            name: "large-processes",
            title: "Processes with much memory",
            question: "Does the same work cost more in a process that has more memory, and do more, smaller processes help?",
            definition: "p T(p) / N^2 of a step of pairwise annealing of N sequences, which goes once over a matrix of N^2 numbers: \
                         on one thread, on all cores in one process, and in as many processes. Held besides: memory that the process has \
                         written to and does not use in the step.",
            parameters: PARAMETERS,
            threats: "A matrix that fits a cache is read faster than one that does not, whoever owns it: compare the layouts at one size, \
                      and rows that differ in what is held besides. The papers' system was Windows.",
            sources: &["P4 IV.B", "R154"],
        }
    }

    fn cases(&self, setting: &Setting) -> Result<Vec<Case>, Missing> {
        let sizes = setting.by_effort(
            &[100][..],
            &[500, 1_000, 2_000, 4_000],
            &[500, 1_000, 2_000, 4_000, 8_000, 16_000],
        );
        let held: &[usize] = setting.by_effort(&[0, 1], &[0, 1_024], &[0, 1_024, 4_096]);
        let mut all = Vec::new();
        for &held in held {
            let wanted = |layout: &ThreadLayout| {
                let full = layout.threads * layout.processes == thread::cores();
                let one_way = layout.threads == 1 || layout.processes == 1;
                let one_way = one_way && layout.nodes == 1;
                // What is held besides is held by this process.
                one_way && (full || layout.processes == 1) && (held == 0 || layout.processes == 1)
            };
            let layouts: Vec<ThreadLayout> =
                ThreadLayout::all().into_iter().filter(wanted).collect();
            let value = |times: &layouts::CaseTimes<'_>| Ok(vec![times.pair_ns()?]);
            let cases = layouts::of_ranks(setting, &layouts, sizes, &[PAIR], value)?;
            all.extend(cases.into_iter().map(|case| holding(case, held)));
        }
        Ok(all)
    }

    fn pictures(&self) -> Vec<Picture> {
        let picture = Picture::new(
            "r154-pairs",
            "A pair of sequences, by the process it is computed in",
            Axis::log("points", "sequences"),
            Axis::linear(PAIR.name, "ns"),
        );
        vec![picture.series_by(&["pattern"]).panels_by(&["held MB"])]
    }
}

const HELD: (&str, &str) = (
    "held MB",
    "memory that the process holds besides, in 2^20 bytes",
);

/// Those of layouts, and what is held.
const PARAMETERS: &[(&str, &str)] = {
    let [a, b, c, d, e, f, g, h] = layouts::PARAMETERS else {
        panic!("layouts have eight parameters");
    };
    &[*a, *b, *c, *d, *e, *f, *g, *h, HELD]
};

/// The case, in a process that holds so many MB besides.
fn holding(mut case: Case, megabytes: usize) -> Case {
    case.point = case.point.with("held MB", megabytes);
    let all = case.series.into_iter().map(|mut series| Series {
        name: series.name,
        program: Box::new(move || {
            // Each page is written to, so that it is there.
            let held = vec![1_u8; megabytes << 20];
            let values = (series.program)();
            black_box(held);
            values
        }),
    });
    case.series = all.collect();
    case
}
