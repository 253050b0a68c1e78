//! Deterministic annealing with mass-constrained centres.

pub(crate) mod axes;
mod exchange;
mod phases;
mod schedule;
mod search;
mod settle;
mod state;

use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::finish::finish;
use crate::lloyd::LloydLimit;
use crate::prepare::Prepared;
use crate::rank_view::RankView;
use crate::{ClusterChoice, Clustering, Control, MiningError, ParameterError, Points, Progress};
use motet_comm::Communicator;
use phases::Tolerance;
use schedule::Schedule;
use state::State;

/// How far the iterations of a choice go at least. Halves that are still on their way together
/// must not count as clusters.
const CHOICE: Tolerance = Tolerance {
    movement: 1e-4,
    iterations: 1000,
};

/// How many clusters annealing makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clusters {
    /// This many.
    Exactly(usize),
    /// As many as there are at a temperature: the clusters whose points spread further than it.
    Found {
        /// The temperature at which splitting stops, in the units of the data squared. A cluster
        /// stays whole if the largest variance of its points along a line is below half of it.
        t_min: f64,
        /// The most clusters there may be.
        at_most: usize,
    },
}

/// Deterministic annealing: clusters appear one after the other, by themselves, as a temperature
/// falls, and no random number enters anywhere.
///
/// At a high temperature all points belong to one cluster. Cooling sharpens the shares by which a
/// point belongs to the centres. A cluster splits at its critical temperature, twice the largest
/// variance of its points along a line. At temperature zero every point belongs to its nearest
/// centre; a deterministic search then improves that K-means solution where it can. The result is a
/// fixed point of K-means and a function of the points and these parameters alone. It depends
/// neither on the order of the points nor on the number of ranks.
///
/// Sources: K. Rose, Deterministic annealing for clustering, compression, classification,
/// regression, and related optimization problems, Proceedings of the IEEE 86 (1998), section II;
/// K. Rose, E. Gurewitz and G. Fox, Physical Review Letters 65 (1990). The search is described
/// at [`search`](Annealing::search).
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Annealing, Clusters, Control, Points};
///
/// // Three heaps on a line.
/// let values = (0..300).map(|i| f64::from(i / 100 * 50) + f64::from(i % 10) * 0.1);
/// let points = Points::new(values.collect(), 1)?;
/// let method = Annealing { clusters: Clusters::Exactly(3), ..Annealing::default() };
/// let found = World::solo()
///     .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
///     .unwrap()
///     .remove(0);
/// assert_eq!(found.sizes, [100, 100, 100]);
/// assert!((found.centre(1)[0] - 50.45).abs() < 1e-9);
///
/// // Heaps are found where none is asked for: each is narrower than a temperature of 10.
/// let clusters = Clusters::Found { t_min: 10.0, at_most: 20 };
/// let method = Annealing { clusters, ..Annealing::default() };
/// let found = World::solo()
///     .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
///     .unwrap()
///     .remove(0);
/// assert_eq!(found.clusters(), 3);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Annealing {
    /// How many clusters.
    pub clusters: Clusters,
    /// The factor from one temperature to the next, at least 0.1 and below 1. Steps are shorter
    /// where they would jump over a critical temperature.
    pub cooling: f64,
    /// The centres of a temperature stand still when none moves by more than this times the root of
    /// the temperature. No mass may change by more than this either. Positive.
    pub tolerance: f64,
    /// The most iterations before the first and after a split, at each temperature.
    pub iterations: usize,
    /// Cooling ends when the share of the weight that is not with one centre is below this; from
    /// 0 to 1, both excluded.
    pub softness: f64,
    /// Attempts to improve the solution at temperature zero that may fail one after the other
    /// before the search ends. 0 leaves out the search.
    ///
    /// An attempt splits one cluster, leaves out another, and lets K-means settle: the pairs that
    /// promise most come first. Before the attempts whole groups are exchanged (B. Fritzke, The
    /// breathing k-means algorithm, arXiv:2006.15666). After them the solution is heated and cooled
    /// again. At the end single points are moved (J. A. Hartigan and M. A. Wong, Applied Statistics
    /// 28, 1979). Only what lowers the inertia is kept.
    pub search: usize,
}

impl Default for Annealing {
    fn default() -> Annealing {
        Annealing {
            clusters: Clusters::Exactly(2),
            cooling: 0.9,
            tolerance: 3e-3,
            iterations: 20,
            softness: 1e-4,
            search: 50,
        }
    }
}

impl Annealing {
    /// Clusters the points; all ranks of `comm` call it with the same points and parameters.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::FewPoints`], [`MiningError::FewDistinctPoints`]
    /// (the last two for [`Clusters::Exactly`] only), [`MiningError::Cancelled`],
    /// [`MiningError::Comm`]; on all ranks alike.
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

    /// As [`fit`](Annealing::fit), with checkpoints after temperatures and during the search. It
    /// goes on from the one that is there.
    ///
    /// # Errors
    ///
    /// Those of [`fit`](Annealing::fit), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Annealing::fit); the last checkpoint stays.
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
        let least = match self.clusters {
            Clusters::Exactly(clusters) => clusters,
            Clusters::Found { .. } => 1,
        };
        let prepared = Prepared::new(&team, points, least).await?;
        let mut keeper = CheckpointKeeper::new(comm, kept, self, |digest| digest.points(points));
        let mut state = match keeper.load().await? {
            Some(state) => state,
            None => State::new(&prepared),
        };
        Schedule::new(self, &team, &prepared, &mut state)
            .cool(&mut keeper)
            .await?;
        let (centres, work) = self
            .settle(&team, &prepared, &mut state, &mut keeper)
            .await?;
        let mut found = finish(&team, &prepared, &centres, LloydLimit::FIXED_POINT).await?;
        found.cluster_iterations += state.phases.cluster_iterations + work;
        found.trace = state.trace;
        let weight: f64 = prepared.total;
        team.report(|| Progress {
            temperature: 0.0,
            clusters: found.clusters(),
            target: self.most(),
            free_energy: found.inertia / weight,
            done: 1.0,
        });
        Ok(found)
    }

    /// How many clusters, from 1 to `at_most`, the points speak for: [`ClusterChoice`] has the
    /// rule. The field `clusters` does not count. Masses count by their roots here, as for pairs
    /// and bits, and `tolerance` and `iterations` are at least as strict as 10⁻⁴ and 1000.
    ///
    /// # Errors
    ///
    /// As [`Annealing::fit`].
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{Annealing, Control, Points};
    ///
    /// let values = (0..300).map(|i| f64::from(i / 100 * 50) + f64::from(i % 10) * 0.1);
    /// let points = Points::new(values.collect(), 1)?;
    /// let method = Annealing::default();
    /// let choice = World::solo()
    ///     .run(async |comm| method.choose(&comm, &points, 10, &Control::default()).await)
    ///     .unwrap()
    ///     .remove(0);
    /// assert_eq!(choice.clusters, 3);
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn choose<'a>(
        &'a self,
        comm: &'a Communicator,
        points: &'a Points,
        at_most: usize,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<ClusterChoice, MiningError>> {
        Box::pin(async move { self.choice(comm, points, at_most, control, None).await })
    }

    /// As [`choose`](Annealing::choose), with checkpoints after temperatures. It goes on from the
    /// one that is there. Give it another name than that of a fit.
    ///
    /// # Errors
    ///
    /// Those of [`choose`](Annealing::choose), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Annealing::fit); the last checkpoint stays.
    pub fn choose_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        points: &'a Points,
        at_most: usize,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<ClusterChoice, MiningError>> {
        Box::pin(async move {
            self.choice(comm, points, at_most, control, Some(kept))
                .await
        })
    }

    async fn choice(
        &self,
        comm: &Communicator,
        points: &Points,
        at_most: usize,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<ClusterChoice, MiningError> {
        let options = Annealing {
            clusters: Clusters::Exactly(at_most),
            ..self.clone()
        };
        options.check()?;
        let team = RankView::new(comm, control);
        let prepared = Prepared::new(&team, points, 1).await?;
        let options = Annealing {
            clusters: Clusters::Exactly(prepared.tree.len().min(at_most.saturating_add(1))),
            tolerance: self.tolerance.min(CHOICE.movement),
            iterations: self.iterations.max(CHOICE.iterations),
            ..options
        };
        let how = (self, "choice", at_most);
        let mut keeper = CheckpointKeeper::new(comm, kept, &how, |digest| digest.points(points));
        let mut state = match keeper.load().await? {
            Some(state) => state,
            None => State::new(&prepared),
        };
        state.phases.by_roots = true;
        Schedule::new(&options, &team, &prepared, &mut state)
            .until_split()
            .cool(&mut keeper)
            .await?;
        Ok(ClusterChoice::of(&state.trace, at_most))
    }

    /// The most clusters there may be.
    fn most(&self) -> usize {
        match self.clusters {
            Clusters::Exactly(most) | Clusters::Found { at_most: most, .. } => most,
        }
    }

    fn check(&self) -> Result<(), ParameterError> {
        for (field, value) in [("clusters", self.most()), ("iterations", self.iterations)] {
            if value == 0 {
                return Err(ParameterError::Zero { field });
            }
        }
        let t_min = match self.clusters {
            Clusters::Exactly(_) => 1.0,
            Clusters::Found { t_min, .. } => t_min,
        };
        let positive = |x: f64| x > 0.0 && x.is_finite();
        for (field, value, good, range) in [
            ("t_min", t_min, positive(t_min), "positive and finite"),
            (
                "cooling",
                self.cooling,
                (0.1..1.0).contains(&self.cooling),
                "at least 0.1 and below 1",
            ),
            (
                "tolerance",
                self.tolerance,
                positive(self.tolerance),
                "positive and finite",
            ),
            (
                "softness",
                self.softness,
                self.softness > 0.0 && self.softness < 1.0,
                "between 0 and 1, both excluded",
            ),
        ] {
            if !good {
                return Err(ParameterError::OutOfRange {
                    field,
                    value,
                    range,
                });
            }
        }
        Ok(())
    }
}
