//! Deterministic annealing on the dissimilarities of pairs.
//!
//! Sources: T. Hofmann, J. M. Buhmann, Pairwise data clustering by deterministic annealing, IEEE
//! Transactions on Pattern Analysis and Machine Intelligence 19 (1997); K. Rose, Deterministic
//! annealing for clustering, Proceedings of the IEEE 86 (1998).
//!
//! Rows are divided among the ranks. Each multiplies its rows of the dissimilarities with the
//! shares of all, and works out the shares of its rows. A step is one allgather of the shares and a
//! reduction of the sums per cluster, in a fixed tree over blocks of rows.

mod choose;
mod cool;
mod critical;
mod dissimilarities;
mod field;
mod found;
mod freeze;
mod kernel;
mod mapped;
mod sample;
mod search;
mod steps;
#[cfg(test)]
mod tests;

use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::rank_view::RankView;
use crate::weights::normalised;
use crate::{Clusters, Control, DataError, MiningError, ParameterError};
use field::Field;
use motet_comm::Communicator;
use std::collections::{BTreeMap, BTreeSet};

pub use dissimilarities::Dissimilarities;
pub use found::{PairwiseClustering, PairwiseSplit};
pub use mapped::Floats;
pub use sample::{Given, Sampling};
pub use steps::{PairSteps, PairWork};

/// Clustering by deterministic annealing where only dissimilarities of pairs are known.
///
/// The cost is that of K-means where the dissimilarities are squared distances. No coordinates are
/// needed, the dissimilarities need not be metric, and some may be unknown. No random number enters
/// anywhere. At the end single rows move while that lowers the cost.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Clusters, Control, Dissimilarities, Pairwise, PairwiseClustering};
///
/// let at = [0.0_f64, 1.0, 10.0, 11.0, 12.0];
/// let squares = at.iter().flat_map(|x| at.iter().map(move |y| (x - y) * (x - y)));
/// let pairs = Dissimilarities::new(squares.collect(), 5)?;
/// let method = Pairwise { clusters: Clusters::Exactly(2), ..Pairwise::default() };
/// let parts = World::threads(2)
///     .run(async |comm| method.fit(&comm, &pairs, None, &Control::default()).await)
///     .unwrap();
/// let found = PairwiseClustering::join(parts).unwrap();
/// assert_eq!(found.labels, [0, 0, 1, 1, 1]);
/// assert_eq!(found.medoids, [0, 3]);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pairwise {
    /// How many clusters there are to be. A temperature is in the units of the dissimilarities.
    pub clusters: Clusters,
    /// The factor from one temperature to the next.
    pub cooling: f64,
    /// A temperature ends when energies change by less than this share of it.
    pub tolerance: f64,
    /// The power of the masses in the shares until the last split; 0 from then on. Vector
    /// annealing has 1.
    pub mass_power: f64,
    /// The power of the masses after the last split.
    pub last_mass_power: f64,
    /// Attempts at temperature zero to split one cluster and leave out another that may fail one
    /// after the other before the search ends. 0 leaves out the search.
    pub search: usize,
}

impl Default for Pairwise {
    fn default() -> Pairwise {
        Pairwise {
            clusters: Clusters::Exactly(2),
            cooling: 0.9,
            tolerance: 1e-4,
            mass_power: 0.5,
            last_mass_power: 0.0,
            search: 20,
        }
    }
}

impl Pairwise {
    /// Clusters the rows of `pairs`, all of the same weight if there are no `weights`. All ranks of
    /// `comm` call it with the same input and parameters.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::Data`] for bad weights,
    /// [`MiningError::FewPoints`], [`MiningError::Cancelled`], [`MiningError::Comm`]; on all
    /// ranks alike. There are fewer clusters than asked for only where too few rows differ.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together within one pass over the pairs.
    pub fn fit<'a>(
        &'a self,
        comm: &'a Communicator,
        pairs: &'a Dissimilarities,
        weights: Option<&'a [f64]>,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<PairwiseClustering, MiningError>> {
        Box::pin(async move { self.run(comm, pairs, weights, control, None).await })
    }

    /// As [`fit`](Pairwise::fit), with checkpoints after temperatures. It goes on from the one
    /// that is there.
    ///
    /// # Errors
    ///
    /// Those of [`fit`](Pairwise::fit), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Pairwise::fit); the last checkpoint stays.
    pub fn fit_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        pairs: &'a Dissimilarities,
        weights: Option<&'a [f64]>,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<PairwiseClustering, MiningError>> {
        Box::pin(async move { self.run(comm, pairs, weights, control, Some(kept)).await })
    }

    async fn run(
        &self,
        comm: &Communicator,
        pairs: &Dissimilarities,
        weights: Option<&[f64]>,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<PairwiseClustering, MiningError> {
        let (most, t_min, exactly) = match self.clusters {
            Clusters::Exactly(clusters) => (clusters, 0.0, true),
            Clusters::Found { t_min, at_most } => (at_most, t_min, false),
        };
        self.check(most, t_min)?;
        if exactly && most > pairs.len() {
            return Err(MiningError::FewPoints {
                clusters: most,
                points: pairs.len(),
            });
        }
        let weights = normalised(weights, pairs.len()).map_err(MiningError::Data)?;
        let team = RankView::new(comm, control);
        let field = Field::new(&team, pairs, &weights);
        let mut keeper =
            CheckpointKeeper::new(comm, kept, self, |digest| pairs.digest(&weights, digest));
        let state = self
            .anneal(&field, (most, t_min, false), &mut keeper)
            .await?;
        let k = state.sums.masses.len();
        let own = state.shares.chunks_exact(k).map(first_largest);
        let labels = field.gather_labels(own).await?;
        let cold = field.freeze(labels, most, exactly).await?;
        let cold = field.search(cold.0, cold.1, self.search).await?;
        Ok(PairwiseClustering {
            ended: ended(&field, &state.shares, &cold.0, (k, cold.1.masses.len())).await?,
            trace: state.fall.trace,
            splits: state.fall.splits,
            ..field.found(cold).await?
        })
    }

    /// The stage at temperature zero alone: rows go where they cost least, single rows move, then
    /// the [search](Pairwise::search). `labels` are where it begins; there are as many clusters as
    /// they have, and the field `clusters` does not count. All ranks call it with the same input.
    ///
    /// # Errors
    ///
    /// [`MiningError::Data`] for another number of labels than rows and for bad weights,
    /// [`MiningError::Parameter`], [`MiningError::Cancelled`], [`MiningError::Comm`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](Pairwise::fit).
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{Control, Dissimilarities, Pairwise};
    ///
    /// let at = [0.0_f64, 1.0, 10.0, 11.0, 12.0];
    /// let squares = at.iter().flat_map(|x| at.iter().map(move |y| (x - y) * (x - y)));
    /// let pairs = Dissimilarities::new(squares.collect(), 5)?;
    /// let found = World::solo()
    ///     .run(async |comm| {
    ///         let (method, control) = (Pairwise::default(), Control::default());
    ///         method.settle(&comm, &pairs, None, &[7, 7, 7, 9, 9], &control).await
    ///     })
    ///     .unwrap()
    ///     .remove(0);
    /// assert_eq!(found.labels, [0, 0, 1, 1, 1]);
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn settle<'a>(
        &'a self,
        comm: &'a Communicator,
        pairs: &'a Dissimilarities,
        weights: Option<&'a [f64]>,
        labels: &'a [u32],
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<PairwiseClustering, MiningError>> {
        Box::pin(async move {
            self.check(1, 0.0)?;
            if labels.len() != pairs.len() {
                return Err(MiningError::Data(DataError::Shape {
                    what: "labels",
                    found: labels.len(),
                    expected: pairs.len(),
                }));
            }
            let weights = normalised(weights, pairs.len()).map_err(MiningError::Data)?;
            let team = RankView::new(comm, control);
            let field = Field::new(&team, pairs, &weights);
            let different: BTreeSet<u32> = labels.iter().copied().collect();
            let numbers: BTreeMap<u32, usize> = different.into_iter().zip(0..).collect();
            let labels = labels.iter().map(|label| numbers[label]).collect();
            let cold = field.freeze(labels, numbers.len(), true).await?;
            let cold = field.search(cold.0, cold.1, self.search).await?;
            field.found(cold).await
        })
    }

    fn check(&self, most: usize, t_min: f64) -> Result<(), ParameterError> {
        if most == 0 {
            return Err(ParameterError::Zero { field: "clusters" });
        }
        let between = |value: f64, low: f64, high: f64| value > low && value < high;
        for (field, value, good, range) in [
            (
                "t_min",
                t_min,
                t_min >= 0.0 && t_min.is_finite(),
                "finite and not negative",
            ),
            (
                "cooling",
                self.cooling,
                between(self.cooling, 0.0, 1.0),
                "between 0 and 1",
            ),
            (
                "tolerance",
                self.tolerance,
                between(self.tolerance, 0.0, 1.0),
                "between 0 and 1",
            ),
            (
                "mass_power",
                self.mass_power,
                (0.0..=2.0).contains(&self.mass_power),
                "0 to 2",
            ),
            (
                "last_mass_power",
                self.last_mass_power,
                (0.0..=2.0).contains(&self.last_mass_power),
                "0 to 2",
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

/// Of each of `k` columns of the shares, the label that most of its weight has.
async fn ended(
    field: &Field<'_>,
    shares: &[f64],
    labels: &[usize],
    (k, clusters): (usize, usize),
) -> Result<Vec<u32>, MiningError> {
    let labels = &labels[field.rows.clone()];
    let add = |row: usize, weights: &mut [f64]| {
        for (c, share) in shares[row * k..][..k].iter().enumerate() {
            weights[c * clusters + labels[row]] += field.own_weights()[row] * share;
        }
    };
    let weights = field.total(k * clusters, add).await?;
    let largest = weights.chunks_exact(clusters).map(first_largest);
    Ok(largest.map(|label| label as u32).collect())
}

fn first_largest(shares: &[f64]) -> usize {
    let mut best = 0;
    for (k, share) in shares.iter().enumerate() {
        if *share > shares[best] {
            best = k;
        }
    }
    best
}
