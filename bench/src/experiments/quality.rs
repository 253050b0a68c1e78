//! Quality: how good the clusters of annealing are, and what they cost at the size of a census.
//!
//! Question: does annealing, which needs no start and no luck, find clusters at least as good as
//! the best of ten K-means runs? (Papers: deterministic annealing avoids the local minima in which
//! K-means ends.)
//!
//! Definition: inertia is the weighted sum of squared distances from the nearest centre; agreement
//! is the adjusted Rand index of the clusters and the labels that come with a set. Both methods get
//! the number of labels as the number of clusters. Of ten K-means runs from random starts the one
//! of least inertia counts, because a user without labels can choose by inertia only; the best
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
    pub labelled: Vec<LabelledRecord>,
    /// One row per census set.
    pub census: Vec<CensusRecord>,
}

/// A set with labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelledRecord {
    /// Its name.
    pub set: String,
    /// Points.
    pub points: usize,
    /// Columns.
    pub dim: usize,
    /// Labels, and clusters.
    pub clusters: usize,
    /// Agreement of annealing.
    pub annealing_agreement: f64,
    /// Inertia of annealing.
    pub annealing_inertia: f64,
    /// Agreement of the K-means run of least inertia.
    pub kmeans_agreement: f64,
    /// Its inertia.
    pub kmeans_inertia: f64,
    /// The best agreement of all K-means runs.
    pub kmeans_best_agreement: f64,
    /// Inertia of annealing over that of K-means.
    pub inertia_ratio: f64,
    /// Seconds of annealing.
    pub annealing_seconds: f64,
    /// Seconds of all K-means runs.
    pub kmeans_seconds: f64,
}

/// A census set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CensusRecord {
    /// Its name.
    pub set: String,
    /// Points.
    pub points: usize,
    /// Columns.
    pub dim: usize,
    /// Clusters.
    pub clusters: usize,
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
    #[error("a run failed")]
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
///     println!("{}: {:.3}", row.set, row.annealing_agreement);
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
        for (what, value) in [
            ("census-clusters", self.census_clusters),
            ("restarts", self.restarts),
            ("threads", self.threads),
        ] {
            if value == 0 {
                return Err(QualityError::Zero(what));
            }
        }
        for (names, all) in [(&self.labelled, &LABELLED[..]), (&self.census, &CENSUS[..])] {
            if let Some(name) = names.iter().find(|name| !all.contains(&name.as_str())) {
                return Err(QualityError::NoSuchSet(name.clone()));
            }
        }
        Ok(())
    }

    fn agreement(&self, name: &str, set: &Labelled) -> Result<LabelledRecord, QualityError> {
        let (points, clusters) = (&set.points, set.classes());
        let (annealed, annealing_seconds) = self.anneal(points, clusters)?;
        let agreement = |found: &Clustering| adjusted_rand(&set.labels, &found.labels);
        let (mut best, mut kmeans_best_agreement) = (None::<Clustering>, f64::NEG_INFINITY);
        let mut kmeans_seconds = 0.0;
        for restart in 0..self.restarts {
            let method = KMeans {
                clusters,
                init: Init::Random,
                seed: restart as u64,
                ..KMeans::default()
            };
            let (found, seconds) = self.kmeans(points, &method)?;
            kmeans_seconds += seconds;
            kmeans_best_agreement = kmeans_best_agreement.max(agreement(&found));
            if best
                .as_ref()
                .is_none_or(|best| found.inertia < best.inertia)
            {
                best = Some(found);
            }
        }
        let best = best.ok_or(QualityError::Zero("restarts"))?;
        Ok(LabelledRecord {
            set: name.to_owned(),
            points: points.len(),
            dim: points.dim(),
            clusters,
            annealing_agreement: agreement(&annealed),
            annealing_inertia: annealed.inertia,
            kmeans_agreement: agreement(&best),
            kmeans_inertia: best.inertia,
            kmeans_best_agreement,
            inertia_ratio: annealed.inertia / best.inertia,
            annealing_seconds,
            kmeans_seconds,
        })
    }

    fn inertia(&self, name: &str, points: &Points) -> Result<CensusRecord, QualityError> {
        let clusters = self.census_clusters;
        let (annealed, annealing_seconds) = self.anneal(points, clusters)?;
        let method = KMeans {
            clusters,
            init: Init::PlusPlus,
            restarts: self.restarts,
            ..KMeans::default()
        };
        let (best, kmeans_seconds) = self.kmeans(points, &method)?;
        Ok(CensusRecord {
            set: name.to_owned(),
            points: points.len(),
            dim: points.dim(),
            clusters,
            annealing_inertia: annealed.inertia,
            kmeans_inertia: best.inertia,
            inertia_ratio: annealed.inertia / best.inertia,
            annealing_seconds,
            kmeans_seconds,
        })
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
            assert!(
                row.annealing_agreement >= row.kmeans_agreement - 1e-9,
                "{row:?}"
            );
            assert!(row.kmeans_best_agreement >= row.kmeans_agreement, "{row:?}");
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
    }
}
