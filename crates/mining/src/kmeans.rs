//! K-means with random starts, the method that annealing is measured against.

mod start;

use crate::finish::finish;
use crate::lloyd::{Limit, Lloyd};
use crate::prepare::Prepared;
use crate::team::Team;
use crate::{Clustering, Control, MiningError, ParameterError, Points, Progress};
use motet_comm::Communicator;
pub(crate) use start::Dice;

/// How K-means chooses its first centres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Init {
    /// k-means++: far from each other, by weight times squared distance.
    #[default]
    PlusPlus,
    /// Distinct points at random, by weight.
    Random,
}

/// K-means: Lloyd's iteration from random starts; the best of some restarts.
///
/// The random numbers come from the seed alone, so a run repeats exactly, on any number of ranks.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Control, KMeans, Points};
///
/// let points = Points::new(vec![0.0, 1.0, 10.0, 11.0], 1)?;
/// let method = KMeans { clusters: 2, restarts: 3, ..KMeans::default() };
/// let found = World::solo()
///     .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
///     .unwrap()
///     .remove(0);
/// assert_eq!(found.centres, [0.5, 10.5]);
/// assert_eq!(found.labels, [0, 0, 1, 1]);
/// assert_eq!(found.inertia, 1.0);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    /// The number of clusters.
    pub clusters: usize,
    /// How the first centres are chosen.
    pub init: Init,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of runs; the one of least inertia counts, the first of equals.
    pub restarts: usize,
    /// The most steps of one run.
    pub max_iterations: usize,
    /// A run ends when no coordinate of a centre moves by more than this, in units of the
    /// largest half-width of the data. At 0 it ends at the fixed point.
    pub tolerance: f64,
}

impl Default for KMeans {
    fn default() -> KMeans {
        KMeans {
            clusters: 2,
            init: Init::PlusPlus,
            seed: 0,
            restarts: 1,
            max_iterations: 10_000,
            tolerance: 0.0,
        }
    }
}

impl KMeans {
    /// Clusters the points; all ranks of `comm` call it with the same points and parameters.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::FewPoints`], [`MiningError::FewDistinctPoints`],
    /// [`MiningError::Cancelled`], [`MiningError::Comm`]; on all ranks alike.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together with [`MiningError::Cancelled`], at the
    /// latest after the iteration they are in. Dropping the future on one rank instead leaves the
    /// others waiting.
    ///
    /// # Panics
    ///
    /// Never by itself; a panic of [`Control::progress`] passes through.
    pub async fn fit(
        &self,
        comm: &Communicator,
        points: &Points,
        control: &Control<'_>,
    ) -> Result<Clustering, MiningError> {
        self.check()?;
        let team = Team::new(comm, control);
        let prepared = Prepared::new(&team, points, self.clusters).await?;
        let limit = Limit {
            iterations: self.max_iterations,
            movement: self.tolerance,
            ..Limit::FIXED_POINT
        };
        let mut lloyd = Lloyd::new(&team, &prepared.blocks, points.dim());
        let mut best: Option<(f64, Vec<f64>)> = None;
        for restart in 0..self.restarts {
            let mut dice = Dice::new(self.seed, restart);
            let mut centres = match self.init {
                Init::PlusPlus => {
                    start::plus_plus(&team, &prepared, self.clusters, &mut dice).await?
                }
                Init::Random => start::random(&prepared, self.clusters, &mut dice),
            };
            let inertia = lloyd.run(&mut centres, limit).await?.0.inertia();
            if best.as_ref().is_none_or(|best| inertia < best.0) {
                best = Some((inertia, centres));
            }
            let best = best.as_ref().map_or(inertia, |best| best.0);
            team.report(|| Progress {
                temperature: 0.0,
                clusters: self.clusters,
                target: self.clusters,
                free_energy: prepared.frame.square(best),
                done: (restart + 1) as f64 / self.restarts as f64,
            });
        }
        let (_, centres) = best.unwrap_or_default();
        let mut found = finish(&team, &prepared, &centres, limit).await?;
        found.cluster_iterations += lloyd.cluster_iterations;
        Ok(found)
    }

    fn check(&self) -> Result<(), ParameterError> {
        for (field, value) in [
            ("clusters", self.clusters),
            ("restarts", self.restarts),
            ("max_iterations", self.max_iterations),
        ] {
            if value == 0 {
                return Err(ParameterError::Zero { field });
            }
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(ParameterError::OutOfRange {
                field: "tolerance",
                value: self.tolerance,
                range: "finite and not negative",
            });
        }
        Ok(())
    }
}
