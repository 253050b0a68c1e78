//! What several claims ask of rows, and verdicts that take more than a line.

use super::evidence::{Cut, Evidence, quantity, ratio};
use super::verdict::{Judged, Verdict, at_least, at_most, not_noise};
use crate::fit;

pub(super) const OVERHEAD: &str = "overhead per stage";
pub(super) const COPY: &str = "copy bandwidth";
pub(super) const F: &str = "overhead f";
pub(super) const C_MPI: &[&str] = &["MPI", "MPICH", "Open MPI", "Intel MPI"];
/// With fewer cores the papers have processes ahead of threads.
const LOW_PARALLELISM: f64 = 64.0;

/// The slope of motet's run time against stages up to `most`, in µs.
pub(super) fn slope(rows: &Evidence<'_>, experiment: &str, most: f64) -> Result<f64, String> {
    let line = times(rows, experiment, most)?;
    if line.r_squared() < 0.5 {
        let r_squared = quantity(line.r_squared(), "");
        return Err(format!(
            "no line goes through the run times of {experiment} (R² {r_squared}): the stages are lost in their spread"
        ));
    }
    Ok(line.slope() * 1e6)
}

fn times(rows: &Evidence<'_>, experiment: &str, most: f64) -> Result<fit::Line, String> {
    let mut points = rows.motet(experiment, "run time").points("stages")?;
    points.retain(|(stages, _)| *stages <= most);
    fit::line(&points).map_err(|error| format!("{experiment}: {error}"))
}

pub(super) fn linear(rows: &Evidence<'_>) -> Judged {
    not_noise(slope(rows, "E03", 1e6), "µs")?;
    let mut cut = rows.motet("E03", "run time");
    cut.keep("units", |units| units >= 10.0);
    let mut points = cut.points("stages")?;
    points.retain(|(stages, _)| *stages <= 1e6);
    if points.len() < 3 {
        return Err(format!(
            "{} numbers of stages with ten units of work or more do not show a line",
            points.len()
        ));
    }
    let line = fit::line(&points).map_err(|error| format!("E03: {error}"))?;
    at_least(Ok(line.r_squared()), 0.9, "(R²)")
}

/// Motet's overhead with one unit of work in each stage.
pub(super) fn one_unit(rows: &Evidence<'_>, experiment: &str) -> Result<f64, String> {
    let cut = rows.motet(experiment, OVERHEAD).with("units", 1.0);
    let cut = if experiment == "E15" {
        cut.at("pattern", "exchange")
    } else {
        cut
    };
    cut.high()
}

/// Pipelines, twice as many as cores over as many: with as many threads as computations where they
/// are pinned alike, or with as many threads as cores.
pub(super) fn twice_the_computations(rows: &Evidence<'_>) -> Judged {
    let cores = rows.cores()?;
    let all = rows.motet("E06", OVERHEAD).at("pattern", "pipeline");
    for choice in ["match", "default"] {
        let here = all.clone().at("choice", choice);
        let (double, single) = (
            here.clone().with("parallel", 2.0 * cores),
            here.with("parallel", cores),
        );
        if double.words_of("pinned") == single.words_of("pinned") {
            let times = at_most(rows.ratio(double.low(), single.low()), 2.5, "times")?;
            return Ok(match choice {
                "match" => times,
                _ => times.found("threads as cores"),
            });
        }
    }
    Err("one was measured with pinned threads, the other without".to_owned())
}

pub(super) fn stepped<'a>(rows: &'a Evidence<'a>) -> Cut<'a> {
    large(rows).at("place", "stepped").with("units", 40.0)
}

/// Messages of the sizes that the papers call small and large: smaller ones are lost in the spread
/// of the run times.
pub(super) fn large<'a>(rows: &'a Evidence<'a>) -> Cut<'a> {
    let mut cut = rows.motet("E08", COPY);
    cut.keep("words", |words| words >= 1e5);
    cut
}

/// E14 on all cores.
pub(super) fn modes<'a>(rows: &'a Evidence<'a>, mode: &str) -> Result<Modes<'a>, String> {
    let cut = rows.motet("E14", OVERHEAD).at("mode", mode);
    Ok(Modes(cut.with("parallel", rows.cores()?)))
}

pub(super) struct Modes<'a>(Cut<'a>);

impl Modes<'_> {
    /// What the dearest of these patterns costs.
    pub(super) fn dearest(&self, patterns: &[&str]) -> Result<f64, String> {
        let each = patterns
            .iter()
            .map(|pattern| self.0.clone().at("pattern", pattern).low());
        each.reduce(|a, b| Ok(a?.max(b?)))
            .unwrap_or_else(|| Err(String::new()))
    }
}

/// Motet's exchange over an MPI's, with work between exchanges.
pub(super) fn beside_mpi<'a>(
    rows: &'a Evidence<'a>,
    which: fn(&Cut<'a>) -> Result<f64, String>,
) -> Result<f64, String> {
    let all = rows.all("E21", OVERHEAD).greatest("units");
    rows.ratio(
        all.clone().series(&["motet"]).low(),
        which(&all.series(C_MPI)),
    )
}

/// Whether f falls from the least to the greatest value of a parameter, to at most `floor`, in each
/// data set, with its most threads and its greatest value of the other parameter.
pub(super) fn falls(cut: &Cut<'_>, parameter: &str, other: &str, floor: f64) -> Judged {
    let mut all = Verdict {
        holds: true,
        found: String::new(),
        bound: format!("falling, at most {floor}"),
    };
    for data in ["census", "chemistry"] {
        let here = cut
            .clone()
            .at("data", data)
            .greatest("threads")
            .greatest(other);
        let first = here.clone().least(parameter).high()?;
        let last = here.clone().greatest(parameter).low()?;
        if here.values_of(parameter).len() < 2 {
            return Err(format!("{data}: one value of {parameter} was measured"));
        }
        all.holds &= last < first && last <= floor;
        let separator = if all.found.is_empty() { "" } else { "; " };
        all.found += &format!(
            "{separator}{data}: from {} to {}",
            quantity(first, ""),
            quantity(last, "")
        );
    }
    Ok(all)
}

pub(super) fn separation(rows: &Evidence<'_>, words: f64) -> Result<f64, String> {
    rows.motet("E19", "time per addition")
        .with("separation", words)
        .low()
}

/// Time on all cores over that on one thread.
pub(super) fn scaled<'a>(
    rows: &'a Evidence<'a>,
    points: fn(Cut<'a>, &str) -> Cut<'a>,
    clusters: fn(Cut<'a>, &str) -> Cut<'a>,
) -> Result<f64, String> {
    let all = points(rows.motet("E20", "time of a step"), "points per thread");
    let all = clusters(all, "clusters");
    ratio(
        all.clone().greatest("threads").low(),
        all.with("threads", 1.0).low(),
    )
}

pub(super) fn difference(a: Result<f64, String>, b: Result<f64, String>) -> Result<f64, String> {
    Ok(a? - b?)
}

/// R² of f = a p / N.
pub(super) fn one_factor(rows: &Evidence<'_>, experiment: &str) -> Result<f64, String> {
    let points = rows.motet(experiment, F).form("motet").points("p/N")?;
    if points.len() < 3 {
        return Err(format!(
            "{experiment}: {} points do not show whether a model fits",
            points.len()
        ));
    }
    let fit = fit::through_origin(&points).map_err(|error| format!("{experiment}: {error}"))?;
    Ok(fit.r_squared)
}

pub(super) fn threads_or_processes(rows: &Evidence<'_>) -> Judged {
    let cores = rows.cores()?;
    if cores < 2.0 {
        return Err("one core has no threads or processes beside each other".to_owned());
    }
    if cores < LOW_PARALLELISM {
        return Err(format!(
            "{} cores are low parallelism, where the papers have processes ahead",
            quantity(cores, "")
        ));
    }
    let all = rows.motet("E25", "run time").with("p", cores);
    if all.values_of("points").len() == 1 {
        return Err("one size was measured: --full has small grains".to_owned());
    }
    let all = all.least("points");
    let threads = all.clone().with("processes", 1.0).low();
    at_most(
        ratio(threads, all.with("threads", 1.0).low()),
        1.0,
        "times the processes' time",
    )
}

pub(super) fn static_ahead(rows: &Evidence<'_>) -> Judged {
    let all = rows.motet("E34", "efficiency");
    all.low()?;
    let (mut ahead, mut of) = (0, 0);
    for size in all.values_of("size") {
        let here = all.clone().with("size", size).greatest("threads");
        let fixed = here.clone().series(&["motet static"]).low()?;
        of += 1;
        ahead += usize::from(fixed >= here.series(&["motet dynamic"]).low()?);
    }
    let share = ahead as f64 / f64::from(of.max(1));
    Ok(at_least(Ok(share), 0.5, "of the sizes")?.found(&format!("{ahead} of {of}")))
}
