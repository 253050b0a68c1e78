//! Temperature zero: least energies, then single moves while one lowers the cost.

use super::field::{Field, Sums, sums_of};
use crate::MiningError;

/// Passes of least energies, and of single moves, at most.
const PASSES: usize = 200;

impl Field<'_> {
    /// The labels at temperature zero. There are `clusters` of them unless `exactly` is false or
    /// too few rows differ; they are numbered by their first rows.
    pub(super) async fn freeze(
        &self,
        mut labels: Vec<usize>,
        clusters: usize,
        exactly: bool,
    ) -> Result<(Vec<usize>, Sums), MiningError> {
        for _ in 0..=clusters {
            labels = self.least(labels).await?;
            labels = self.single_moves(labels).await?;
            let k = renumber(&mut labels);
            let sums = self.sums(k, &one_hot(k, &labels)).await?;
            match self.farthest(&labels, &sums) {
                Some(row) if exactly && k < clusters => labels[row] = k,
                _ => return Ok((labels, sums)),
            }
        }
        self.numbered(labels).await
    }

    /// Labels by their first rows, and their sums.
    pub(super) async fn numbered(
        &self,
        mut labels: Vec<usize>,
    ) -> Result<(Vec<usize>, Sums), MiningError> {
        let k = renumber(&mut labels);
        let sums = self.sums(k, &one_hot(k, &labels)).await?;
        Ok((labels, sums))
    }

    /// Every row goes to the cluster of least energy, until the labels stand still.
    pub(super) async fn least(&self, mut labels: Vec<usize>) -> Result<Vec<usize>, MiningError> {
        for _ in 0..PASSES {
            let k = renumber(&mut labels);
            let energies = self.sums(k, &one_hot(k, &labels)).await?.energies();
            let new: Vec<usize> = energies.chunks_exact(k).map(least_of).collect();
            if new == labels {
                break;
            }
            labels = new;
        }
        Ok(labels)
    }

    /// The best single move, while one lowers the cost.
    pub(super) async fn single_moves(
        &self,
        mut labels: Vec<usize>,
    ) -> Result<Vec<usize>, MiningError> {
        let k = renumber(&mut labels);
        for _ in 0..PASSES {
            let mut sums = self.sums(k, &one_hot(k, &labels)).await?;
            let mut moved = false;
            // The sums follow the moves; they are made anew before rounding adds up.
            for _ in 0..labels.len() {
                let Some((row, to)) = self.best_move(&labels, &sums) else {
                    break;
                };
                self.follow(&mut sums, row, labels[row], to);
                labels[row] = to;
                let r = self.weighted(k, &one_hot(k, &labels));
                sums = sums_of(k, &r, sums.u, sums.v);
                moved = true;
            }
            if !moved {
                break;
            }
        }
        Ok(labels)
    }

    fn best_move(&self, labels: &[usize], sums: &Sums) -> Option<(usize, usize)> {
        let k = sums.masses.len();
        let mut sizes = vec![0_usize; k];
        labels.iter().for_each(|label| sizes[*label] += 1);
        let (mut best, mut gain) = (None, -1e-12 * sums.cost().abs());
        for (row, &label) in labels.iter().enumerate() {
            let weight = self.weights[row];
            if sizes[label] < 2 || weight == 0.0 {
                continue;
            }
            let here = sums.rise(row, label, weight, 1.0);
            for to in (0..k).filter(|to| *to != label) {
                let change = sums.rise(row, to, weight, 0.0) - here;
                if change < gain {
                    (best, gain) = (Some((row, to)), change);
                }
            }
        }
        best
    }

    /// Takes a row out of a cluster and into another one, in U and V.
    fn follow(&self, sums: &mut Sums, row: usize, from: usize, to: usize) {
        let (k, weight) = (sums.masses.len(), self.weights[row]);
        let mut line = vec![0.0; labels_len(sums)];
        let mut shift = |numbers: &mut [f64], known: bool| {
            self.data.read_part(row, known, &mut line);
            for (numbers, value) in numbers.chunks_exact_mut(k).zip(&line) {
                numbers[from] -= weight * value;
                numbers[to] += weight * value;
            }
        };
        shift(&mut sums.u, false);
        if let Some(v) = &mut sums.v {
            shift(v, true);
        }
    }

    /// The row that costs most where it is, if it costs anything and is not alone.
    fn farthest(&self, labels: &[usize], sums: &Sums) -> Option<usize> {
        let k = sums.masses.len();
        let energies = sums.energies();
        let (mut far, mut most) = (None, 0.0);
        for (row, &label) in labels.iter().enumerate() {
            let cost = self.weights[row] * energies[row * k + label];
            if cost > most && labels.iter().filter(|other| **other == label).count() > 1 {
                (far, most) = (Some(row), cost);
            }
        }
        far
    }

    /// Of each cluster the member with the least energy, the first of equals.
    pub(super) fn medoids(&self, labels: &[usize], sums: &Sums) -> Vec<usize> {
        let k = sums.masses.len();
        let energies = sums.energies();
        let mut best = vec![(f64::INFINITY, 0); k];
        for (row, &label) in labels.iter().enumerate() {
            let energy = energies[row * k + label];
            if energy < best[label].0 {
                best[label] = (energy, row);
            }
        }
        best.into_iter().map(|(_, row)| row).collect()
    }
}

fn labels_len(sums: &Sums) -> usize {
    sums.u.len() / sums.masses.len()
}

fn least_of(energies: &[f64]) -> usize {
    let mut best = 0;
    for (k, energy) in energies.iter().enumerate() {
        if *energy < energies[best] {
            best = k;
        }
    }
    best
}

pub(super) fn one_hot(k: usize, labels: &[usize]) -> Vec<f64> {
    let mut shares = vec![0.0; k * labels.len()];
    for (row, label) in labels.iter().enumerate() {
        shares[row * k + label] = 1.0;
    }
    shares
}

/// Numbers clusters by their first rows; gives how many there are.
fn renumber(labels: &mut [usize]) -> usize {
    let most = labels.iter().max().map_or(0, |most| most + 1);
    let mut numbers = vec![usize::MAX; most];
    let mut count = 0;
    for label in labels {
        if numbers[*label] == usize::MAX {
            numbers[*label] = count;
            count += 1;
        }
        *label = numbers[*label];
    }
    count
}
