//! K-means of rows of bits, the method that annealing is measured against.

use super::passes::{Cluster, Field};
use super::{BitClustering, Bits};
use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::kmeans::UniformDraws;
use crate::rank_view::RankView;
use crate::{Control, MiningError, ParameterError, Progress};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};

/// K-means of rows of bits: Lloyd's iteration from k-means++ starts; the best of some restarts.
///
/// The random numbers come from the seed alone, so a run repeats exactly, on any number of ranks.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{BitKMeans, Bits, Control};
///
/// let bits = Bits::new(vec![0b0011, 0b0111, 0b1100], 4)?;
/// let method = BitKMeans { clusters: 2, restarts: 4, ..BitKMeans::default() };
/// let found = World::solo()
///     .run(async |comm| method.fit(&comm, &bits, &Control::default()).await)
///     .unwrap()
///     .remove(0);
/// assert_eq!((found.labels, found.inertia), (vec![0, 0, 1], 0.5));
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BitKMeans {
    /// The number of clusters.
    pub clusters: usize,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of runs; the one of least inertia counts, the first of equals.
    pub restarts: usize,
}

impl Default for BitKMeans {
    fn default() -> BitKMeans {
        BitKMeans {
            clusters: 2,
            seed: 0,
            restarts: 1,
        }
    }
}

impl BitKMeans {
    /// Clusters the rows of `bits`; all ranks of `comm` call it with the same input and
    /// parameters.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`], [`MiningError::FewPoints`], [`MiningError::Cancelled`],
    /// [`MiningError::Comm`]; on all ranks alike.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together within one pass over the rows.
    pub fn fit<'a>(
        &'a self,
        comm: &'a Communicator,
        bits: &'a Bits,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<BitClustering, MiningError>> {
        Box::pin(async move { self.run(comm, bits, control, None).await })
    }

    /// As [`fit`](BitKMeans::fit), with checkpoints between starts. It goes on from the one that
    /// is there.
    ///
    /// # Errors
    ///
    /// Those of [`fit`](BitKMeans::fit), and [`MiningError::Checkpoint`].
    ///
    /// # Cancellation
    ///
    /// As for [`fit`](BitKMeans::fit); the last checkpoint stays.
    pub fn fit_kept<'a>(
        &'a self,
        comm: &'a Communicator,
        bits: &'a Bits,
        control: &'a Control<'a>,
        kept: &'a Checkpoints,
    ) -> LocalBoxFuture<'a, Result<BitClustering, MiningError>> {
        Box::pin(async move { self.run(comm, bits, control, Some(kept)).await })
    }

    async fn run(
        &self,
        comm: &Communicator,
        bits: &Bits,
        control: &Control<'_>,
        kept: Option<&Checkpoints>,
    ) -> Result<BitClustering, MiningError> {
        for (field, value) in [("clusters", self.clusters), ("restarts", self.restarts)] {
            if value == 0 {
                return Err(ParameterError::Zero { field }.into());
            }
        }
        if self.clusters > bits.len() {
            return Err(MiningError::FewPoints {
                clusters: self.clusters,
                points: bits.len(),
            });
        }
        let team = RankView::new(comm, control);
        let field = Field::new(&team, bits);
        let mut keeper = CheckpointKeeper::new(comm, kept, self, |digest| bits.digest(digest));
        let State {
            starts: first,
            mut work,
            labels,
        } = keeper.load().await?.unwrap_or_default();
        let mut best = match labels {
            Some(labels) => {
                let own = labels[field.rows.clone()].to_vec();
                Some(field.gathered(own, self.clusters).await?)
            }
            None => None,
        };
        let mut least = best.as_ref().map_or(f64::INFINITY, |best| best.inertia);
        for restart in first as usize..self.restarts {
            let mut draws = UniformDraws::new(self.seed, restart);
            let centres = starts(&field, self.clusters, &mut draws).await?;
            let found = field.settle(centres, f64::INFINITY, &mut work).await?;
            if best.is_none() || found.inertia < least {
                least = found.inertia;
                best = Some(found);
            }
            team.report(|| Progress {
                temperature: 0.0,
                clusters: self.clusters,
                target: self.clusters,
                free_energy: least / bits.len() as f64,
                done: (restart + 1) as f64 / self.restarts as f64,
            });
            if let (true, Some(best)) = (keeper.is_on(), &best) {
                let state = State {
                    starts: restart as u64 + 1,
                    work,
                    labels: Some(comm.allgather(best.labels.clone()).await?.concat()),
                };
                keeper.save(false, &state).await?;
            }
        }
        let best = best.ok_or(ParameterError::Zero { field: "restarts" })?;
        field.finish(best, Vec::new(), work).await
    }
}

/// What a checkpoint holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// Starts that are done.
    starts: u64,
    work: u64,
    /// The labels of all rows in the best of them.
    labels: Option<Vec<u32>>,
}

/// Rows at random, each with probability proportional to the number of columns in which it
/// differs from the nearest of those before it.
///
/// Source: D. Arthur and S. Vassilvitskii, k-means++: the advantages of careful seeding, SODA
/// (2007).
async fn starts(
    field: &Field<'_>,
    clusters: usize,
    draws: &mut UniformDraws,
) -> Result<Vec<Cluster>, MiningError> {
    let bits = field.bits;
    let mut distances = vec![1_u64; field.rows.len()];
    let mut chosen = Vec::with_capacity(clusters);
    for number in 0..clusters {
        let mine: u64 = distances.iter().sum();
        let cancelled = field.team.control.is_cancelled();
        let all = field.team.comm.allgather((cancelled, mine)).await?;
        if all.iter().any(|part| part.0) {
            return Err(MiningError::Cancelled);
        }
        let whole: u64 = all.iter().map(|part| part.1).sum();
        let mut place = ((draws.draw() * whole as f64) as u64).min(whole.saturating_sub(1));
        let mut owner = 0;
        while owner + 1 < all.len() && place >= all[owner].1 {
            place -= all[owner].1;
            owner += 1;
        }
        let row = (owner == field.team.comm.rank()).then(|| {
            let mut at = 0;
            while at + 1 < distances.len() && place >= distances[at] {
                place -= distances[at];
                at += 1;
            }
            (field.rows.start + at) as u64
        });
        let row = field.team.comm.broadcast(owner, row).await?;
        let row = (row as usize).min(bits.len() - 1);
        for (distance, other) in distances.iter_mut().zip(field.rows.clone()) {
            let new = bits.hamming(row, other) as u64;
            *distance = if number == 0 { new } else { new.min(*distance) };
        }
        let mut values = vec![0.0; bits.width()];
        bits.columns(row).for_each(|column| values[column] = 1.0);
        chosen.push(field.cluster(1.0, values.into_iter()));
    }
    Ok(chosen)
}
