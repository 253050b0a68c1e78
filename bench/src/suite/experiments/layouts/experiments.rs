//! E25 to E32, R154, R155: what is asked of steps in these layouts.

use super::{
    CaseTimes, LARGE, OVERHEAD, PARAMETERS, SIZES, TIME, ThreadLayout, cases, differences, low,
    of_ranks, overheads, processes_in_nodes, processes_only, threads_in_nodes, threads_only,
};
use crate::suite::{Axis, Case, Experiment, LineFit, Picture, Quantity, Series, Setting};
use motet_sync::thread;
use std::hint::black_box;

/// Time of a step in each layout.
pub(crate) const E25: Experiment = Experiment {
    key: "E25",
    parameters: PARAMETERS,
    cases: |setting| {
        let all = ThreadLayout::all();
        let time = |times: &CaseTimes<'_>| Ok(vec![times.us()?]);
        cases(setting, &all, sizes(setting, &SIZES), TIME, time)
    },
    pictures: &[Picture::new(
        "e25-time",
        "Time of a step by pattern",
        Axis::linear("pattern", ""),
        Axis::log(TIME.name, "us"),
    )
    .bars()
    .panels_by(&["points"])],
};

/// Overhead f of t x 1 x n.
pub(crate) const E26: Experiment = Experiment {
    key: "E26",
    parameters: PARAMETERS,
    cases: |setting| overheads(setting, &threads_in_nodes(), sizes(setting, &[2_000])),
    pictures: &[
        over_cores("e26-overhead", "Overhead of threads in a node").fit(LineFit::ThroughOrigin),
        over_cores(
            "e26-two-factors",
            "Overhead of threads in a node, model of p and n",
        )
        .fit(LineFit::Factors(&["p", "nodes"])),
    ],
};

/// Overhead f of all patterns of few cores.
pub(crate) const E27: Experiment = Experiment {
    key: "E27",
    parameters: PARAMETERS,
    cases: |setting| {
        let sizes = setting.by_effort(&[100], &[2_000], &[4_000]);
        overheads(setting, &low(), sizes)
    },
    pictures: &[Picture::new(
        "e27-overhead",
        "Overhead at low parallelism",
        Axis::linear("pattern", ""),
        F,
    )
    .bars()
    .panels_by(&["points"])],
};

/// Overhead f of t x 1 x n for three sizes.
pub(crate) const E28: Experiment = Experiment {
    key: "E28",
    parameters: PARAMETERS,
    cases: |setting| overheads(setting, &threads_in_nodes(), sizes(setting, &SIZES)),
    pictures: &over_grains([
        ("e28-overhead", "Overhead of threads against p / N"),
        (
            "e28-two-factors",
            "Overhead of threads against p / N, model of p / N and n",
        ),
    ]),
};

/// f with a static split less f with a dynamic one, t x 1 x n.
pub(crate) const E29: Experiment = Experiment {
    key: "E29",
    parameters: PARAMETERS,
    cases: |setting| differences(setting, &threads_in_nodes(), sizes(setting, &SIZES)),
    pictures: &[difference(
        "e29-difference",
        "f static less f dynamic, threads",
    )],
};

/// Overhead f of 1 x m x n.
pub(crate) const E30: Experiment = Experiment {
    key: "E30",
    parameters: PARAMETERS,
    cases: |setting| overheads(setting, &processes_in_nodes(), sizes(setting, &[2_000])),
    pictures: &[
        over_cores("e30-overhead", "Overhead of processes in a node").fit(LineFit::ThroughOrigin),
        over_cores(
            "e30-two-factors",
            "Overhead of processes in a node, model of p and p²",
        )
        .fit(LineFit::Factors(&["p", "p^2"])),
    ],
};

/// Overhead f of 1 x m x n for three sizes.
pub(crate) const E31: Experiment = Experiment {
    key: "E31",
    parameters: PARAMETERS,
    cases: |setting| overheads(setting, &processes_in_nodes(), sizes(setting, &SIZES)),
    pictures: &over_grains([
        ("e31-overhead", "Overhead of processes against p / N"),
        (
            "e31-two-factors",
            "Overhead of processes against p / N, model of p / N and n",
        ),
    ]),
};

/// f with a static split less f with a dynamic one, 1 x m x n.
pub(crate) const E32: Experiment = Experiment {
    key: "E32",
    parameters: PARAMETERS,
    cases: |setting| differences(setting, &processes_in_nodes(), sizes(setting, &SIZES)),
    pictures: &[difference(
        "e32-difference",
        "f static less f dynamic, processes",
    )],
};

/// What a pair of sequences costs a core, by the memory that a step goes over and by what the
/// process holds besides.
pub(crate) const R154: Experiment = Experiment {
    key: "R154",
    parameters: &{
        let [a, b, c, d, e, f, g, h] = *PARAMETERS;
        let meaning = "memory that the process holds besides, in 2^20 bytes";
        [a, b, c, d, e, f, g, h, ("held MB", meaning)]
    },
    cases: large_processes,
    pictures: &[Picture::new(
        "r154-pairs",
        "A pair of sequences, by the process it is computed in",
        Axis::log("points", "sequences"),
        Axis::linear("time per pair and core", "ns"),
    )
    .series_by(&["pattern"])
    .panels_by(&["held MB"])],
};

/// Overhead by the size of the data, over a wider range than the papers': where f = a p / N fails.
pub(crate) const R155: Experiment = Experiment {
    key: "R155",
    parameters: PARAMETERS,
    cases: |setting| {
        let sizes: &[usize] = setting.by_effort(
            &[100],
            &[32, 64, 128, 256, 512, 1_024, 2_048, 4_096],
            &[32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192],
        );
        let all = [threads_only(), processes_only()].concat();
        let quantities = [OVERHEAD, Quantity::new("overhead f N / p", "")];
        of_ranks(setting, &all, sizes, &quantities, |times| times.factor())
    },
    pictures: &[
        over_sequences(
            "r155-overhead",
            "Overhead by the number of sequences",
            "overhead f",
        ),
        over_sequences(
            "r155-factor",
            "The factor of a model f = a p / N",
            "overhead f N / p",
        ),
    ],
};

const F: Axis = Axis::linear(OVERHEAD.name, "");

/// These sizes with `--quick`.
fn sizes(setting: &Setting, quick: &'static [usize]) -> &'static [usize] {
    setting.by_effort(&[100], quick, &LARGE)
}

const fn over_cores(key: &'static str, title: &'static str) -> Picture {
    Picture::new(key, title, Axis::linear("p", "cores"), F).series_by(&["points"])
}

/// f over the inverse grain size, with a line through the origin and with a model of p / N and n.
const fn over_grains([line, model]: [(&'static str, &'static str); 2]) -> [Picture; 2] {
    let x = Axis::linear("p/N", "1/points");
    [
        Picture::new(line.0, line.1, x, F).fit(LineFit::ThroughOrigin),
        Picture::new(model.0, model.1, x, F).fit(LineFit::Factors(&["p/N", "nodes"])),
    ]
}

const fn difference(key: &'static str, title: &'static str) -> Picture {
    let (x, y) = (
        Axis::linear("p", "cores"),
        Axis::linear("difference of f", ""),
    );
    Picture::new(key, title, x, y).series_by(&["points"])
}

const fn over_sequences(key: &'static str, title: &'static str, of: &'static str) -> Picture {
    let x = Axis::log("points", "sequences");
    Picture::new(key, title, x, Axis::log(of, "")).series_by(&["pattern"])
}

fn large_processes(setting: &Setting) -> Result<Vec<Case>, String> {
    let sizes: &[usize] = setting.by_effort(
        &[100],
        &[500, 1_000, 2_000, 4_000],
        &[500, 1_000, 2_000, 4_000, 8_000, 16_000],
    );
    let held: &[usize] = setting.by_effort(&[0, 1], &[0, 1_024], &[0, 1_024, 4_096]);
    let pair = Quantity::new("time per pair and core", "ns");
    let mut all = Vec::new();
    for &held in held {
        let wanted = |layout: &ThreadLayout| {
            let full = layout.threads * layout.processes == thread::cores();
            let one_way = layout.threads == 1 || layout.processes == 1;
            let one_way = one_way && layout.nodes == 1;
            // What is held besides is held by this process.
            one_way && (full || layout.processes == 1) && (held == 0 || layout.processes == 1)
        };
        let layouts: Vec<ThreadLayout> = ThreadLayout::all().into_iter().filter(wanted).collect();
        let value = |times: &CaseTimes<'_>| Ok(vec![times.pair_ns()?]);
        let cases = of_ranks(setting, &layouts, sizes, &[pair], value)?;
        all.extend(cases.into_iter().map(|case| holding(case, held)));
    }
    Ok(all)
}

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
