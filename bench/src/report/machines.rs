//! Claims that compare two machines: of a folder that was joined of two runs.

use super::evidence::{Evidence, ONE_MACHINE, ratio};
use super::judges::OVERHEAD;
use super::verdict::{Judged, at_least, at_most};
use crate::text;

/// A machine is efficient from this on.
const EFFICIENT: f64 = 0.9;

/// A pipeline of as many computations as cores: the machine with more cores over the other one.
pub(super) fn more_cores(rows: &Evidence<'_>) -> Judged {
    let other = rows.beside()?;
    let (here, there) = (rows.cores()?, other.cores()?);
    if here == there {
        return Err(format!("both machines have {here} cores"));
    }
    let cost = |rows: &Evidence<'_>, cores: f64| {
        let all = rows.motet("E06", OVERHEAD).at("pattern", "pipeline");
        all.with("parallel", cores).low()
    };
    let (here, there) = match here > there {
        true => (cost(rows, here), cost(&other, there)),
        false => (cost(&other, there), cost(rows, here)),
    };
    let found = rows.ratio(here, there);
    rows.doubt(&other);
    at_most(found, 1.0, "times the cost on fewer cores")
}

/// What the machine that computes slower takes longer with the most stages, beyond its computing;
/// in the papers 1.40 over 1.07.
pub(super) fn beyond_computing(rows: &Evidence<'_>) -> Judged {
    let other = rows.beside()?;
    let times = |rows: &Evidence<'_>| -> Result<[f64; 3], String> {
        let all = |quantity| rows.motet("E03", quantity).greatest("stages");
        let stages = all("run time").values_of("stages").last().copied();
        let stages = stages.ok_or_else(|| rows.silence("E03"))?;
        Ok([
            stages,
            all("run time").low()?,
            all("run time in one stage").low()?,
        ])
    };
    let ([stages, time, computing], [others, other_time, other_computing]) =
        (times(rows)?, times(&other)?);
    rows.doubt(&other);
    if stages != others {
        return Err(format!(
            "one was measured with {stages} stages at most, the other with {others}"
        ));
    }
    let (mut slower, mut longer) = (computing / other_computing, time / other_time);
    if slower < 1.0 {
        (slower, longer) = (1.0 / slower, 1.0 / longer);
    }
    let percent = |times: f64| text::number(100.0 * (times - 1.0));
    let verdict = at_least(
        ratio(Ok(longer), Ok(slower)),
        1.40 / 1.07,
        "times what its computing explains",
    )?;
    Ok(verdict.found(&format!(
        "computes {} % slower, takes {} % longer",
        percent(slower),
        percent(longer)
    )))
}

/// The least matrix with which each processor is efficient on its most threads: the larger over the
/// smaller.
pub(super) fn smaller_matrices(rows: &Evidence<'_>) -> Judged {
    let all = || rows.motet("E35", "efficiency");
    let processors = all().words_of("processor");
    let [one, other] = &processors[..] else {
        return Err(match processors.is_empty() {
            true => rows.silence("E35"),
            false => ONE_MACHINE.to_owned(),
        });
    };
    let least = |processor: &str| {
        let here = all().at("processor", processor).greatest("threads");
        let sizes = here.points("size")?;
        let efficient = sizes.into_iter().find(|(_, value)| *value >= EFFICIENT);
        efficient.map(|(size, _)| size).ok_or_else(|| {
            format!("{processor} reaches no efficiency of {EFFICIENT} with these matrices")
        })
    };
    let (one, other) = (least(one)?, least(other)?);
    at_least(
        Ok(one.max(other) / one.min(other)),
        4.0,
        "times as many rows",
    )
}
