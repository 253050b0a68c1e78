//! A search for a lower cost at temperature zero: split one cluster, leave out another, settle.
//!
//! It is that of vector annealing ([`Annealing::search`](crate::Annealing)) on pairs. What promises
//! most is tried first; what lowers the cost is kept, and the search begins anew.

use super::critical::LloydLimit;
use super::field::{Field, Sums};
use crate::MiningError;
use crate::order::swaps;

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
            let limit = LloydLimit {
                steps: 30,
                tolerance: 1e-2,
            };
            let mut shares = vec![0.0; self.rows.len() * k];
            for (own, row) in self.rows.clone().enumerate() {
                shares[own * k + labels[row]] = 1.0;
            }
            let found = self.critical(&shares, &sums, limit).await?;
            let (energies, first) = (sums.energies(), self.rows.start);
            let next = |own: usize| second(&energies[own * k..][..k], labels[first + own]);
            let loss = |own: usize, losses: &mut [f64]| {
                let (_, energy) = next(own);
                let (weight, label) = (self.weights[first + own], labels[first + own]);
                losses[label] += weight * (energy - energies[own * k + label]);
            };
            let losses = self.total(k, loss).await?;
            let promise = |split: usize, out: usize| {
                SAVED * sums.masses[split] * found[split].temperature / 2.0 - losses[out]
            };
            let pairs = swaps(k, promise);
            let target = sums.cost() * (1.0 - ROUNDING);
            for (split, out) in pairs.into_iter().take(most) {
                let apart = &found[split].direction;
                let own = labels[self.rows.clone()].iter().enumerate();
                let trial = own.map(|(own, &label)| match label {
                    _ if label == split && apart[own] > 0.0 => out,
                    _ if label == out => next(own).0,
                    _ => label,
                });
                let trial = self.least(self.gather_labels(trial).await?).await?;
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
