//! What several claims ask of rows, and verdicts that take more than a line.

use super::evidence::{Cut, Evidence, quantity, ratio};
use super::verdict::{Judged, Verdict, at_least, at_most, not_noise};
use crate::fit;

pub(super) const OVERHEAD: &str = "overhead per stage";
pub(super) const COPY: &str = "copy bandwidth";
pub(super) const F: &str = "overhead f";
pub(super) const C_MPI: &[&str] = &["MPI", "MPICH", "Open MPI", "Intel MPI"];
pub(super) const JAVA_MPI: &[&str] = &["MPJ Express", "Java on Intel MPI"];
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

fn times(rows: &Evidence<'_>, experiment: &str, most: f64) -> Result<fit::StraightLine, String> {
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

/// Pipelines, twice as many as cores over as many. They run with as many threads as computations
/// where they are pinned alike, or with as many threads as cores.
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

/// The least that an MPI in Java costs over the least in C.
pub(super) fn beside_java_mpi(rows: &Evidence<'_>, all: &Cut<'_>) -> Judged {
    let java = all.clone().series(JAVA_MPI);
    let found = rows.ratio(java.low(), all.clone().series(C_MPI).low());
    let names = java.names().join(", ");
    let verdict = at_least(found, 2.0, "times the best MPI in C")?;
    Ok(verdict.found(&format!("the best of {names}")))
}

/// Whether f falls from the least to the greatest value of a parameter, to at most `bound`, in each
/// data set. It is taken with its most threads and its greatest value of the other parameter.
pub(super) fn falls(cut: &Cut<'_>, parameter: &str, other: &str, bound: f64) -> Judged {
    let mut all = Verdict {
        holds: true,
        found: String::new(),
        bound: format!("falling, at most {bound}"),
    };
    for data in ["census", "chemistry as floats", "chemistry as bits"] {
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
        all.holds &= last < first && last <= bound;
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
    // Of one node: what several cost beside each other on one machine is no matter of grain.
    let all = rows.motet(experiment, F).form("motet");
    let points = all.with("nodes", 1.0).points("p/N")?;
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
    let all = rows.motet("E25", "run time").with("p", cores);
    let all = all.with("nodes", 1.0);
    if all.values_of("points").len() == 1 {
        return Err("one size was measured: --full has small grains".to_owned());
    }
    let all = all.least("points");
    let threads = all.clone().with("processes", 1.0).low();
    let found = ratio(threads, all.with("threads", 1.0).low());
    let verdict = at_most(found, 1.0, "times the processes' time")?;
    Ok(match cores < LOW_PARALLELISM {
        true => verdict.found("few cores, where the papers have processes ahead"),
        false => verdict,
    })
}

/// The papers' run of the largest overhead: sequences and cores.
const MANY: (f64, f64) = (35_339.0, 768.0);

/// f = p T(p) / T(1) - 1 by the model T(p) = (a N² + b N)/p + d N + c log₂ p of a step.
/// - a and b are of one rank over the sizes measured. a N² is the product, b N the shares and sums.
///   Ranks share both.
/// - `d N` is what all ranks do: the shares of all rows are brought together. `c` is for each
///   doubling of the ranks. Both are what all cores of this machine take beyond that.
pub(super) fn on_many_cores(rows: &Evidence<'_>) -> Judged {
    let all = || {
        rows.motet("E25", "run time")
            .form("motet")
            .with("processes", 1.0)
            .with("nodes", 1.0)
    };
    let times = all().with("p", 1.0).points("points")?;
    let cores = rows.cores()?;
    if times.len() < 2 || cores < 2.0 {
        return Err("the model takes two sizes and two cores at least".to_owned());
    }
    let (a, b) = two_parts(&times, &times, |n| (n * n, n));
    let alone = |n: f64| a * n * n + b * n;
    let together = all().with("p", cores).points("points")?;
    if together.len() < 2 {
        return Err("all cores have fewer than two sizes".to_owned());
    }
    let rest = together.iter().map(|(n, t)| (*n, t - alone(*n) / cores));
    let (d, c) = two_parts(&rest.collect::<Vec<_>>(), &together, |n| (n, cores.log2()));
    let (n, p) = MANY;
    let f = p * (d * n + c * p.log2()) / alone(n);
    let parts = format!(
        "a model: a = {:.3} ns a pair, b = {:.1} and d = {:.1} ns a row, \
         c = {:.1} us a doubling",
        a * 1e3,
        b * 1e3,
        d * 1e3,
        c
    );
    Ok(at_most(Ok(f), 0.72, "")?.found(&parts))
}

/// x and y, neither below 0, of t = x f + y g, with `parts` f and g of a size. The sum of the
/// squared errors, relative to `whole`, is the least.
fn two_parts(
    times: &[(f64, f64)],
    whole: &[(f64, f64)],
    parts: impl Fn(f64) -> (f64, f64),
) -> (f64, f64) {
    // Divided by the whole w: t/w = x (f/w) + y (g/w).
    let [mut ff, mut fg, mut gg, mut ft, mut gt] = [0.0; 5];
    for ((n, t), (_, w)) in times.iter().zip(whole) {
        let (f, g) = parts(*n);
        let (f, g, t) = (f / w, g / w, t / w);
        ff += f * f;
        fg += f * g;
        gg += g * g;
        ft += f * t;
        gt += g * t;
    }
    let det = ff * gg - fg * fg;
    let (x, y) = ((ft * gg - gt * fg) / det, (gt * ff - ft * fg) / det);
    match (x >= 0.0, y >= 0.0) {
        (true, true) => (x, y),
        (true, false) => ((ft / ff).max(0.0), 0.0),
        _ => (0.0, (gt / gg).max(0.0)),
    }
}

/// Threads inside nodes beside processes inside, as many nodes of each. Where no node has several
/// cores: threads in one node beside processes and beside nodes, which is as far as it can be told.
pub(super) fn threads_inside(rows: &Evidence<'_>) -> Judged {
    let cores = rows.cores()?;
    if cores < 2.0 {
        return Err("one core is one node of one thread".to_owned());
    }
    let all = rows
        .motet("E25", "run time")
        .with("p", cores)
        .greatest("points");
    let us = |threads: f64, processes: f64, nodes: f64| {
        let all = all.clone().with("threads", threads);
        all.with("processes", processes).with("nodes", nodes).low()
    };
    let (threads, processes) = (us(cores, 1.0, 1.0)?, us(1.0, cores, 1.0)?);
    let nodes = us(1.0, 1.0, cores)?;
    let alone = format!(
        "a step takes {} by threads, {} by processes, {} by nodes of one core",
        quantity(threads, "µs"),
        quantity(processes, "µs"),
        quantity(nodes, "µs")
    );
    let several = all.values_of("nodes").into_iter();
    let several = several.filter(|nodes| (2.0..cores).contains(nodes));
    let inside = several.map(|nodes| {
        let within = cores / nodes;
        ratio(us(within, 1.0, nodes), us(1.0, within, nodes))
    });
    let ratios = inside.collect::<Result<Vec<f64>, String>>()?;
    match ratios.into_iter().reduce(f64::max) {
        Some(worst) => {
            let verdict = at_most(Ok(worst), 1.0, "times the time of processes inside")?;
            Ok(verdict.found(&alone))
        }
        None => {
            let ratio = Ok(threads / processes.min(nodes));
            let verdict = at_most(ratio, 1.0, "times the better of processes and nodes")?;
            Ok(verdict.found(&format!("{alone}, and a node of this machine has no more")))
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_and_a_line_are_told_apart() {
        let parts = |n: f64| (n * n, n);
        let fit = |times: &[(f64, f64)]| two_parts(times, times, parts);
        let time = |n: f64| (n, 3.0 * n * n + 50.0 * n);
        let (a, b) = fit(&[time(10.0), time(20.0), time(40.0)]);
        assert!((a - 3.0).abs() < 1e-9 && (b - 50.0).abs() < 1e-6, "{a} {b}");
        let (a, b) = fit(&[(10.0, 200.0), (20.0, 900.0)]);
        assert!(a > 2.0 && b == 0.0);
        // Less than nothing is nothing.
        let whole = [(1.0, 9.0), (2.0, 9.0)];
        let none = two_parts(&[(1.0, -1.0), (2.0, -3.0)], &whole, |n| (n, 1.0));
        assert_eq!(none, (0.0, 0.0));
    }
}
