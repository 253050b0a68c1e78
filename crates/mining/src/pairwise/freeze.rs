//! Temperature zero: least energies, then single moves while one lowers the cost.
//!
//! Every rank has the labels of all rows, and the fields of its own.

use super::field::{Field, Sums};
use crate::MiningError;
use motet_comm::Value;
use serde::{Deserialize, Serialize};

/// Passes of least energies, and of single moves, at most.
const PASSES: usize = 200;

/// A row may go to another cluster. `u` and `v` are its numbers there and where it is.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Move {
    row: usize,
    to: usize,
    u: [f64; 2],
    v: [f64; 2],
}

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
            let sums = self.cold_sums(k, &labels).await?;
            match self.farthest(&labels, &sums).await? {
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
        let sums = self.cold_sums(k, &labels).await?;
        Ok((labels, sums))
    }

    /// The labels of all rows, of which `own` are those of this rank's.
    pub(super) async fn gather_labels(
        &self,
        own: impl Iterator<Item = usize>,
    ) -> Result<Vec<usize>, MiningError> {
        let own: Vec<u32> = own.map(|label| label as u32).collect();
        let all = self.team.comm.allgather(own).await?;
        Ok(all.iter().flatten().map(|label| *label as usize).collect())
    }

    /// Every row goes to the cluster of least energy, until the labels stand still.
    pub(super) async fn least(&self, mut labels: Vec<usize>) -> Result<Vec<usize>, MiningError> {
        for _ in 0..PASSES {
            let k = renumber(&mut labels);
            let sums = self.cold_sums(k, &labels).await?;
            let energies = sums.energies();
            let own = energies.chunks_exact(k);
            let own = own.map(|energies| least_of(energies, &sums.masses));
            let new = self.gather_labels(own).await?;
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
            let mut sums = self.cold_sums(k, &labels).await?;
            let (mut moved, mut sizes) = (false, sizes_of(k, &labels));
            // The sums follow the moves; they are made anew before rounding adds up.
            for _ in 0..labels.len() {
                let Some(best) = self.best_move(&labels, &sizes, &sums).await? else {
                    break;
                };
                let from = std::mem::replace(&mut labels[best.row], best.to);
                self.follow(&mut sums, from, best);
                sizes[from] -= 1;
                sizes[best.to] += 1;
                moved = true;
            }
            if !moved {
                break;
            }
        }
        Ok(labels)
    }

    /// The move of a row that lowers the cost most, if one does.
    async fn best_move(
        &self,
        labels: &[usize],
        sizes: &[usize],
        sums: &Sums,
    ) -> Result<Option<Move>, MiningError> {
        let k = sums.masses.len();
        let (mut best, mut gain) = (None, 1e-12 * sums.cost().abs());
        for (own, row) in self.rows.clone().enumerate() {
            let (label, weight) = (labels[row], self.weights[row]);
            if sizes[label] < 2 || weight == 0.0 {
                continue;
            }
            let here = sums.rise(own, label, weight, 1.0);
            for to in (0..k).filter(|to| *to != label) {
                let fall = here - sums.rise(own, to, weight, 0.0);
                if fall > gain {
                    let at = [own * k + to, own * k + label];
                    let v = sums.v.as_ref().map_or([0.0; 2], |v| at.map(|at| v[at]));
                    let u = at.map(|at| sums.u[at]);
                    (best, gain) = (Some(Move { row, to, u, v }), fall);
                }
            }
        }
        self.best_one((gain, best)).await
    }

    async fn best_one<T: Clone + Value + Sync>(&self, own: (f64, T)) -> Result<T, MiningError> {
        let best = self.best(vec![own]).await?;
        Ok(best.into_iter().next().expect("one of one"))
    }

    /// Takes a row out of a cluster and into another one, in all sums.
    fn follow(&self, sums: &mut Sums, from: usize, best: Move) {
        let Move { row, to, u, v } = best;
        let (k, weight) = (sums.masses.len(), self.weights[row]);
        let mut line = vec![0.0; self.weights.len()];
        let mut shift = |numbers: &mut [f64], known: bool| {
            self.data.read_part(row, known, &mut line);
            let own = &line[self.rows.clone()];
            for (numbers, value) in numbers.chunks_exact_mut(k).zip(own) {
                numbers[from] -= weight * value;
                numbers[to] += weight * value;
            }
        };
        shift(&mut sums.u, false);
        if let Some(v) = &mut sums.v {
            shift(v, true);
        }
        sums.masses[from] -= weight;
        sums.masses[to] += weight;
        sums.a[to] += 2.0 * weight * u[0];
        sums.a[from] = (sums.a[from] - 2.0 * weight * u[1]).max(0.0);
        for (cluster, sign, v) in [(to, 1.0, v[0]), (from, -1.0, v[1])] {
            // A row is known to itself.
            sums.w[cluster] = match sums.v.is_some() {
                true => sums.w[cluster] + weight * (2.0 * sign * v + weight),
                false => sums.masses[cluster] * sums.masses[cluster],
            };
        }
    }

    /// The row that costs most where it is, if it costs anything and is not alone.
    async fn farthest(&self, labels: &[usize], sums: &Sums) -> Result<Option<usize>, MiningError> {
        let k = sums.masses.len();
        let (energies, sizes) = (sums.energies(), sizes_of(k, labels));
        let (mut far, mut most) = (None, 0.0);
        for (own, row) in self.rows.clone().enumerate() {
            let cost = self.weights[row] * energies[own * k + labels[row]];
            if cost > most && sizes[labels[row]] > 1 {
                (far, most) = (Some(row), cost);
            }
        }
        self.best_one((most, far)).await
    }

    /// Of each cluster the member with the least energy, the first of equals.
    pub(super) async fn medoids(
        &self,
        labels: &[usize],
        sums: &Sums,
    ) -> Result<Vec<usize>, MiningError> {
        let k = sums.masses.len();
        let energies = sums.energies();
        let mut best = vec![(f64::NEG_INFINITY, 0); k];
        for (own, row) in self.rows.clone().enumerate() {
            let low = -energies[own * k + labels[row]];
            if low > best[labels[row]].0 {
                best[labels[row]] = (low, row);
            }
        }
        self.best(best).await
    }
}

/// The numbers of rows of `k` clusters.
pub(super) fn sizes_of(k: usize, labels: &[usize]) -> Vec<usize> {
    let mut sizes = vec![0; k];
    labels.iter().for_each(|label| sizes[*label] += 1);
    sizes
}

/// The cluster of least energy, the first of equals. One whose rows all weigh nothing has none.
fn least_of(energies: &[f64], masses: &[f64]) -> usize {
    let (mut best, mut least) = (0, f64::INFINITY);
    for (k, (energy, mass)) in energies.iter().zip(masses).enumerate() {
        if *mass > 0.0 && *energy < least {
            (best, least) = (k, *energy);
        }
    }
    best
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
