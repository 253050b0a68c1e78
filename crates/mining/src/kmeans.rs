//! K-means with random starts, the method that annealing is measured against.

mod start;

use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::finish::finish;
use crate::lloyd::{Lloyd, LloydLimit, LloydState};
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use crate::{Clustering, Control, MiningError, ParameterError, Points, Progress};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};
pub(crate) use start::{SEVERAL_DRAWS, UniformDraws, tries};

/// How K-means chooses its first centres.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Init {
    /// k-means++: far from each other, by weight times squared distance. For each centre but the
    /// first 2 + ln k points are drawn, and the best counts.
    #[default]
    PlusPlus,
    /// Distinct points at random, by weight.
    Random,
    /// These, one after the other, in the units of the points. All restarts are then the same.
    Centres(Vec<f64>),
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
    /// The most steps of one run. One that has made so many ends with the centres that it has then.
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

/// Where a run is: the best start that has ended, and the one under way.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct State {
    restart: usize,
    best: Option<(f64, Vec<f64>)>,
    /// How many steps that one had left.
    left: usize,
    under_way: Option<LloydState>,
    cluster_iterations: u64,
}

/// What checkpoints of these fields go with, beside the options and [`SEVERAL_DRAWS`].
const FIELDS: &str = "with the steps left";

impl KMeans {
    /// Clusters the points; all ranks of `comm` call it with the same points and parameters.
    ///
    /// # Errors
    ///
    /// - [`MiningError::Parameter`]. It also comes when the centres to begin from are not one for
    ///   each cluster or not finite. It also comes when they are further from the points than 10¹⁰⁰
    ///   times their width.
    /// - [`MiningError::FewPoints`], [`MiningError::FewDistinctPoints`],
    ///   [`MiningError::Cancelled`], [`MiningError::Comm`].
    ///
    /// All ranks get the same error.
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
    pub fn fit<'a>(
        &'a self,
        comm: &'a Communicator,
        points: &'a Points,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<Clustering, MiningError>> {
        Box::pin(async move { self.run(comm, points, control, None).await })
    }

    /// As [`fit`](KMeans::fit), with checkpoints after steps. It goes on from the one that is
    /// there.
    ///
    /// # Errors
    ///
    /// Those of [`fit`](KMeans::fit), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](KMeans::fit); the last checkpoint stays.
    pub fn fit_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        points: &'a Points,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<Clustering, MiningError>> {
        Box::pin(async move { self.run(comm, points, control, Some(kept)).await })
    }

    async fn run(
        &self,
        comm: &Communicator,
        points: &Points,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<Clustering, MiningError> {
        self.check()?;
        let team = RankView::new(comm, control);
        let prepared = Prepared::new(&team, points, self.clusters).await?;
        let limit = LloydLimit {
            iterations: self.max_iterations,
            movement: self.tolerance,
            ..LloydLimit::FIXED_POINT
        };
        let mut lloyd = Lloyd::new(&team, &prepared.blocks, points.dim());
        let options = (self, FIELDS, SEVERAL_DRAWS);
        let mut keeper =
            CheckpointKeeper::new(comm, kept, &options, |digest| digest.points(points));
        let mut state: State = keeper.load().await?.unwrap_or_default();
        lloyd.cluster_iterations = state.cluster_iterations;
        while state.restart < self.restarts {
            let (inertia, walk) = self
                .descend(&prepared, &mut lloyd, limit, &mut state, &mut keeper)
                .await?;
            if state.best.as_ref().is_none_or(|best| inertia < best.0) {
                state.left = self.max_iterations.saturating_sub(walk.steps);
                state.best = Some((inertia, walk.centres));
            }
            let best = state.best.as_ref().map_or(inertia, |best| best.0);
            state.restart += 1;
            team.report(|| Progress {
                temperature: 0.0,
                clusters: self.clusters,
                target: self.clusters,
                free_energy: prepared.frame.square(best),
                done: state.restart as f64 / self.restarts as f64,
            });
            state.cluster_iterations = lloyd.cluster_iterations;
            let last = state.restart == self.restarts;
            keeper.save(last, &state).await?;
        }
        let (_, centres) = state.best.unwrap_or_default();
        let limit = LloydLimit {
            iterations: state.left,
            ..limit
        };
        let mut found = finish(&team, &prepared, &centres, limit).await?;
        found.cluster_iterations += lloyd.cluster_iterations;
        found.iterations = self.max_iterations.saturating_sub(state.left);
        Ok(found)
    }

    /// Lloyd's iteration from one start, or on from where it is; the inertia, and where it ends.
    async fn descend(
        &self,
        prepared: &Prepared<'_>,
        lloyd: &mut Lloyd<'_>,
        limit: LloydLimit,
        state: &mut State,
        keeper: &mut CheckpointKeeper<'_>,
    ) -> Result<(f64, LloydState), MiningError> {
        let mut walk = match state.under_way.take() {
            Some(walk) => walk,
            None => {
                let mut draws = UniformDraws::new(self.seed, state.restart);
                let clusters = self.clusters;
                LloydState::new(match &self.init {
                    Init::PlusPlus => {
                        start::plus_plus(lloyd.team, prepared, clusters, &mut draws).await?
                    }
                    Init::Random => start::random(prepared, clusters, &mut draws),
                    Init::Centres(centres) => start::given(prepared, clusters, centres)?,
                })
            }
        };
        loop {
            if let Some(assignment) = lloyd.step(&mut walk, limit).await? {
                return Ok((assignment.inertia(), walk));
            }
            if keeper.is_on() {
                state.cluster_iterations = lloyd.cluster_iterations;
                state.under_way = Some(walk.clone());
                keeper.save(false, state).await?;
                state.under_way = None;
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use motet_comm::World;
    use std::time::Duration;

    #[test]
    fn sem_g162_a_start_that_was_stopped_at_any_step_goes_on_to_the_same_bits() {
        let value = |i: i32| f64::from(i * i * 31 % 1009 + i % 7 * 900);
        let points = Points::new((0..600).map(value).collect(), 2).unwrap();
        let method = KMeans {
            clusters: 7,
            restarts: 2,
            ..KMeans::default()
        };
        let control = Control::default();
        let whole = World::threads(2)
            .run(async |comm| method.fit(&comm, &points, &control).await)
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kept = Checkpoints::new(folder.path(), "start").every(Duration::ZERO);
        let mut ended = false;
        for steps in 1..200 {
            let stop = async |comm: &Communicator| {
                let team = RankView::new(comm, &control);
                let prepared = Prepared::new(&team, &points, 7).await?;
                let mut lloyd = Lloyd::new(&team, &prepared.blocks, 2);
                let first =
                    start::plus_plus(&team, &prepared, 7, &mut UniformDraws::new(0, 0)).await?;
                let (mut walk, mut ended) = (LloydState::new(first), false);
                for _ in 0..steps {
                    ended |= lloyd
                        .step(&mut walk, LloydLimit::FIXED_POINT)
                        .await?
                        .is_some();
                }
                let state = State {
                    under_way: Some(walk),
                    cluster_iterations: lloyd.cluster_iterations,
                    ..State::default()
                };
                let digest = |digest: &mut crate::checkpoint::Digest| digest.points(&points);
                let options = (&method, FIELDS, SEVERAL_DRAWS);
                let mut keeper = CheckpointKeeper::new(comm, Some(&kept), &options, digest);
                keeper.save(true, &state).await?;
                Ok::<_, MiningError>(ended)
            };
            ended = World::solo().run(async |comm| stop(&comm).await).unwrap()[0];
            if ended {
                assert!(steps > 2, "{steps} steps are too few");
                break;
            }
            let on = World::threads(2)
                .run(async |comm| method.fit_kept(&comm, &points, &control, &kept).await);
            assert_eq!(on.unwrap(), whole, "{steps} steps");
            kept.clear().unwrap();
        }
        assert!(ended);
    }
}
