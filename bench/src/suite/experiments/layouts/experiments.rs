//! E25 to E32, R154, R155: what is asked of steps in these layouts.

use super::{
    CaseTimes, Form, LARGE, OVERHEAD, SIZES, TIME, ThreadLayout, cases, differences, low,
    overheads, processes_in_nodes, processes_only, threads_in_nodes, threads_only,
};
use crate::measuring::{Case, Cases, Quantity, Series, Setting};
use motet_sync::thread;
use std::hint::black_box;

/// E25: time of a step in each layout.
pub(crate) fn e25(setting: &Setting) -> Cases {
    let all = ThreadLayout::all();
    let time = |times: &CaseTimes<'_>| Ok(vec![times.us()?]);
    let sizes = sizes(setting, &SIZES);
    cases(setting, (&all, sizes), &Form::ALL, &[TIME], time)
}

/// E26: overhead f of t x 1 x n.
pub(crate) fn e26(setting: &Setting) -> Cases {
    overheads(setting, &threads_in_nodes(), sizes(setting, &[2_000]))
}

/// E27: overhead f of all patterns of few cores.
pub(crate) fn e27(setting: &Setting) -> Cases {
    let sizes = setting.by_effort(&[100], &[2_000], &[4_000]);
    overheads(setting, &low(), sizes)
}

/// E28: overhead f of t x 1 x n for three sizes.
pub(crate) fn e28(setting: &Setting) -> Cases {
    overheads(setting, &threads_in_nodes(), sizes(setting, &SIZES))
}

/// E29: f with a static split less f with a dynamic one, t x 1 x n.
pub(crate) fn e29(setting: &Setting) -> Cases {
    differences(setting, &threads_in_nodes(), sizes(setting, &SIZES))
}

/// E30: overhead f of 1 x m x n.
pub(crate) fn e30(setting: &Setting) -> Cases {
    overheads(setting, &processes_in_nodes(), sizes(setting, &[2_000]))
}

/// E31: overhead f of 1 x m x n for three sizes.
pub(crate) fn e31(setting: &Setting) -> Cases {
    overheads(setting, &processes_in_nodes(), sizes(setting, &SIZES))
}

/// E32: f with a static split less f with a dynamic one, 1 x m x n.
pub(crate) fn e32(setting: &Setting) -> Cases {
    differences(setting, &processes_in_nodes(), sizes(setting, &SIZES))
}

/// R155: overhead by the size of the data, over a wider range than the papers': where f = a p / N
/// fails.
pub(crate) fn r155(setting: &Setting) -> Cases {
    let sizes: &[usize] = setting.by_effort(
        &[100],
        &[32, 64, 128, 256, 512, 1_024, 2_048, 4_096],
        &[32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192],
    );
    let all = [threads_only(), processes_only()].concat();
    let quantities = [OVERHEAD, Quantity::new("overhead f N / p", "")];
    let factor = |times: &CaseTimes<'_>| times.factor();
    cases(setting, (&all, sizes), &[Form::Ranks], &quantities, factor)
}

/// These sizes with `--quick`.
fn sizes(setting: &Setting, quick: &'static [usize]) -> &'static [usize] {
    setting.by_effort(&[100], quick, &LARGE)
}

/// R154: what a pair of sequences costs a core, by the memory that a step goes over and by what the
/// process holds besides.
pub(crate) fn r154(setting: &Setting) -> Cases {
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
        let cases = cases(setting, (&layouts, sizes), &[Form::Ranks], &[pair], value)?;
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
