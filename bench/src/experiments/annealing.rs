//! Annealing: what one step costs, beside a Lloyd step of our own and of scikit-learn (papers E18,
//! E20: the clustering kernel, and clustering of 200,000 census blocks on many cores).
//!
//! Question: how long does a step of annealing take per point and cluster, how much of that is lost
//! on more threads, and how does it compare with the step of plain K-means in a library that is
//! known to be fast? How long is a whole run?
//!
//! Definition: nanoseconds per point, cluster and iteration = time of a step / (points × clusters).
//! A step of annealing is one expectation and one maximisation over all points, the reduction over
//! ranks included. A step's cost depends on the temperature, because exponentials that are exact
//! zeros are never formed. So a fit is replayed: its temperatures at which there are all clusters,
//! each with as many steps as the fit made there, from cold to hot, all timed together
//! (`annealing_ns`). Beside it stands the step at the fit's first temperature, at which every
//! exponential is formed (`hot_ns`): no step can cost more. A Lloyd step is timed from the same
//! first centres on both sides, and as many steps.
//!
//! Method: only the steps are timed, not the preparation of the points. In every repetition each
//! number of clusters and threads has its turn of ours and of the peer's, so that a change of the
//! processor's clock hits all; ratios are those of neighbours; medians, least and most.
//!
//! Threats: other load on the machine. A fit makes its hot steps on a summary of the points, which
//! this replay does not, so a fit is faster than the steps suggest. The peer's step is the bare
//! function that its fit calls; our Lloyd step leaves out centres by the boxes of its tiles, which
//! the peer does not, and points in heaps are where that helps. The points are a mixture of
//! normals: heaps without overlap would be cheaper, uniform points dearer.

mod plan;

use crate::mixture::mixture;
use crate::peers::scikit_learn::ScikitLearn;
use crate::statistics::Spread;
use itertools::{Itertools, iproduct};
use motet_comm::RunError;
use motet_mining::{Annealing, Clusters, MiningError, Points};
pub(crate) use plan::AnnealingPlan;
use plan::{Times, fit};
use serde::Serialize;
use std::path::PathBuf;
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
    /// A step of annealing at the temperatures of a fit.
    pub annealing_ns: Spread,
    /// A step of annealing in which every exponential is formed.
    pub hot_ns: Spread,
    /// Our Lloyd step.
    pub lloyd_ns: Spread,
    /// scikit-learn's Lloyd step.
    pub peer_ns: Option<Spread>,
    /// Our annealing step over scikit-learn's Lloyd step.
    pub annealing_over_peer: Option<Spread>,
    /// Our hot annealing step over scikit-learn's Lloyd step.
    pub hot_over_peer: Option<Spread>,
    /// Our Lloyd step over scikit-learn's.
    pub lloyd_over_peer: Option<Spread>,
    /// Annealing on the first number of threads over annealing on this one.
    pub annealing_speed_up: Spread,
    /// The same for hot annealing steps.
    pub hot_speed_up: Spread,
    /// The same for Lloyd steps.
    pub lloyd_speed_up: Spread,
    /// The same for scikit-learn's Lloyd steps.
    pub peer_speed_up: Option<Spread>,
}

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
    /// A number that must not be 0 is, or a list is empty.
    #[error("--{0} must be at least 1")]
    Zero(&'static str),
    /// The points have no fit with this many clusters that cools all of them.
    #[error("no fit cools {0} clusters; use fewer --clusters or more --points")]
    NotReached(usize),
    /// A run failed.
    #[error("a run failed")]
    Run(#[from] RunError<MiningError>),
}

/// The repetitions of one number of clusters and threads.
struct Row {
    plan: usize,
    threads: usize,
    times: Vec<Times>,
}

/// Measures; calls `progress` with the number of repetitions done.
///
/// # Errors
/// [`AnnealingError`] when there is nothing to measure or a run fails. A peer that is missing or
/// ends early is no error: the record says why it is absent.
///
/// ```
/// use motet_bench::annealing::{AnnealingConfig, measure};
///
/// let config = AnnealingConfig { points: 2_000, clusters: vec![4], runs: 1, whole_runs: 0, ..AnnealingConfig::default() };
/// let record = measure(&config, |_| ()).unwrap();
/// assert!(record.steps[0].annealing_ns.median > 0.0);
/// assert!(record.peer_absent.is_some());
/// ```
pub fn measure(
    config: &AnnealingConfig,
    mut progress: impl FnMut(usize),
) -> Result<AnnealingRecord, AnnealingError> {
    config.check()?;
    let points = mixture(config.points);
    let mut peer = match &config.python {
        Some(python) => ScikitLearn::start(python),
        None => Err("no Python was named: name one that has scikit-learn".to_owned()),
    };
    if let Ok(peer) = &mut peer {
        peer.points(&points);
    }
    let plan = |&clusters| AnnealingPlan::new(&points, clusters, config.steps);
    let plans: Vec<AnnealingPlan> = config.clusters.iter().map(plan).try_collect()?;
    let row = |(plan, &threads)| Row {
        plan,
        threads,
        times: Vec::new(),
    };
    let rows = iproduct!(0..plans.len(), &config.threads);
    let mut rows: Vec<Row> = rows.map(row).collect();
    for run in 0..config.runs {
        for row in &mut rows {
            let times = plans[row.plan].time(&points, row.threads, &mut peer)?;
            row.times.push(times);
        }
        progress(run + 1);
    }
    let records = rows.iter().map(|row| {
        let first = rows.iter().find(|other| other.plan == row.plan);
        row.record(&plans[row.plan], first.unwrap_or(row), peer.is_ok())
    });
    Ok(AnnealingRecord {
        points: points.len(),
        dim: points.dim(),
        runs: config.runs,
        steps: records.collect(),
        whole: whole(config, &points)?,
        peer: peer.as_ref().ok().map(|peer| peer.version().to_owned()),
        peer_absent: peer.err(),
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

impl AnnealingConfig {
    fn check(&self) -> Result<(), AnnealingError> {
        let zero = [
            ("points", self.points == 0),
            (
                "clusters",
                self.clusters.is_empty() || self.clusters.contains(&0) || self.whole_clusters == 0,
            ),
            (
                "threads",
                self.threads.is_empty() || self.threads.contains(&0),
            ),
            ("steps", self.steps == 0),
            ("runs", self.runs == 0),
        ];
        match zero.into_iter().find(|(_, zero)| *zero) {
            Some((what, _)) => Err(AnnealingError::Zero(what)),
            None => Ok(()),
        }
    }
}

impl Row {
    fn record(&self, plan: &AnnealingPlan, first: &Row, peer: bool) -> StepRecord {
        let all =
            |of: fn(&Times) -> f64| Spread::of(&self.times.iter().map(of).collect::<Vec<_>>());
        let speed_up = |of: fn(&Times) -> f64| {
            let pairs = first.times.iter().zip(&self.times);
            Spread::of(
                &pairs
                    .map(|(one, here)| of(one) / of(here))
                    .collect::<Vec<_>>(),
            )
        };
        StepRecord {
            clusters: plan.clusters,
            threads: self.threads,
            annealing_steps: plan.annealing_steps(),
            annealing_ns: all(|t| t.annealing),
            hot_ns: all(|t| t.hot),
            lloyd_ns: all(|t| t.lloyd),
            peer_ns: peer.then(|| all(|t| t.peer)),
            annealing_over_peer: peer.then(|| all(|t| t.annealing / t.peer)),
            hot_over_peer: peer.then(|| all(|t| t.hot / t.peer)),
            lloyd_over_peer: peer.then(|| all(|t| t.lloyd / t.peer)),
            annealing_speed_up: speed_up(|t| t.annealing),
            hot_speed_up: speed_up(|t| t.hot),
            lloyd_speed_up: speed_up(|t| t.lloyd),
            peer_speed_up: peer.then(|| speed_up(|t| t.peer)),
        }
    }
}

/// Whole runs, the numbers of threads in turn.
fn whole(config: &AnnealingConfig, points: &Points) -> Result<Vec<WholeRecord>, AnnealingError> {
    if config.whole_runs == 0 {
        return Ok(Vec::new());
    }
    let clusters = config.whole_clusters;
    let method = Annealing {
        clusters: Clusters::Exactly(clusters),
        ..Annealing::default()
    };
    let mut seconds = vec![Vec::new(); config.threads.len()];
    for _ in 0..config.whole_runs {
        for (seconds, &threads) in seconds.iter_mut().zip(&config.threads) {
            let started = Instant::now();
            fit(points, threads, &method)?;
            seconds.push(started.elapsed().as_secs_f64());
        }
    }
    let records = config.threads.iter().zip(&seconds);
    Ok(records
        .map(|(&threads, here)| {
            let pairs = seconds[0].iter().zip(here);
            WholeRecord {
                clusters,
                threads,
                seconds: Spread::of(here),
                speed_up: Spread::of(&pairs.map(|(one, here)| one / here).collect::<Vec<_>>()),
                runs: config.whole_runs,
            }
        })
        .collect())
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
            for spread in [step.annealing_ns, step.hot_ns, step.lloyd_ns] {
                assert!(0.0 < spread.min && spread.max.is_finite(), "{spread:?}");
            }
            assert_eq!(step.peer_ns, None);
        }
        assert_eq!(record.steps[2].annealing_speed_up.median, 1.0);
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
    fn nothing_to_measure_is_an_error() {
        let error = |config| measure(&config, |_| ()).unwrap_err().to_string();
        assert_eq!(
            error(AnnealingConfig { runs: 0, ..small() }),
            "--runs must be at least 1"
        );
        let clusters = vec![4, 0];
        assert_eq!(
            error(AnnealingConfig {
                clusters,
                ..small()
            }),
            "--clusters must be at least 1"
        );
        // More clusters than points.
        let run = measure(
            &AnnealingConfig {
                points: 4,
                ..small()
            },
            |_| (),
        );
        assert!(matches!(run, Err(AnnealingError::Run(_))), "{run:?}");
    }
}
