//! Many rows of bits: a sample of them is clustered, and the others are given to its clusters.
//!
//! A sample costs some hundred passes over its own rows, and each other row one. Small clusters may
//! be lost: a sample should hold about 40 rows of each.

use super::compare::{shared, tanimoto};
use super::hard::{apart, square};
use super::kernel::{ByRow, Table};
use super::passes::step_of;
use super::tiles::{ROWS, Tile};
use super::{BitClustering, Bits, Likeness};
use crate::lanes::run;
use crate::rank_view::RankView;
use crate::{Control, DataError, MiningError, ParameterError, Progress};
use motet_comm::Communicator;

/// Times at which the ranks agree whether they go on.
const ROUNDS: usize = 16;

impl Bits {
    /// Some of the rows, with their names, in the order of `rows`.
    ///
    /// # Errors
    ///
    /// [`DataError::Empty`] for no rows, and [`DataError::TooManyPoints`].
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn some(&self, rows: &[usize]) -> Result<Bits, DataError> {
        let words = rows.iter().flat_map(|row| self.row(*row)).copied();
        let some = Bits::new(words.collect(), self.width())?;
        match self.names() {
            Some(names) => some.named(rows.iter().map(|row| names[*row].clone()).collect()),
            None => Ok(some),
        }
    }

    /// Writes the dissimilarities of some rows to some columns, row after row, where a column is a
    /// row too. A dissimilarity is the number of bits that differ, or 1 minus the likeness of
    /// Tanimoto. With it [`PairwiseClustering::give`](crate::PairwiseClustering::give) gives rows
    /// to the clusters of a sample that were found by either measure.
    ///
    /// # Panics
    ///
    /// If there is no such row or column, or `to` has not a place for each value.
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_mining::{Bits, Likeness};
    ///
    /// let bits = Bits::new(vec![0b0011, 0b0110, 0b0001], 4)?;
    /// let mut to = [0.0; 2];
    /// bits.between(Likeness::Hamming, &[0], &[1, 2], &mut to);
    /// assert_eq!(to, [2.0, 1.0]);
    /// bits.between(Likeness::Tanimoto, &[0], &[1, 2], &mut to);
    /// assert_eq!(to, [1.0 - 1.0 / 3.0, 0.5]);
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn between(&self, likeness: Likeness, rows: &[usize], columns: &[usize], to: &mut [f64]) {
        assert_eq!(to.len(), rows.len() * columns.len(), "places for values");
        if columns.is_empty() {
            return;
        }
        let words = columns.iter().flat_map(|column| self.row(*column));
        let words: Vec<u64> = words.copied().collect();
        let ones: Vec<usize> = columns.iter().map(|column| self.ones(*column)).collect();
        let mut counts = vec![0; columns.len()];
        for (row, to) in rows.iter().zip(to.chunks_exact_mut(columns.len())) {
            let own = self.ones(*row);
            shared(self.row(*row), &words, &mut counts);
            for ((to, ones), both) in to.iter_mut().zip(&ones).zip(&counts) {
                let both = *both as usize;
                *to = match likeness {
                    Likeness::Tanimoto => 1.0 - tanimoto(own, *ones, both),
                    Likeness::Hamming => (own + ones - 2 * both) as f64,
                };
            }
        }
    }
}

impl BitClustering {
    /// Gives rows to the clusters of a sample, each to the one whose centre is nearest, the first
    /// of equals, as [`predict`](BitClustering::predict) does. All ranks of `comm` call it with the
    /// same input.
    ///
    /// `self` is the [joined](BitClustering::join) result of the sample, and `bits` has all rows,
    /// those of the sample among them. Centres stay where they are, with their numbers; `trace` and
    /// `cluster_iterations` stay those of the sample. Sizes and inertia are those of all rows.
    ///
    /// # Errors
    ///
    /// [`MiningError::Data`] with [`DataError::Columns`] if rows have not as many columns as the
    /// centres; [`MiningError::Parameter`] for a result without clusters;
    /// [`MiningError::Cancelled`], [`MiningError::Comm`]. On all ranks alike.
    ///
    /// # Cancellation
    ///
    /// By [`Control::cancel`]: all ranks end together within a sixteenth of the work.
    ///
    /// # Examples
    ///
    /// Of 300 rows in two families 60 are clustered.
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{BitAnnealing, BitClustering, Bits, Clusters, Control, Sampling};
    ///
    /// let family = |row: u64| if row % 2 == 0 { 0x00ff } else { 0xff00 };
    /// let bits = Bits::new((0..300).map(|row| family(row) ^ 1 << (row * 7 % 16)).collect(), 16)?;
    /// let rows = Sampling { size: 60, seed: 1 }.rows(bits.len(), 0);
    /// let sample = bits.some(&rows)?;
    ///
    /// let method = BitAnnealing { clusters: Clusters::Exactly(2), ..BitAnnealing::default() };
    /// let parts = World::threads(2)
    ///     .run(async |comm| {
    ///         let part = method.fit(&comm, &sample, &Control::default()).await?;
    ///         let found = BitClustering::join(comm.allgather(part).await?).unwrap();
    ///         found.give(&comm, &bits, &Control::default()).await
    ///     })
    ///     .unwrap();
    /// let all = BitClustering::join(parts).unwrap();
    /// assert_eq!(all.sizes, [150, 150]);
    /// assert!((0..300).all(|row| all.labels[row] == all.labels[row % 2]));
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub async fn give(
        &self,
        comm: &Communicator,
        bits: &Bits,
        control: &Control<'_>,
    ) -> Result<BitClustering, MiningError> {
        if bits.width() != self.width {
            return Err(MiningError::Data(DataError::Columns {
                columns: bits.width(),
                fitted: self.width,
            }));
        }
        if self.centres.len() < self.width {
            return Err(ParameterError::Zero { field: "clusters" }.into());
        }
        let team = RankView::new(comm, control);
        let share = team.share(bits.len().div_ceil(ROWS));
        let mut giver = Giver::new(self, bits);
        for round in 0..ROUNDS {
            let edge = |round: usize| share.start + share.len() * round / ROUNDS;
            for number in edge(round)..edge(round + 1) {
                giver.tile(&team, number);
            }
            team.agree(control.is_cancelled()).await?;
            team.report(|| Progress {
                temperature: 0.0,
                clusters: giver.squares.len(),
                target: giver.squares.len(),
                free_energy: 0.0,
                done: (round + 1) as f64 / ROUNDS as f64,
            });
        }
        let Giver { labels, counts, .. } = giver;
        let counts = team.sum_whole(false, counts).await?;
        let last = bits.len().min(share.end * ROWS);
        Ok(BitClustering {
            rows: last.min(share.start * ROWS)..last,
            labels,
            sizes: sizes(&counts, self.width).collect(),
            inertia: inertia(&counts, self.width, &self.centres),
            constant_columns: bits.constant_columns().to_vec(),
            empty_rows: bits.empty_rows(),
            width: self.width,
            centres: self.centres.clone(),
            trace: self.trace.clone(),
            cluster_iterations: self.cluster_iterations,
        })
    }
}

/// Per cluster the number of its rows, then per column the number of those that have the bit.
fn parts(counts: &[i64], width: usize) -> impl Iterator<Item = (i64, &[i64])> {
    let parts = counts.chunks_exact(width + 1);
    parts.map(|part| (part[0], &part[1..]))
}

fn sizes(counts: &[i64], width: usize) -> impl Iterator<Item = usize> {
    parts(counts, width).map(|(size, _)| size as usize)
}

/// Σ |x - y|² over all rows, of whole numbers that are the same however the rows are divided. No
/// term is negative, so nothing is lost by differences.
fn inertia(counts: &[i64], width: usize, centres: &[f64]) -> f64 {
    let clusters = parts(counts, width).zip(centres.chunks_exact(width));
    let terms = clusters.flat_map(|((size, counts), centre)| {
        counts.iter().zip(centre).map(move |(count, y)| {
            let (with, without) = (*count as f64, (size - count) as f64);
            with * (1.0 - y) * (1.0 - y) + without * y * y
        })
    });
    terms.sum()
}

/// What a rank needs to give its rows.
struct Giver<'a> {
    bits: &'a Bits,
    width: usize,
    centres: &'a [f64],
    /// |y|² of each centre.
    squares: Vec<f64>,
    /// The centres in whole steps, and what 1 is in them.
    table: Table,
    step: f64,
    sums: Table,
    near: Vec<f64>,
    labels: Vec<u32>,
    /// As in [`parts`].
    counts: Vec<i64>,
}

impl<'a> Giver<'a> {
    fn new(found: &'a BitClustering, bits: &'a Bits) -> Giver<'a> {
        let centres = found.centres.chunks_exact(found.width);
        let squares: Vec<f64> = centres.clone().map(square).collect();
        let most = (0..bits.len()).map(|row| bits.ones(row)).max();
        let step = step_of(most.unwrap_or(1).max(1));
        let mut table = Table::new(squares.len(), found.width);
        for (k, centre) in centres.enumerate() {
            for (column, y) in centre.iter().enumerate() {
                table.set(column, k, (y * step).round_ties_even() as i32);
            }
        }
        Giver {
            bits,
            width: found.width,
            centres: &found.centres,
            table,
            step,
            sums: Table::new(squares.len(), ROWS),
            near: vec![0.0; squares.len()],
            labels: Vec::new(),
            counts: vec![0; squares.len() * (found.width + 1)],
            squares,
        }
    }

    /// Labels the rows of one tile.
    fn tile(&mut self, team: &RankView<'_>, number: usize) {
        let rows = number * ROWS..self.bits.len().min((number + 1) * ROWS);
        let tile = Tile::new(self.bits, rows);
        let task = ByRow(&tile, &self.table, &mut self.sums);
        run(team.instructions, task);
        for row in 0..tile.len() {
            let columns = tile.columns(row);
            for (k, (near, square)) in self.near.iter_mut().zip(&self.squares).enumerate() {
                *near = square - 2.0 * f64::from(self.sums.get(row, k)) / self.step;
            }
            let label = self.nearest(tile.first + row, columns.len());
            let first = label * (self.width + 1);
            self.counts[first] += 1;
            for column in columns {
                self.counts[first + 1 + usize::from(*column)] += 1;
            }
            self.labels.push(label as u32);
        }
    }

    /// The nearest centre, the first of equals. Centres in steps are half a step off at most in
    /// each column; those that this leaves in doubt are compared as they are.
    fn nearest(&self, row: usize, ones: usize) -> usize {
        let least = self.near.iter().copied().fold(f64::INFINITY, f64::min);
        let doubt = 3.0 * ones as f64 / self.step;
        let open = |k: &usize| self.near[*k] <= least + doubt;
        let mut rest = (0..self.near.len()).filter(open);
        let first = rest.next().unwrap_or(0);
        let exact = |k: usize| {
            let centre = &self.centres[k * self.width..][..self.width];
            apart(self.bits, row, centre, self.squares[k])
        };
        let mut best = (first, None);
        for k in rest {
            let (value, before) = (exact(k), best.1.unwrap_or_else(|| exact(best.0)));
            best = match value < before {
                true => (k, Some(value)),
                false => (best.0, Some(before)),
            };
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{exactly, families};
    use super::*;
    use crate::{BitKMeans, CancelToken, Clusters, Dissimilarities, Pairwise, Sampling};
    use motet_comm::World;

    /// The squared distances of each row from all centres, by a plain loop over all columns.
    fn plain(found: &BitClustering, bits: &Bits) -> Vec<Vec<f64>> {
        let rows = (0..bits.len()).map(|row| {
            let mut x = vec![0.0; bits.width()];
            bits.columns(row).for_each(|column| x[column] = 1.0);
            let square = |k: usize| {
                let pairs = x.iter().zip(found.centre(k));
                pairs.map(|(x, y)| (x - y) * (x - y)).sum()
            };
            (0..found.clusters()).map(square).collect()
        });
        rows.collect()
    }

    fn give(world: &World, found: &BitClustering, bits: &Bits) -> BitClustering {
        let control = Control::default();
        let run = async |comm| found.give(&comm, bits, &control).await;
        BitClustering::join(world.run(run).unwrap()).unwrap()
    }

    fn sampled(bits: &Bits, size: usize, clusters: usize) -> BitClustering {
        let sample = bits.some(&Sampling { size, seed: 3 }.rows(bits.len(), 0));
        let (sample, method) = (sample.unwrap(), exactly(clusters));
        let fit = async |comm| method.fit(&comm, &sample, &Control::default()).await;
        World::solo().run(fit).unwrap().remove(0)
    }

    #[test]
    fn sem_g495_rows_of_bits_are_given_as_a_plain_loop_gives_them() {
        // 20 clusters are more than one group of the kernel; 1,600 rows are four tiles.
        for (rows, width, groups, clusters) in [(1_600, 90, 5, 5), (700, 40, 3, 20)] {
            let bits = families(rows, width, groups);
            let found = sampled(&bits, 200, clusters);
            let squares = plain(&found, &bits);
            let given = give(&World::solo(), &found, &bits);
            let mut inertia = 0.0;
            for (squares, label) in squares.iter().zip(&given.labels) {
                let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
                assert!(
                    squares[*label as usize] < least + 1e-9,
                    "{label}: {squares:?}"
                );
                inertia += least;
            }
            assert_eq!((given.labels.len(), given.rows.clone()), (rows, 0..rows));
            assert_eq!(given.labels, found.predict(&bits).unwrap());
            let difference = (given.inertia - inertia).abs();
            assert!(difference < 1e-9 * inertia, "{} {inertia}", given.inertia);
            for (k, size) in given.sizes.iter().enumerate() {
                let own = given.labels.iter().filter(|label| **label == k as u32);
                assert_eq!(own.count(), *size);
            }
            assert_eq!(given.centres, found.centres);
            for ranks in [1, 2, 3, 8] {
                assert_eq!(give(&World::threads(ranks), &found, &bits), given);
            }
        }
    }

    #[test]
    fn sem_g495_rows_between_centres_go_to_the_first_and_sampled_rows_stay() {
        // Rows 0 to 5 are a sample of thirds, whose sums of steps are not exact.
        let words = [
            0b000_111, 0b000_011, 0b000_101, 0b111_000, 0b011_000, 0b101_000,
        ];
        let between = [0b100_100, 0b000_000, 0b111_111, 0b010_010, 0b001_001];
        let words: Vec<u64> = words.into_iter().chain(between).collect();
        let bits = Bits::new(words, 6).unwrap();
        let sample = bits.some(&[0, 1, 2, 3, 4, 5]).unwrap();
        let method = BitKMeans {
            restarts: 4,
            ..BitKMeans::default()
        };
        let fit = async |comm| method.fit(&comm, &sample, &Control::default()).await;
        let found = World::solo().run(fit).unwrap().remove(0);
        let given = give(&World::threads(2), &found, &bits);
        assert_eq!(given.labels[..6], found.labels);
        assert_eq!(given.labels[6..], [0; 5]);
        assert_eq!(
            (given.sizes.iter().sum::<usize>(), given.empty_rows),
            (11, 1)
        );
    }

    #[test]
    fn sem_g495_rows_that_are_sampled_keep_their_cluster() {
        let bits = families(600, 70, 4);
        let rows = Sampling { size: 160, seed: 3 }.rows(600, 0);
        let found = sampled(&bits, 160, 4);
        let given = give(&World::threads(3), &found, &bits);
        for (row, label) in rows.iter().zip(&found.labels) {
            assert_eq!(given.labels[*row], *label);
        }
        // Means of a sample are not those of all rows: the inertia is never below the best.
        assert!(given.inertia >= sampled(&bits, 600, 4).inertia);
        let all = sampled(&bits, 600, 4);
        let again = give(&World::solo(), &all, &bits);
        assert_eq!(again.labels, all.labels);
        assert!((again.inertia - all.inertia).abs() < 1e-9 * all.inertia);
    }

    #[test]
    fn sem_g495_what_cannot_be_given_is_refused_on_all_ranks_alike() {
        let (bits, other) = (families(90, 40, 3), families(90, 41, 3));
        let found = sampled(&bits, 30, 3);
        let ends = |found: &BitClustering, bits: &Bits, control: &Control<'_>| {
            let run = World::threads(2).run(async |comm| {
                let end = found.give(&comm, bits, control).await;
                Ok::<_, MiningError>(format!("{:?}", end.unwrap_err()))
            });
            let mut ends = run.unwrap();
            assert_eq!(ends[0], ends[1]);
            ends.remove(0)
        };
        let control = Control::default();
        let text = ends(&found, &other, &control);
        assert!(text.contains("41") && text.contains("40"), "{text}");
        let none = BitClustering {
            sizes: Vec::new(),
            centres: Vec::new(),
            ..found.clone()
        };
        assert!(ends(&none, &bits, &control).contains("clusters"));
        let cancel = CancelToken::new();
        cancel.cancel();
        let control = Control {
            cancel: Some(&cancel),
            ..Control::default()
        };
        assert_eq!(ends(&found, &bits, &control), "Cancelled");
        assert_eq!(bits.some(&[]), Err(DataError::Empty));
    }

    #[test]
    fn sem_g495_fingerprints_are_given_by_either_measure_as_pairs_are() {
        let (all, groups) = (260, 4);
        let bits = families(all, 80, groups);
        let names = (0..all).map(|row| format!("r{row}")).collect();
        let bits = bits.named(names).unwrap();
        let sample = Sampling { size: 90, seed: 5 }.rows(all, 0);
        let some = bits.some(&sample).unwrap();
        assert_eq!(some.names().unwrap()[7], format!("r{}", sample[7]));
        assert_eq!(some.row(7), bits.row(sample[7]));
        for likeness in [Likeness::Tanimoto, Likeness::Hamming] {
            let mut pairs = vec![0.0; 90 * 90];
            bits.between(likeness, &sample, &sample, &mut pairs);
            let mut row = vec![0.0; 90];
            some.dissimilarities(likeness, 11, &mut row);
            assert_eq!(pairs[11 * 90..][..90], row);
            let pairs = Dissimilarities::new(pairs, 90).unwrap();
            let method = Pairwise {
                clusters: Clusters::Exactly(groups),
                ..Pairwise::default()
            };
            let control = Control::default();
            let fit = async |comm| method.fit(&comm, &pairs, None, &control).await;
            let found = World::solo().run(fit).unwrap().remove(0);
            let rows: Vec<usize> = (0..all).collect();
            let given = |ranks| {
                let make = |rows: &[usize], to: &mut [f64]| {
                    bits.between(likeness, rows, &sample, to);
                };
                let run = World::threads(ranks).run(async |comm| {
                    let given = found.give(&comm, (&rows, &sample), make, &control);
                    given.await
                });
                run.unwrap().remove(0)
            };
            let one = given(1);
            assert_eq!(given(3), one);
            assert!((0..all).all(|row| one.labels[row] == one.labels[row % groups]));
        }
    }
}
