//! Many rows: a sample of them is clustered, and the others are given to its clusters.
//!
//! No exact method for pairs is cheaper than all pairs. A sample of m rows costs m² pairs, and
//! each other row m. Small clusters may be lost: a sample should hold about 40 rows of each.

use super::mapped::check_one;
use super::{Dissimilarities, PairwiseClustering};
use crate::kmeans::UniformDraws;
use crate::memory_request::zeros;
use crate::rank_view::RankView;
use crate::{Control, DataError, MiningError, Progress};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// Rows whose dissimilarities are worked out together.
const BLOCK: usize = 512;
/// Times at which the ranks agree whether they go on.
const ROUNDS: usize = 16;

/// How many rows are drawn, and from what.
///
/// # Examples
///
/// ```
/// use motet_mining::Sampling;
///
/// let sampling = Sampling { size: 3, seed: 0 };
/// let rows = sampling.rows(1_000, 0);
/// assert_eq!(rows, sampling.rows(1_000, 0));
/// assert!(rows.len() == 3 && rows.is_sorted());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// The rows of a sample.
    pub size: usize,
    /// What they are drawn from.
    pub seed: u64,
}

/// The rows that were given to the clusters of a sample, the same on all ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Given {
    /// The cluster of each row.
    pub labels: Vec<u32>,
    /// The mean over the rows of what a row costs in its cluster. Over all rows it stands for the
    /// [`cost`](PairwiseClustering::cost) that they would have.
    pub cost: f64,
}

impl Sampling {
    /// One of several draws: different rows of so many, all equally likely, in their order. All of
    /// them if there are no more than the sample is to have.
    ///
    /// Source: R. W. Floyd's way, in J. Bentley, Programming pearls: a sample of brilliance,
    /// Communications of the ACM 30 (1987).
    pub fn rows(&self, all: usize, draw: usize) -> Vec<usize> {
        let mut draws = UniformDraws::new(self.seed, draw);
        let mut drawn = BTreeSet::new();
        for last in all.saturating_sub(self.size)..all {
            let row = (draws.draw() * (last + 1) as f64) as usize;
            if !drawn.insert(row.min(last)) {
                drawn.insert(last);
            }
        }
        drawn.into_iter().collect()
    }
}

impl Dissimilarities {
    /// Those of some rows to each other, in the order of `rows`.
    ///
    /// # Errors
    ///
    /// [`DataError::Empty`] for no rows, [`DataError::Memory`] for more than there is room for, and
    /// [`DataError::NoKnownPair`], with the number of the row in `rows`, where none of these is
    /// known.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn among(&self, rows: &[usize]) -> Result<Dissimilarities, DataError> {
        let (what, advice) = ("the pairs of so many rows", "take a smaller sample");
        let mut values: Vec<f64> = zeros(what, (rows.len() as u128).pow(2), advice)?;
        if !rows.is_empty() {
            self.between(rows, rows, &mut values);
        }
        Dissimilarities::new(values, rows.len())
    }

    /// Writes those of some rows to some columns, row after row; NaN where one is not known.
    ///
    /// # Panics
    ///
    /// If there is no such row or column, or `to` has not a place for each value.
    pub fn between(&self, rows: &[usize], columns: &[usize], to: &mut [f64]) {
        assert_eq!(to.len(), rows.len() * columns.len(), "places for values");
        if columns.is_empty() {
            return;
        }
        let mut whole = vec![0.0; self.len()];
        for (row, to) in rows.iter().zip(to.chunks_exact_mut(columns.len())) {
            self.read(*row, &mut whole);
            for (to, column) in to.iter_mut().zip(columns) {
                *to = whole[*column];
            }
        }
    }
}

impl PairwiseClustering {
    /// Gives rows to the clusters of a sample, each to the one where it costs least. The cost is
    /// its mean dissimilarity to the members, less half of theirs to each other. All ranks of
    /// `comm` call it with the same input.
    ///
    /// `self` is the [joined](PairwiseClustering::join) result of the sample, whose rows are those
    /// with the numbers `sample`, of equal weights. `make` writes the dissimilarities of some
    /// `rows` to all of the sample, row after row; NaN means not known.
    ///
    /// # Errors
    ///
    /// [`MiningError::Data`] for a value that is no dissimilarity, and for a row none of whose
    /// dissimilarities is known; [`MiningError::Cancelled`], [`MiningError::Comm`]. On all ranks
    /// alike.
    ///
    /// # Panics
    ///
    /// If `self` does not have the label of each row of the sample.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: a rank looks after each block of rows, and all ranks end together
    /// within a sixteenth of the work.
    pub async fn give(
        &self,
        comm: &Communicator,
        (rows, sample): (&[usize], &[usize]),
        make: impl Fn(&[usize], &mut [f64]),
        control: &Control<'_>,
    ) -> Result<Given, MiningError> {
        assert_eq!(
            self.labels.len(),
            sample.len(),
            "labels and rows of the sample"
        );
        let team = RankView::new(comm, control);
        let share = team.share(rows.len());
        let (mut labels, mut costs) = (Vec::new(), Vec::new());
        let mut bad = None;
        for round in 0..ROUNDS {
            let edge = |round: usize| share.start + share.len() * round / ROUNDS;
            let part: Range<usize> = edge(round)..edge(round + 1);
            for block in rows[part].chunks(BLOCK) {
                if bad.is_some() || control.is_cancelled() {
                    break;
                }
                let mut values = vec![0.0; block.len() * sample.len()];
                make(block, &mut values);
                for (row, values) in block.iter().zip(values.chunks_exact(sample.len())) {
                    match self.least(*row, sample, values) {
                        Ok((label, cost)) => {
                            labels.push(label);
                            costs.push(cost);
                        }
                        Err(place) => bad = bad.or(Some(place)),
                    }
                }
            }
            let ends = (control.is_cancelled(), bad);
            let all = comm.allreduce(ends, |l, r| (l.0 || r.0, l.1.or(r.1)));
            let (cancelled, first_bad) = all.await?;
            if let Some((row, column, value)) = first_bad {
                let error = check_one(row, column, value).err();
                let error = error.unwrap_or(DataError::NoKnownPair { row });
                return Err(MiningError::Data(error));
            }
            if cancelled {
                return Err(MiningError::Cancelled);
            }
            team.report(|| Progress {
                temperature: 0.0,
                clusters: self.sizes.len(),
                target: self.sizes.len(),
                free_energy: 0.0,
                done: (round + 1) as f64 / ROUNDS as f64,
            });
        }
        let labels = comm.allgather(labels).await?.concat();
        // In the order of the rows, so that the sum is the same for any number of ranks.
        let total: f64 = team.gather(false, costs).await?.iter().sum();
        Ok(Given {
            labels,
            cost: total / rows.len().max(1) as f64,
        })
    }

    /// Where a row costs least, and what; or the place of a bad value.
    fn least(
        &self,
        row: usize,
        sample: &[usize],
        values: &[f64],
    ) -> Result<(u32, f64), (usize, usize, f64)> {
        let mut sums = vec![(0.0, 0.0); self.mean_costs.len()];
        for ((column, value), label) in sample.iter().zip(values).zip(&self.labels) {
            if check_one(row, *column, *value).is_err() {
                return Err((row, *column, *value));
            }
            if !value.is_nan() {
                let (sum, known) = &mut sums[*label as usize];
                *sum += value;
                *known += 1.0;
            }
        }
        let mut best = None;
        for ((label, (sum, known)), mean_cost) in (0..).zip(sums).zip(&self.mean_costs) {
            let cost = sum / known - mean_cost;
            if known > 0.0 && best.is_none_or(|(_, least)| cost < least) {
                best = Some((label, cost));
            }
        }
        best.ok_or((row, row, f64::NAN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CancelToken, Clusters, Pairwise};
    use motet_comm::{RunError, World};

    /// Rows around `groups` places on a line, 10 apart.
    fn place(row: usize, groups: usize) -> f64 {
        (row % groups * 10) as f64 + (row * 37 % 101) as f64 / 50.0
    }

    /// The squared distances of such rows.
    fn pairs(rows: usize, groups: usize) -> Dissimilarities {
        let from = |i, j| place(i, groups) - place(j, groups);
        let square = |i, j| from(i, j) * from(i, j);
        let values = (0..rows).flat_map(|i| (0..rows).map(move |j| square(i, j)));
        Dissimilarities::new(values.collect(), rows).unwrap()
    }

    fn fit(pairs: &Dissimilarities, clusters: usize) -> PairwiseClustering {
        let clusters = Clusters::Exactly(clusters);
        let method = Pairwise {
            clusters,
            ..Pairwise::default()
        };
        let fit = async |comm| method.fit(&comm, pairs, None, &Control::default()).await;
        World::solo().run(fit).unwrap().remove(0)
    }

    fn give(
        found: &PairwiseClustering,
        sample: &[usize],
        all: usize,
        ranks: usize,
        make: impl Fn(&[usize], &mut [f64]) + Sync,
    ) -> Result<Given, MiningError> {
        let rows: Vec<usize> = (0..all).collect();
        let control = Control::default();
        let run = async |comm| found.give(&comm, (&rows, sample), &make, &control).await;
        match World::threads(ranks).run(run) {
            Ok(mut given) => {
                let first = given.remove(0);
                assert!(given.iter().all(|other| *other == first), "ranks differ");
                Ok(first)
            }
            Err(RunError::Rank { error, .. }) => Err(error),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn sem_g176_rows_are_given_to_the_clusters_of_a_sample() {
        let (all, groups) = (700, 5);
        let whole = pairs(all, groups);
        let sample = Sampling { size: 200, seed: 3 }.rows(all, 0);
        let found = fit(&whole.among(&sample).unwrap(), groups);
        let between = |rows: &[usize], to: &mut [f64]| whole.between(rows, &sample, to);
        let given = give(&found, &sample, all, 1, between).unwrap();
        for ranks in [2, 3, 8] {
            assert_eq!(give(&found, &sample, all, ranks, between).unwrap(), given);
        }
        // Each group has one label, and no two have the same.
        let first: Vec<u32> = given.labels[..groups].to_vec();
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), groups);
        assert!((0..all).all(|row| given.labels[row] == first[row % groups]));
        // Where dissimilarities are squared distances, a row costs its squared distance from the
        // mean of its cluster's part of the sample.
        let mean = |label: u32| {
            let own = (0..sample.len()).filter(|row| found.labels[*row] == label);
            let places: Vec<f64> = own.map(|row| place(sample[row], groups)).collect();
            places.iter().sum::<f64>() / places.len() as f64
        };
        let means: Vec<f64> = (0..groups as u32).map(mean).collect();
        let square = |row: usize| {
            let from = place(row, groups) - means[given.labels[row] as usize];
            from * from
        };
        let cost = (0..all).map(square).sum::<f64>() / all as f64;
        assert!(
            (given.cost - cost).abs() < 1e-9 * cost,
            "{} for {cost}",
            given.cost
        );
        // Those means are not the clusters' own, so the estimate is never below the cost.
        assert!(given.cost >= fit(&whole, groups).cost);
        // The cost of a row by its words: twice over, in another order.
        let row = 17;
        let label = given.labels[row];
        let own = (0..sample.len()).filter(|at| found.labels[*at] == label);
        let distances: Vec<f64> = own.map(|at| whole.get(row, sample[at])).collect();
        let mean = distances.iter().rev().sum::<f64>() / distances.len() as f64;
        let cost = mean - found.mean_costs[label as usize];
        let mut values = vec![0.0; sample.len()];
        between(&[row], &mut values);
        let (_, least) = found.least(row, &sample, &values).unwrap();
        assert!((least - cost).abs() < 1e-12, "{least} for {cost}");
    }

    #[test]
    fn sem_g176_what_cannot_be_given_is_refused_with_its_place() {
        let whole = pairs(60, 3);
        let sample = Sampling { size: 20, seed: 0 }.rows(60, 1);
        let found = fit(&whole.among(&sample).unwrap(), 3);
        let row = (0..60).find(|row| !sample.contains(row)).unwrap();
        let broken = |value: f64, columns: Range<usize>| {
            let make = |rows: &[usize], to: &mut [f64]| {
                whole.between(rows, &sample, to);
                if let Some(at) = rows.iter().position(|other| *other == row) {
                    let first = at * sample.len();
                    to[first + columns.start..first + columns.end].fill(value);
                }
            };
            let ends: Vec<_> = [1, 4]
                .map(|ranks| give(&found, &sample, 60, ranks, make))
                .into_iter()
                .collect();
            assert_eq!(format!("{:?}", ends[0]), format!("{:?}", ends[1]));
            ends.into_iter().next().unwrap()
        };
        let column = sample[4];
        let said = |result: Result<Given, MiningError>| match result {
            Err(MiningError::Data(error)) => error,
            other => panic!("{other:?}"),
        };
        let value = -1.0;
        let negative = DataError::NegativePair { row, column, value };
        assert_eq!(said(broken(value, 4..5)), negative);
        let unknown = broken(f64::NAN, 0..sample.len());
        assert_eq!(said(unknown), DataError::NoKnownPair { row });
        // What is not known counts for nothing.
        assert!(broken(f64::NAN, 4..5).is_ok());
        let (cancel, none) = (CancelToken::new(), |_: &[usize], _: &mut [f64]| ());
        cancel.cancel();
        let control = Control {
            cancel: Some(&cancel),
            ..Control::default()
        };
        let run = async |comm| found.give(&comm, (&[0], &sample), none, &control).await;
        let ended = World::threads(2).run(run).unwrap_err();
        assert!(matches!(
            ended,
            RunError::Rank {
                error: MiningError::Cancelled,
                ..
            }
        ));
    }

    #[test]
    fn draws_are_even_and_differ() {
        let sampling = Sampling { size: 10, seed: 9 };
        let mut counts = [0_u32; 40];
        for draw in 0..4_000 {
            let rows = sampling.rows(40, draw);
            assert_eq!(rows.len(), 10);
            rows.iter().for_each(|row| counts[*row] += 1);
        }
        // 1,000 each: five standard deviations are 137.
        assert!(
            counts.iter().all(|count| count.abs_diff(1_000) < 137),
            "{counts:?}"
        );
        assert_ne!(sampling.rows(40, 0), sampling.rows(40, 1));
        assert_eq!(sampling.rows(4, 0), [0, 1, 2, 3]);
    }
}
