//! K-means of rows of bits, the method that annealing is measured against.

use super::passes::{Cluster, Field};
use super::{BitClustering, Bits};
use crate::boxed::LocalBoxFuture;
use crate::checkpoint::{CheckpointKeeper, Checkpoints};
use crate::kmeans::{SEVERAL_DRAWS, UniformDraws, tries};
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
    /// By [`Control::cancel`]: all ranks end together within one pass over the rows, or the draws
    /// of one centre.
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
        let how = (self, SEVERAL_DRAWS);
        let mut keeper = CheckpointKeeper::new(comm, kept, &how, |digest| bits.digest(digest));
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
/// differs from the nearest of those before it. After the first, 2 + ln k are drawn for each
/// centre, and the one that leaves the least of these numbers counts, the first of equals.
///
/// Source: D. Arthur and S. Vassilvitskii, k-means++: the advantages of careful seeding, SODA
/// (2007); there, too, several are drawn for each centre.
async fn starts(
    field: &Field<'_>,
    clusters: usize,
    draws: &mut UniformDraws,
) -> Result<Vec<Cluster>, MiningError> {
    let bits = field.bits;
    let mut distances = vec![1_u64; field.rows.len()];
    let mut sums = of_all_ranks(field, vec![distances.len() as u64])
        .await?
        .concat();
    let mut chosen = Vec::with_capacity(clusters);
    for number in 0..clusters {
        let tries = if number == 0 { 1 } else { tries(clusters) };
        let places = (0..tries).map(|_| drawn(field, &distances, &sums, draws.draw()));
        let places = field.sum(places.collect()).await?;
        let last = bits.len() - 1;
        let rows: Vec<usize> = places.iter().map(|row| last.min(*row as usize)).collect();
        let after = |old: u64, row: usize, other: usize| {
            let new = bits.hamming(row, other) as u64;
            if number == 0 { new } else { new.min(old) }
        };
        let left = rows.iter().map(|row| {
            let pairs = distances.iter().zip(field.rows.clone());
            pairs
                .map(|(old, other)| after(*old, *row, other))
                .sum::<u64>()
        });
        let left = of_all_ranks(field, left.collect()).await?;
        let all = |at: &usize| left.iter().map(|own| own[*at]).sum::<u64>();
        let best = (0..tries).min_by_key(all).unwrap_or_default();
        sums = left.iter().map(|own| own[best]).collect();
        let row = rows[best];
        for (distance, other) in distances.iter_mut().zip(field.rows.clone()) {
            *distance = after(*distance, row, other);
        }
        let mut values = vec![0.0; bits.width()];
        bits.columns(row).for_each(|column| values[column] = 1.0);
        chosen.push(field.cluster(1.0, values.into_iter()));
    }
    Ok(chosen)
}

/// The numbers of each rank; all leave together if one is to stop.
async fn of_all_ranks(field: &Field<'_>, mine: Vec<u64>) -> Result<Vec<Vec<u64>>, MiningError> {
    let cancelled = field.team.control.is_cancelled();
    let all = field.team.comm.allgather((cancelled, mine)).await?;
    match all.iter().any(|part| part.0) {
        true => Err(MiningError::Cancelled),
        false => Ok(all.into_iter().map(|part| part.1).collect()),
    }
}

/// The row that a number from 0 to 1 falls on, by the distances of this rank's rows and their sums
/// on each rank; 0 where another rank has it.
fn drawn(field: &Field<'_>, distances: &[u64], sums: &[u64], draw: f64) -> i64 {
    let whole: u64 = sums.iter().sum();
    let mut place = ((draw * whole as f64) as u64).min(whole.saturating_sub(1));
    let mut owner = 0;
    while owner + 1 < sums.len() && place >= sums[owner] {
        place -= sums[owner];
        owner += 1;
    }
    if owner != field.team.comm.rank() {
        return 0;
    }
    let mut at = 0;
    while at + 1 < distances.len() && place >= distances[at] {
        place -= distances[at];
        at += 1;
    }
    (field.rows.start + at) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_comm::World;

    #[test]
    fn sem_g577_a_start_of_k_means_of_bits_rarely_leaves_a_group_out() {
        const GROUPS: usize = 20;
        const WORDS: usize = 7;
        // Rows of a group have 20 columns of their own, and one of the last eight.
        let row = |row: usize| {
            let own = (row % GROUPS * 20..).take(20);
            let mut words = [0_u64; WORDS];
            for column in own.chain([400 + row / GROUPS % 8]) {
                words[column / 64] |= 1 << (column % 64);
            }
            words
        };
        let bits = Bits::new((0..64 * GROUPS).flat_map(row).collect(), 408).unwrap();
        let centres = |ranks: usize, seed: u64| {
            let chosen = World::threads(ranks).run(async |comm| {
                let control = Control::default();
                let team = RankView::new(&comm, &control);
                let field = Field::new(&team, &bits);
                let mut draws = UniformDraws::new(seed, 0);
                let chosen = starts(&field, GROUPS, &mut draws).await?;
                let centres = chosen.into_iter().map(|own| own.centre);
                Ok::<Vec<Vec<i32>>, MiningError>(centres.collect())
            });
            chosen.unwrap()
        };
        let groups_met = |seed: u64| {
            let chosen = centres(1, seed).remove(0);
            let group = |centre: &Vec<i32>| (0..GROUPS).find(|group| centre[20 * group] > 0);
            let mut met: Vec<usize> = chosen.iter().filter_map(group).collect();
            met.sort_unstable();
            met.dedup();
            met.len()
        };
        // With one draw for each centre it is one start of five, with four 19 of 20.
        let all_met = (0..30).filter(|seed| groups_met(*seed) == GROUPS).count();
        assert!(all_met >= 22, "{all_met}");
        let alone = centres(1, 7).remove(0);
        for ranks in [2, 3, 8] {
            for chosen in centres(ranks, 7) {
                assert_eq!(chosen, alone, "{ranks} ranks");
            }
        }
    }
}
