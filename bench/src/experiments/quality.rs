//! Quality: how good the clusters of annealing are, and what they cost at the size of a census.
//!
//! Question: does annealing, which needs no start and no luck, find clusters at least as good as
//! the best of ten K-means runs? (Papers: deterministic annealing avoids the local minima in which
//! K-means ends.)
//!
//! Definition: inertia is the weighted sum of squared distances from the nearest centre. Agreement
//! is the adjusted Rand index of the clusters and the labels that come with a set. Both methods get
//! the number of labels as the number of clusters. Of ten K-means runs from random starts the one
//! of least inertia counts, because a user without labels can choose by inertia only. The best
//! agreement among the ten is told as well. Census sets have no labels: there the ten runs start by
//! k-means++, and inertia and time are compared.
//!
//! Method: the runs are deterministic but for their time, so each is made once.
//!
//! Threats: labels are not a fact about the points where clusters overlap (s3, s4, aggregation), so
//! less inertia may mean less agreement. Ten runs are few for 100 clusters and plenty for 2. The
//! time of K-means is that of all ten runs, that of annealing includes its search at the end.

mod pairs;
mod sets;

pub use crate::table::TableError;
pub use pairs::{PAIRS, PairsRecord, pairs};
pub use sets::{CENSUS, LABELLED};

use itertools::Itertools;
use motet_comm::{Communicator, RunError, World};
use motet_mining::{
    Annealing, Clustering, Clusters, Control, DataError, Init, KMeans, MiningError, Points,
    adjusted_rand,
};
pub(crate) use pairs::{alignments, column};
use serde::Serialize;
pub(crate) use sets::census;
use sets::{Labelled, labelled};
use std::path::PathBuf;
use std::time::Instant;
use thiserror::Error;

/// What to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QualityConfig {
    /// The folder of the data sets.
    pub data: PathBuf,
    /// Labelled sets, by name: see [`LABELLED`].
    pub labelled: Vec<String>,
    /// Census sets, by name: see [`CENSUS`].
    pub census: Vec<String>,
    /// Clusters of the census sets.
    pub census_clusters: usize,
    /// Runs of K-means per set.
    pub restarts: usize,
    /// Threads.
    pub threads: usize,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QualityRecord {
    /// Runs of K-means per set.
    pub restarts: usize,
    /// Threads.
    pub threads: usize,
    /// One row per labelled set.
    pub labelled: Vec<SetRecord>,
    /// One row per census set.
    pub census: Vec<SetRecord>,
}

/// What was found in a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetRecord {
    /// Its name.
    pub set: String,
    /// Points.
    pub points: usize,
    /// Columns.
    pub dim: usize,
    /// Clusters: as many as there are labels, if there are any.
    pub clusters: usize,
    /// Agreement with the labels, if there are any.
    #[serde(flatten)]
    pub agreement: Option<AgreementRecord>,
    /// Inertia of annealing.
    pub annealing_inertia: f64,
    /// Inertia of the best K-means run.
    pub kmeans_inertia: f64,
    /// Inertia of annealing over that of K-means.
    pub inertia_ratio: f64,
    /// Seconds of annealing.
    pub annealing_seconds: f64,
    /// Seconds of all K-means runs.
    pub kmeans_seconds: f64,
}

/// How far clusters agree with labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AgreementRecord {
    /// Agreement of annealing.
    pub annealing_agreement: f64,
    /// Agreement of the K-means run of least inertia.
    pub kmeans_agreement: f64,
    /// The best agreement of all K-means runs.
    pub kmeans_best_agreement: f64,
}

/// Why a measurement cannot be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QualityError {
    /// A number that must not be 0 is.
    #[error("--{0} must be at least 1")]
    Zero(&'static str),
    /// There is no set of this name.
    #[error("there is no set {0}: name one of {labelled}, {census}", labelled = LABELLED.join(", "), census = CENSUS.join(", "))]
    NoSuchSet(String),
    /// A file cannot be used.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The points of a set cannot be clustered.
    #[error("set {0}: {1}")]
    Data(String, DataError),
    /// A run failed.
    #[error("a run failed: {0}")]
    Run(#[from] RunError<MiningError>),
}

/// Measures; calls `progress` with the name of each set when it is done.
///
/// # Errors
/// [`QualityError`].
///
/// ```no_run
/// use motet_bench::quality::{QualityConfig, measure};
///
/// let config = QualityConfig { data: "../shared/data".into(), ..QualityConfig::default() };
/// let record = measure(&config, |set| println!("{set}"))?;
/// for row in &record.labelled {
///     println!("{}: {:.5}", row.set, row.inertia_ratio);
/// }
/// # Ok::<(), motet_bench::quality::QualityError>(())
/// ```
pub fn measure(
    config: &QualityConfig,
    mut progress: impl FnMut(&str),
) -> Result<QualityRecord, QualityError> {
    config.check()?;
    let (mut with_labels, mut without) = (Vec::new(), Vec::new());
    for name in &config.labelled {
        with_labels.push(config.agreement(name, &labelled(&config.data, name)?)?);
        progress(name);
    }
    for name in &config.census {
        without.push(config.inertia(name, &census(&config.data, name)?)?);
        progress(name);
    }
    Ok(QualityRecord {
        restarts: config.restarts,
        threads: config.threads,
        labelled: with_labels,
        census: without,
    })
}

impl Default for QualityConfig {
    /// All labelled sets and no census, in a folder `data`.
    fn default() -> Self {
        QualityConfig {
            data: "data".into(),
            labelled: LABELLED.map(str::to_owned).into(),
            census: Vec::new(),
            census_clusters: 30,
            restarts: 10,
            threads: 1,
        }
    }
}

impl QualityConfig {
    /// The census sets too.
    #[must_use]
    pub fn full(self) -> Self {
        QualityConfig {
            census: CENSUS.map(str::to_owned).into(),
            ..self
        }
    }

    fn check(&self) -> Result<(), QualityError> {
        let zero = [
            ("census-clusters", self.census_clusters == 0),
            ("restarts", self.restarts == 0),
            ("threads", self.threads == 0),
        ];
        if let Some((what, _)) = zero.into_iter().find(|(_, zero)| *zero) {
            return Err(QualityError::Zero(what));
        }
        for (names, all) in [(&self.labelled, &LABELLED[..]), (&self.census, &CENSUS[..])] {
            if let Some(name) = names.iter().find(|name| !all.contains(&name.as_str())) {
                return Err(QualityError::NoSuchSet(name.clone()));
            }
        }
        Ok(())
    }

    fn agreement(&self, name: &str, set: &Labelled) -> Result<SetRecord, QualityError> {
        let (points, clusters) = (&set.points, set.classes());
        let annealed = self.anneal(points, clusters)?;
        let run = |restart: usize| {
            let method = KMeans {
                clusters,
                init: Init::Random,
                seed: restart as u64,
                ..KMeans::default()
            };
            self.kmeans(points, &method)
        };
        let runs: Vec<(Clustering, f64)> = (0..self.restarts).map(run).try_collect()?;
        let seconds = runs.iter().map(|(_, seconds)| seconds).sum();
        let found = runs.iter().map(|(found, _)| found);
        let agreement = |found: &Clustering| adjusted_rand(&set.labels, &found.labels);
        let most = found
            .clone()
            .map(agreement)
            .fold(f64::NEG_INFINITY, f64::max);
        let best = found.min_by(|one, other| one.inertia.total_cmp(&other.inertia));
        let best = best.ok_or(QualityError::Zero("restarts"))?;
        let agreement = AgreementRecord {
            annealing_agreement: agreement(&annealed.0),
            kmeans_agreement: agreement(best),
            kmeans_best_agreement: most,
        };
        let record = record(name, points, &annealed, (best, seconds));
        Ok(SetRecord {
            agreement: Some(agreement),
            ..record
        })
    }

    fn inertia(&self, name: &str, points: &Points) -> Result<SetRecord, QualityError> {
        let clusters = self.census_clusters;
        let annealed = self.anneal(points, clusters)?;
        let method = KMeans {
            clusters,
            init: Init::PlusPlus,
            restarts: self.restarts,
            ..KMeans::default()
        };
        let (best, seconds) = self.kmeans(points, &method)?;
        Ok(record(name, points, &annealed, (&best, seconds)))
    }

    fn anneal(&self, points: &Points, clusters: usize) -> Result<(Clustering, f64), QualityError> {
        let method = Annealing {
            clusters: Clusters::Exactly(clusters),
            ..Annealing::default()
        };
        self.timed(async |comm| method.fit(&comm, points, &Control::default()).await)
    }

    fn kmeans(&self, points: &Points, method: &KMeans) -> Result<(Clustering, f64), QualityError> {
        self.timed(async |comm| method.fit(&comm, points, &Control::default()).await)
    }

    /// What the ranks find together, and the seconds that it takes.
    fn timed(
        &self,
        fit: impl AsyncFn(Communicator) -> Result<Clustering, MiningError> + Sync,
    ) -> Result<(Clustering, f64), QualityError> {
        let started = Instant::now();
        let parts = World::threads(self.threads).run(fit)?;
        let found = Clustering::join(parts).expect("the parts of all ranks, in order");
        Ok((found, started.elapsed().as_secs_f64()))
    }
}

/// Of a set whose labels are not looked at.
fn record(
    name: &str,
    points: &Points,
    (annealed, annealing_seconds): &(Clustering, f64),
    (best, kmeans_seconds): (&Clustering, f64),
) -> SetRecord {
    SetRecord {
        set: name.to_owned(),
        points: points.len(),
        dim: points.dim(),
        clusters: annealed.masses.len(),
        agreement: None,
        annealing_inertia: annealed.inertia,
        kmeans_inertia: best.inertia,
        inertia_ratio: annealed.inertia / best.inertia,
        annealing_seconds: *annealing_seconds,
        kmeans_seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_testkit::data;

    #[test]
    fn annealing_is_as_good_on_sets_with_labels_needs_data() {
        let sets = ["iris", "wine-standardised", "r15"];
        let config = QualityConfig {
            data: data(),
            labelled: sets.map(str::to_owned).into(),
            restarts: 3,
            threads: 2,
            ..QualityConfig::default()
        };
        let mut done = Vec::new();
        let record = measure(&config, |set| done.push(set.to_owned())).unwrap();
        assert_eq!(done, sets);
        for row in &record.labelled {
            assert!(row.inertia_ratio <= 1.0 + 1e-9, "{row:?}");
            let agreement = row.agreement.unwrap();
            let least = agreement.kmeans_agreement;
            assert!(agreement.annealing_agreement >= least - 1e-9, "{row:?}");
            assert!(agreement.kmeans_best_agreement >= least, "{row:?}");
        }
        let shapes = record
            .labelled
            .iter()
            .map(|r| (r.points, r.dim, r.clusters));
        assert!(shapes.eq([(150, 4, 3), (178, 13, 3), (600, 2, 15)]));
    }

    #[test]
    fn census_of_few_clusters_needs_data() {
        let config = QualityConfig {
            data: data(),
            labelled: Vec::new(),
            census: vec!["precincts-shares".to_owned()],
            census_clusters: 3,
            restarts: 1,
            threads: 2,
        };
        let row = measure(&config, |_| ()).unwrap().census.remove(0);
        assert_eq!((row.dim, row.clusters), (7, 3));
        assert!(
            row.points > 100_000 && row.annealing_inertia > 0.0,
            "{row:?}"
        );
        assert!(row.inertia_ratio <= 1.0 + 1e-9, "{row:?}");
    }

    #[test]
    fn wrong_requests_say_what_is_wrong() {
        let error = |config| measure(&config, |_| ()).unwrap_err().to_string();
        let base = QualityConfig::default;
        assert_eq!(
            error(QualityConfig {
                restarts: 0,
                ..base()
            }),
            "--restarts must be at least 1"
        );
        let labelled = vec!["iris".to_owned(), "roses".to_owned()];
        let wrong = error(QualityConfig { labelled, ..base() });
        assert!(
            wrong.starts_with("there is no set roses: name one of s1, s2"),
            "{wrong}"
        );
        let missing = error(QualityConfig {
            data: "no-such-folder".into(),
            ..base()
        });
        assert!(
            missing.contains("name the folder of the data sets"),
            "{missing}"
        );
        let message = "no room".to_owned();
        let failed = QualityError::from(RunError::Panicked { rank: 1, message });
        assert_eq!(failed.to_string(), "a run failed: rank 1 panicked: no room");
    }
}
