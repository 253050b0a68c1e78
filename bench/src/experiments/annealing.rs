//! Annealing: what one step costs, beside a Lloyd step of our own and of scikit-learn. Papers E18,
//! E20: the clustering kernel, and clustering of 200,000 census blocks on many cores.
//!
//! Question: how long does a step of annealing take per point and cluster? How much of that is lost
//! on more threads? How does it compare with the step of plain K-means in a library that is known
//! to be fast? How long is a whole run?
//!
//! Definition: nanoseconds per point, cluster and iteration = time of a step / (points × clusters).
//! A step of annealing is one expectation and one maximisation over all points, the reduction over
//! ranks included. A step's cost depends on the temperature, because exponentials that are exact
//! zeros are never formed. So a fit is replayed: its temperatures at which there are all clusters,
//! from cold to hot. Each has as many steps as the fit made there. All are timed together
//! (`annealing`). Beside it stands the step at the fit's first temperature, at which every
//! exponential is formed (`hot`): no step can cost more. A Lloyd step is timed from the same first
//! centres on both sides, and as many steps.
//!
//! Method: only the steps are timed, not the preparation of the points. In every repetition each
//! number of clusters and threads has its turn of ours and of the peer's. So a change of the
//! processor's clock hits all. Ratios are those of neighbours. Rows have medians, least and most.
//!
//! Threats: other load on the machine. A fit makes its hot steps on a summary of the points, which
//! this replay does not. So a fit is faster than the steps suggest. The peer's step is the bare
//! function that its fit calls. Our Lloyd step leaves out centres by the boxes of its tiles, which
//! the peer does not. Points in heaps are where that helps. The points are a mixture of normals:
//! heaps without overlap would be cheaper, uniform points dearer.

mod plan;

use crate::measuring::{Case, CasePlan, MeasuringMethod, Point, Quantity, measured};
use crate::mixture::mixture;
use crate::peers::scikit_learn::ScikitLearn;
use crate::statistics::Spread;
use itertools::{Itertools, iproduct};
use motet_comm::RunError;
use motet_mining::{Annealing, Clusters, MiningError, Points};
pub(crate) use plan::AnnealingPlan;
use plan::{TimedStep, fit};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;
use thiserror::Error;

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnealingConfig {
    /// Points in the plane.
    pub points: usize,
    /// Numbers of clusters.
    pub clusters: Vec<usize>,
    /// Numbers of threads; speed-ups are over the first.
    pub threads: Vec<usize>,
    /// Lloyd steps, and hot annealing steps, per repetition.
    pub steps: usize,
    /// Repetitions.
    pub runs: usize,
    /// Clusters of the whole runs.
    pub whole_clusters: usize,
    /// Repetitions of the whole runs; 0 leaves them out.
    pub whole_runs: usize,
    /// A Python that has scikit-learn; `None` measures without the peer.
    pub python: Option<PathBuf>,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnnealingRecord {
    /// Points.
    pub points: usize,
    /// Columns.
    pub dim: usize,
    /// Repetitions.
    pub runs: usize,
    /// The version of scikit-learn.
    pub peer: Option<String>,
    /// Why there is no peer, if there is none.
    pub peer_absent: Option<String>,
    /// One row per number of clusters and threads.
    pub steps: Vec<StepRecord>,
    /// Whole runs, one row per number of threads.
    pub whole: Vec<WholeRecord>,
}

/// Steps with some clusters on some threads, in nanoseconds per point, cluster and iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRecord {
    /// Clusters.
    pub clusters: usize,
    /// Threads.
    pub threads: usize,
    /// Annealing steps per repetition.
    pub annealing_steps: usize,
    /// Each of [`STEPS`] that was measured.
    pub ns: BTreeMap<&'static str, Spread>,
    /// Each of our steps over scikit-learn's.
    pub over_peer: BTreeMap<&'static str, Spread>,
    /// Each step on the first number of threads over that on this one.
    pub speed_up: BTreeMap<&'static str, Spread>,
}

/// The steps: annealing at the temperatures of a fit, annealing in which every exponential is
/// formed, our Lloyd step, and scikit-learn's.
pub const STEPS: [&str; 4] = ["annealing", "hot", "lloyd", PEER];
const PEER: &str = "scikit-learn";

/// Whole runs of annealing, from points to labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WholeRecord {
    /// Clusters.
    pub clusters: usize,
    /// Threads.
    pub threads: usize,
    /// Seconds of a run.
    pub seconds: Spread,
    /// The first number of threads over this one.
    pub speed_up: Spread,
    /// Repetitions.
    pub runs: usize,
}

/// Why a measurement cannot be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AnnealingError {
    /// The points have no fit with this many clusters that cools all of them.
    #[error("no fit cools {0} clusters; use fewer --clusters or more --points")]
    NotReached(usize),
    /// A run failed.
    #[error("a run failed: {0}")]
    Run(#[from] RunError<MiningError>),
    /// Measured runs failed.
    #[error("{0}")]
    Step(String),
}

/// Measures; calls `progress` with the number of repetitions done.
///
/// # Errors
/// [`AnnealingError`] when points cannot be clustered so or a run fails. A peer that is missing or
/// ends early is no error: the record says why it is absent.
///
/// ```
/// use motet_bench::annealing::{AnnealingConfig, measure};
///
/// let config = AnnealingConfig { points: 2_000, clusters: vec![4], runs: 1, whole_runs: 0, ..AnnealingConfig::default() };
/// let record = measure(&config, |_| ()).unwrap();
/// assert!(record.steps[0].ns["annealing"].median > 0.0);
/// assert!(record.peer_absent.is_some());
/// ```
pub fn measure(
    config: &AnnealingConfig,
    progress: impl FnMut(usize),
) -> Result<AnnealingRecord, AnnealingError> {
    let points = Rc::new(mixture(config.points));
    let mut peer = match &config.python {
        Some(python) => ScikitLearn::start(python),
        None => Err("no Python was named: name one that has scikit-learn".to_owned()),
    };
    if let Ok(peer) = &mut peer {
        peer.points(&points);
    }
    let peer = Rc::new(RefCell::new(peer));
    let plan = |&clusters| AnnealingPlan::new(&points, clusters, config.steps).map(Rc::new);
    let plans: Vec<Rc<AnnealingPlan>> = config.clusters.iter().map(plan).try_collect()?;
    let rows: Vec<(usize, usize)> =
        iproduct!(0..plans.len(), config.threads.iter().copied()).collect();
    let cases = rows
        .iter()
        .map(|&(plan, threads)| steps(&plans[plan], &points, threads, &peer));
    let method = MeasuringMethod::rounds(config.runs, 0);
    let measured = measured(method, cases.collect(), progress);
    let runs: Vec<StepRuns> = (0..rows.len())
        .map(|case| step_runs(&measured, case))
        .try_collect()?;
    let records = rows.iter().zip(&runs).map(|(&(plan, threads), here)| {
        let first = rows.iter().position(|&(other, _)| other == plan);
        let first = &runs[first.unwrap_or_default()];
        let over = |under: &dyn Fn(&str) -> Option<Spread>| {
            let of = |step: &&'static str| Some((*step, under(step)?));
            here.keys().filter_map(of).collect()
        };
        StepRecord {
            clusters: plans[plan].clusters,
            threads,
            annealing_steps: plans[plan].annealing_steps(),
            ns: over(&|name| Some(Spread::of(&here[name]))),
            over_peer: over(&|name| {
                Some(ratios(&here[name], here.get(PEER)?)).filter(|_| name != PEER)
            }),
            speed_up: over(&|name| Some(ratios(first.get(name)?, &here[name]))),
        }
    });
    let peer = peer.borrow();
    Ok(AnnealingRecord {
        points: points.len(),
        dim: points.dim(),
        runs: config.runs,
        steps: records.collect(),
        whole: whole(config, &points)?,
        peer: peer.as_ref().ok().map(|peer| peer.version().to_owned()),
        peer_absent: peer.as_ref().err().cloned(),
    })
}

/// The steps of one number of clusters and threads: ours, and the peer's unless it is absent.
fn steps(
    plan: &Rc<AnnealingPlan>,
    points: &Rc<Points>,
    threads: usize,
    peer: &Rc<RefCell<Result<ScikitLearn, String>>>,
) -> Case {
    let point = Point::new()
        .with("clusters", plan.clusters)
        .with("threads", threads);
    let ours = |step| {
        let (plan, points) = (Rc::clone(plan), Rc::clone(points));
        move || {
            plan.step_ns(&points, threads, step)
                .map_err(|error| error.to_string())
        }
    };
    let (plan, points, peer) = (Rc::clone(plan), Rc::clone(points), Rc::clone(peer));
    Case::new(point, &[Quantity::new("step", "ns per point and cluster")])
        .with(STEPS[0], ours(TimedStep::Annealing))
        .with(STEPS[1], ours(TimedStep::Hot))
        .with(STEPS[2], ours(TimedStep::Lloyd))
        .with(PEER, move || {
            let mut peer = peer.borrow_mut();
            let step = plan.peer_ns(
                &points,
                threads,
                peer.as_mut().map_err(|reason| reason.clone())?,
            );
            if let Err(reason) = &step {
                // One that fails is absent from then on.
                *peer = Err(reason.clone());
            }
            step
        })
}

impl Default for AnnealingConfig {
    fn default() -> Self {
        AnnealingConfig {
            points: 200_000,
            clusters: vec![10, 30],
            threads: vec![1, 2],
            steps: 20,
            runs: 9,
            whole_clusters: 30,
            whole_runs: 3,
            python: None,
        }
    }
}

/// What each step took, round by round, in ns.
type StepRuns = BTreeMap<&'static str, Vec<f64>>;

/// Those of one number of clusters and threads; without the peer's where it is absent.
fn step_runs(plan: &CasePlan, case: usize) -> Result<StepRuns, AnnealingError> {
    let mut runs = BTreeMap::new();
    for (at, step) in STEPS.into_iter().enumerate() {
        match plan.values(case, at, 0) {
            Ok(values) => drop(runs.insert(step, values)),
            Err(_) if step == PEER => {}
            Err(reason) => return Err(AnnealingError::Step(reason)),
        }
    }
    Ok(runs)
}

/// Round by round.
fn ratios(over: &[f64], under: &[f64]) -> Spread {
    Spread::of_rounds(over, under, |over, under| over / under)
}

/// Whole runs, the numbers of threads in turn.
fn whole(
    config: &AnnealingConfig,
    points: &Rc<Points>,
) -> Result<Vec<WholeRecord>, AnnealingError> {
    let method = Annealing {
        clusters: Clusters::Exactly(config.whole_clusters),
        ..Annealing::default()
    };
    let case = |&threads: &usize| {
        let (points, method) = (Rc::clone(points), method.clone());
        let seconds = move || {
            let started = Instant::now();
            fit(&points, threads, &method).map_err(|error| error.to_string())?;
            Ok(started.elapsed().as_secs_f64())
        };
        let point = Point::new().with("threads", threads);
        Case::new(point, &[Quantity::new("time", "s")]).with("motet", seconds)
    };
    if config.whole_runs == 0 || config.threads.is_empty() {
        return Ok(Vec::new());
    }
    let rounds = MeasuringMethod::rounds(config.whole_runs, 0);
    let plan = measured(rounds, config.threads.iter().map(case).collect(), |_| ());
    let seconds = |case| plan.values(case, 0, 0).map_err(AnnealingError::Step);
    let first = seconds(0)?;
    let record = |(case, &threads)| {
        let here = seconds(case)?;
        Ok(WholeRecord {
            clusters: config.whole_clusters,
            threads,
            seconds: Spread::of(&here),
            speed_up: ratios(&first, &here),
            runs: config.whole_runs,
        })
    };
    config.threads.iter().enumerate().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> AnnealingConfig {
        AnnealingConfig {
            points: 3_000,
            clusters: vec![3, 5],
            steps: 2,
            runs: 2,
            whole_clusters: 3,
            whole_runs: 1,
            ..AnnealingConfig::default()
        }
    }

    #[test]
    fn every_row_is_measured() {
        let mut done = Vec::new();
        let record = measure(&small(), |run| done.push(run)).unwrap();
        assert_eq!(done, [1, 2]);
        let shapes: Vec<_> = record
            .steps
            .iter()
            .map(|s| (s.clusters, s.threads))
            .collect();
        assert_eq!(shapes, [(3, 1), (3, 2), (5, 1), (5, 2)]);
        for step in &record.steps {
            assert!(step.annealing_steps > 0);
            assert!(
                step.ns.keys().copied().eq(["annealing", "hot", "lloyd"]),
                "{step:?}"
            );
            for spread in step.ns.values() {
                assert!(0.0 < spread.min && spread.max.is_finite(), "{spread:?}");
            }
            assert!(step.over_peer.is_empty(), "{step:?}");
        }
        assert_eq!(record.steps[2].speed_up["annealing"].median, 1.0);
        assert_eq!(record.whole.len(), 2);
        assert!(record.peer_absent.unwrap().contains("no Python was named"));
    }

    #[test]
    fn a_missing_peer_is_told() {
        let python = Some("no-such-python".into());
        let config = AnnealingConfig {
            python,
            whole_runs: 0,
            ..small()
        };
        let record = measure(&config, |_| ()).unwrap();
        assert!(record.peer.is_none());
        assert!(
            record
                .peer_absent
                .unwrap()
                .starts_with("no-such-python does not run")
        );
    }

    #[test]
    fn what_cannot_be_clustered_is_an_error() {
        // None, and more than points.
        for (points, clusters) in [(3_000, 0), (4, 5)] {
            let run = measure(
                &AnnealingConfig {
                    points,
                    clusters: vec![clusters],
                    ..small()
                },
                |_| (),
            );
            assert!(matches!(run, Err(AnnealingError::Run(_))), "{run:?}");
            let why = run.unwrap_err().to_string();
            assert!(why.starts_with("a run failed: rank "), "{why}");
        }
    }
}
