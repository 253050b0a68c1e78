//! A search for a lower cost at temperature zero: split one cluster, leave out another, settle.
//!
//! It is that of vector annealing ([`Annealing::search`](crate::Annealing)) on pairs. What promises
//! most is tried first; what lowers the cost is kept, and the search begins anew.

use super::critical::Limit;
use super::field::{Field, Sums};
use super::freeze::one_hot;
use crate::MiningError;

/// What splitting a cluster saves, as a share of its variance along the line: between the uniform
/// distribution (3/4) and the normal (2/π).
const SAVED: f64 = 0.7;
/// A relative fall of the cost below this is rounding.
const ROUNDING: f64 = 1e-9;

impl Field<'_> {
    /// Labels of no higher cost, after `most` attempts that failed one after the other, or all.
    pub(super) async fn search(
        &self,
        mut labels: Vec<usize>,
        mut sums: Sums,
        most: usize,
    ) -> Result<(Vec<usize>, Sums), MiningError> {
        let k = sums.masses.len();
        'improved: while k > 1 && most > 0 && sums.cost() > 0.0 {
            let limit = Limit {
                steps: 30,
                tolerance: 1e-2,
            };
            let found = self.critical(&one_hot(k, &labels), &sums, limit).await?;
            let energies = sums.energies();
            let next = |row: usize| second(&energies[row * k..][..k], labels[row]);
            let mut losses = vec![0.0; k];
            for (row, label) in labels.iter().enumerate() {
                let (_, energy) = next(row);
                losses[*label] += self.weights[row] * (energy - energies[row * k + label]);
            }
            let promise = |split: usize, out: usize| {
                SAVED * sums.masses[split] * found[split].temperature / 2.0 - losses[out]
            };
            let mut pairs: Vec<(f64, usize, usize)> = (0..k * k)
                .map(|pair| (pair / k, pair % k))
                .filter(|(split, out)| split != out)
                .map(|(split, out)| (promise(split, out), split, out))
                .collect();
            pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            let target = sums.cost() * (1.0 - ROUNDING);
            for &(_, split, out) in pairs.iter().take(most) {
                let apart = &found[split].direction;
                let trial = labels.iter().enumerate().map(|(row, &label)| match label {
                    _ if label == split && apart[row] > 0.0 => out,
                    _ if label == out => next(row).0,
                    _ => label,
                });
                let trial = self.least(trial.collect()).await?;
                let trial = self.single_moves(trial).await?;
                let (trial, found) = self.numbered(trial).await?;
                if found.masses.len() == k && found.cost() < target {
                    (labels, sums) = (trial, found);
                    continue 'improved;
                }
            }
            break;
        }
        Ok((labels, sums))
    }
}

/// The cluster of least energy but one, and that energy.
fn second(energies: &[f64], but: usize) -> (usize, f64) {
    let mut best = (but, f64::INFINITY);
    for (k, energy) in energies.iter().enumerate() {
        if k != but && *energy < best.1 {
            best = (k, *energy);
        }
    }
    best
}
