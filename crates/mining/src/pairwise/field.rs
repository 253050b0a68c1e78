//! Costs and mean fields of shares. A rank has the shares and the fields of its own rows only.

use super::Dissimilarities;
use super::kernel::{Orders, Product, Shares};
use crate::MiningError;
use crate::lanes::{log2_of, run};
use crate::rank_view::RankView;
use motet_comm::Value;
use std::f64::consts::LN_2;
use std::ops::Range;

/// Rows of a block, at most. Sums over rows are added up in a fixed tree over blocks.
const BLOCK: usize = 64;
/// Blocks are smaller where there would be fewer.
const BLOCKS: usize = 64;

/// What all computations of one run share.
pub(super) struct Field<'a> {
    pub(super) team: &'a RankView<'a>,
    pub(super) data: &'a Dissimilarities,
    /// Those of all rows. They add up to 1.
    pub(super) weights: &'a [f64],
    /// The rows of this rank: whole blocks.
    pub(super) rows: Range<usize>,
    /// The rows of a block.
    block: usize,
}

/// Sums of some shares. Of this rank's rows: `U = D R`, and `V` the same over known pairs. Per
/// cluster: the mass P, A = Σ R U, W = Σ R V and the mean cost S = A / 2 W.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) u: Vec<f64>,
    pub(super) v: Option<Vec<f64>>,
    pub(super) masses: Vec<f64>,
    pub(super) a: Vec<f64>,
    pub(super) w: Vec<f64>,
    /// Σ w q ln q.
    order: f64,
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

    /// F = H + T Σ w q ln q - γ T Σ P ln P.
    pub(super) fn free_energy(&self, t: f64, power: f64) -> f64 {
        let masses: f64 = self.masses.iter().map(|p| x_ln_x(*p)).sum();
        self.cost() + t * (self.order - power * masses)
    }

    /// ε = ∂H/∂R for this rank's rows and all clusters.
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

    /// By how much H would rise if one of this rank's rows were wholly in a cluster, against its
    /// being left out. The row has weight `weight` and share `share` there.
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

impl<'a> Field<'a> {
    pub(super) fn new(
        team: &'a RankView<'a>,
        data: &'a Dissimilarities,
        weights: &'a [f64],
    ) -> Field<'a> {
        Field {
            team,
            data,
            weights,
            rows: rows_of(team, data.len()),
            block: block_of(data.len()),
        }
    }
}

/// The rows of a block, of so many.
fn block_of(rows: usize) -> usize {
    (rows / BLOCKS).clamp(1, BLOCK)
}

/// This rank's share of so many rows.
pub(super) fn rows_of(team: &RankView<'_>, rows: usize) -> Range<usize> {
    let block = block_of(rows);
    let share = team.share(rows.div_ceil(block));
    share.start * block..rows.min(share.end * block)
}

impl Field<'_> {
    /// The weights of this rank's rows.
    pub(super) fn own_weights(&self) -> &[f64] {
        &self.weights[self.rows.clone()]
    }

    /// Numbers of all rows, `columns` of each; `own` has those of this rank's.
    pub(super) async fn gather(
        &self,
        columns: usize,
        own: &[f64],
    ) -> Result<Vec<f64>, MiningError> {
        let mut all = vec![0.0; columns * self.weights.len()];
        self.team.comm.allgatherv_into(own, &mut all).await?;
        Ok(all)
    }

    /// D X of this rank's rows, or the known pairs times X. `right` has the numbers of all rows.
    pub(super) fn product(&self, columns: usize, right: &[f64], known: bool) -> Vec<f64> {
        let task = Product {
            data: self.data,
            known,
            rows: self.rows.clone(),
            right,
            columns,
        };
        run(self.team.instructions, task)
    }

    /// Adds up numbers of all rows, `width` of each, with the same bits for any number of ranks.
    /// `add` adds those of one of this rank's rows, counted from its first.
    ///
    /// All ranks find out together here that the run is cancelled.
    pub(super) async fn total(
        &self,
        width: usize,
        mut add: impl FnMut(usize, &mut [f64]),
    ) -> Result<Vec<f64>, MiningError> {
        let (rows, first) = (self.weights.len(), self.rows.start);
        let block = |number: usize| {
            let mut sums = vec![0.0; width];
            let rows = number * self.block..rows.min((number + 1) * self.block);
            rows.for_each(|row| add(row - first, &mut sums));
            sums
        };
        self.team.sum(rows.div_ceil(self.block), block).await
    }

    /// Of several things the best one of all ranks, the first of equals.
    pub(super) async fn best<T: Clone + Value + Sync>(
        &self,
        own: Vec<(f64, T)>,
    ) -> Result<Vec<T>, MiningError> {
        // They agree on cancellation, too: many single moves may follow each other.
        let own = (self.team.control.is_cancelled(), own);
        let best = self
            .team
            .comm
            .allreduce(own, |mut left: (bool, Vec<(f64, T)>), right| {
                left.0 |= right.0;
                for (left, right) in left.1.iter_mut().zip(right.1) {
                    if right.0 > left.0 {
                        *left = right;
                    }
                }
                left
            });
        let (cancelled, best) = best.await?;
        if cancelled {
            return Err(MiningError::Cancelled);
        }
        Ok(best.into_iter().map(|(_, thing)| thing).collect())
    }

    /// The sums of the shares of this rank's rows.
    pub(super) async fn sums(&self, k: usize, shares: &[f64]) -> Result<Sums, MiningError> {
        let rows = shares.chunks_exact(k).zip(self.own_weights());
        let r = rows.flat_map(|(row, w)| row.iter().map(move |q| w * q));
        let right = self.gather(k, &r.collect::<Vec<f64>>()).await?;
        self.sums_of(k, &right).await
    }

    /// The sums of rows that are each in one cluster. `labels` are those of all rows.
    pub(super) async fn cold_sums(&self, k: usize, labels: &[usize]) -> Result<Sums, MiningError> {
        let mut right = vec![0.0; k * labels.len()];
        for (row, (label, weight)) in labels.iter().zip(self.weights).enumerate() {
            right[row * k + label] = *weight;
        }
        self.sums_of(k, &right).await
    }

    /// The sums of `right`, the weighted shares of all rows.
    async fn sums_of(&self, k: usize, right: &[f64]) -> Result<Sums, MiningError> {
        let u = self.product(k, right, false);
        let v = self.data.has_gaps();
        let v = v.then(|| self.product(k, right, true));
        self.sums_with(k, right, u, v).await
    }

    /// The sums of weighted shares with U and V at hand.
    pub(super) async fn sums_with(
        &self,
        k: usize,
        right: &[f64],
        u: Vec<f64>,
        v: Option<Vec<f64>>,
    ) -> Result<Sums, MiningError> {
        let own = &right[self.rows.start * k..self.rows.end * k];
        let task = Orders {
            r: own,
            weights: self.own_weights(),
        };
        let orders = run(self.team.instructions, task);
        let add = |row: usize, sums: &mut [f64]| {
            for (c, at) in (row * k..(row + 1) * k).enumerate() {
                sums[c] += own[at];
                sums[k + c] += own[at] * u[at];
                sums[2 * k + c] += v.as_ref().map_or(0.0, |v| own[at] * v[at]);
            }
            sums[3 * k] += orders[row];
        };
        let total = self.total(3 * k + 1, add).await?;
        let masses = total[..k].to_vec();
        let w = match v {
            None => masses.iter().map(|p| p * p).collect(),
            Some(_) => total[2 * k..3 * k].to_vec(),
        };
        Ok(Sums {
            u,
            v,
            a: total[k..2 * k].to_vec(),
            w,
            masses,
            order: total[3 * k],
        })
    }

    /// The shares of this rank's rows.
    pub(super) fn shares(&self, sums: &Sums, temperature: f64, power: f64) -> Vec<f64> {
        let task = Shares {
            energies: &sums.energies(),
            masses: &sums.masses,
            temperature,
            power,
        };
        run(self.team.instructions, task)
    }
}

fn x_ln_x(x: f64) -> f64 {
    match x > 0.0 {
        true => x * log2_of(x) * LN_2,
        false => 0.0,
    }
}
