//! Costs and mean fields of shares.

use super::Dissimilarities;
use super::kernel::{Product, Shares};
use crate::MiningError;
use crate::lanes::{log2_of, run};
use crate::team::Team;
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;
use std::ops::Range;

/// What all computations of one run share.
pub(super) struct Field<'a> {
    pub(super) team: &'a Team<'a>,
    pub(super) data: &'a Dissimilarities,
    /// They add up to 1.
    pub(super) weights: &'a [f64],
    /// The rows of this rank.
    pub(super) rows: Range<usize>,
}

/// Sums of some shares: `U = D R`, `V` the same over known pairs, and per cluster the mass P,
/// A = Σ R U, W = Σ R V and the mean cost S = A / 2 W.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) u: Vec<f64>,
    pub(super) v: Option<Vec<f64>>,
    pub(super) masses: Vec<f64>,
    pub(super) a: Vec<f64>,
    pub(super) w: Vec<f64>,
}

impl Sums {
    /// The cost H of the shares.
    pub(super) fn cost(&self) -> f64 {
        (0..self.masses.len())
            .map(|k| self.masses[k] * self.mean_cost(k))
            .sum()
    }

    pub(super) fn mean_cost(&self, k: usize) -> f64 {
        if self.w[k] > 0.0 {
            self.a[k] / (2.0 * self.w[k])
        } else {
            0.0
        }
    }

    /// ε = ∂H/∂R for all rows and clusters.
    pub(super) fn energies(&self) -> Vec<f64> {
        let k = self.masses.len();
        let energy = |at: usize| {
            let c = at % k;
            let (p, w) = (self.masses[c].max(1e-300), self.w[c].max(1e-300));
            match &self.v {
                None => self.u[at] / p - self.mean_cost(c),
                Some(v) => p * (self.u[at] / w - self.a[c] / w * (v[at] / w)) + self.mean_cost(c),
            }
        };
        (0..self.u.len()).map(energy).collect()
    }

    /// By how much H would rise if a row of weight `weight` and share `share` in a cluster were
    /// wholly in it, against its being left out.
    pub(super) fn rise(&self, row: usize, cluster: usize, weight: f64, share: f64) -> f64 {
        let at = row * self.masses.len() + cluster;
        let (p, r) = (self.masses[cluster], weight * share);
        let rest = p - r;
        let v = self.v.as_ref().map_or(p, |v| v[at]) - r;
        let left = self.w[cluster] - 2.0 * r * v - r * r;
        let less = (self.a[cluster] - 2.0 * r * self.u[at]).max(0.0);
        let cost = |p: f64, a: f64, w: f64| if w > 1e-30 { p * a / (2.0 * w) } else { 0.0 };
        cost(
            rest + weight,
            less + 2.0 * weight * self.u[at],
            left + 2.0 * weight * v + weight * weight,
        ) - cost(rest, less, left)
    }
}

impl Field<'_> {
    /// D X, or the known pairs times X, of all rows: every rank works on its own rows.
    pub(super) async fn product(
        &self,
        columns: usize,
        right: &[f64],
        known: bool,
    ) -> Result<Vec<f64>, MiningError> {
        let task = Product {
            data: self.data,
            known,
            rows: self.rows.clone(),
            right,
            columns,
        };
        let mine = run(self.team.instructions, task);
        let cancelled = self.team.control.is_cancelled();
        let all = self.team.comm.allgather((cancelled, mine)).await?;
        if all.iter().any(|(cancelled, _)| *cancelled) {
            return Err(MiningError::Cancelled);
        }
        Ok(all.into_iter().flat_map(|(_, part)| part).collect())
    }

    pub(super) async fn sums(&self, k: usize, shares: &[f64]) -> Result<Sums, MiningError> {
        let r = self.weighted(k, shares);
        let u = self.product(k, &r, false).await?;
        let v = match self.data.has_gaps() {
            true => Some(self.product(k, &r, true).await?),
            false => None,
        };
        Ok(sums_of(k, &r, u, v))
    }

    /// R = w q.
    pub(super) fn weighted(&self, k: usize, shares: &[f64]) -> Vec<f64> {
        let rows = shares.chunks_exact(k).zip(self.weights);
        rows.flat_map(|(row, w)| row.iter().map(move |q| w * q))
            .collect()
    }

    pub(super) fn shares(&self, sums: &Sums, temperature: f64, power: f64) -> Vec<f64> {
        let task = Shares {
            energies: &sums.energies(),
            masses: &sums.masses,
            temperature,
            power,
        };
        run(self.team.instructions, task)
    }

    /// F = H + T Σ w q ln q - γ T Σ P ln P.
    pub(super) fn free_energy(&self, shares: &[f64], sums: &Sums, t: f64, power: f64) -> f64 {
        let x_ln_x = |x: f64| if x > 0.0 { x * log2_of(x) * LN_2 } else { 0.0 };
        let rows = shares.chunks_exact(sums.masses.len()).zip(self.weights);
        let order: f64 = rows
            .map(|(row, w)| w * row.iter().map(|q| x_ln_x(*q)).sum::<f64>())
            .sum();
        let masses: f64 = sums.masses.iter().map(|p| x_ln_x(*p)).sum();
        sums.cost() + t * (order - power * masses)
    }
}

/// The sums per cluster of R, with U and V at hand.
pub(super) fn sums_of(k: usize, r: &[f64], u: Vec<f64>, v: Option<Vec<f64>>) -> Sums {
    let total = |term: &dyn Fn(usize) -> f64| {
        let mut sums = vec![0.0; k];
        for at in 0..r.len() {
            sums[at % k] += term(at);
        }
        sums
    };
    let masses = total(&|at| r[at]);
    let a = total(&|at| r[at] * u[at]);
    let w = match &v {
        None => masses.iter().map(|p| p * p).collect(),
        Some(v) => total(&|at| r[at] * v[at]),
    };
    Sums { u, v, masses, a, w }
}
