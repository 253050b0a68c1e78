//! A deterministic search at temperature zero: split one cluster, leave out another, settle.

use super::hard::Hard;
use super::kept::Search;
use super::kernel::{ByRow, Table};
use super::passes::{Cluster, Field, Heat};
use super::phases::Phases;
use super::tiles::ROWS;
use crate::MiningError;
use crate::lanes::run;
use crate::order::swaps;

/// What splitting a cluster saves, as a share of its variance along the line: between the uniform
/// distribution (3/4) and the normal (2/π).
const SAVED: f64 = 0.7;
/// A relative fall of the inertia below this is rounding.
const ROUNDING: f64 = 1e-9;
/// Shares at this part of the inertia are as good as hard.
const COLD: f64 = 1e-6;
/// What is added up in steps of this.
const STEP: f64 = (1_u64 << 24) as f64;

impl Field<'_> {
    /// Swaps until `most` swaps in a row have failed; the pairs that promise most come first.
    pub(super) async fn swap(
        &self,
        mut best: Hard,
        most: usize,
        search: &mut Search<'_>,
    ) -> Result<Hard, MiningError> {
        'improved: while best.inertia > 0.0 && best.clusters() > 1 && most > 0 {
            search.keep(self, &best).await?;
            let heat = Heat {
                temperature: COLD * best.inertia / self.bits.len() as f64,
                power: 0.0,
            };
            let mut phases = Phases::hard(self, &best, heat);
            phases.measure().await?;
            let losses = self.losses(&phases.clusters).await?;
            search.work += phases.work + best.clusters() as u64;
            let k = best.clusters();
            let promise = |split: usize, out: usize| {
                SAVED * best.sizes[split] as f64 * phases.clusters[split].variance - losses[out]
            };
            let pairs = swaps(k, promise);
            let target = best.inertia * (1.0 - ROUNDING);
            for (split, out) in pairs.into_iter().take(most) {
                let mut trial: Vec<Cluster> = phases.clusters.clone();
                let step = phases.clusters[split].variance.sqrt();
                let [one, other] = phases.halves(split, step);
                (trial[split], trial[out]) = (one, other);
                let found = self.settle(trial, target, &mut search.work).await?;
                if found.inertia < target {
                    best = found;
                    continue 'improved;
                }
            }
            break;
        }
        Ok(best)
    }

    /// Per cluster by how much the inertia would grow if its rows went to the next centres.
    async fn losses(&self, centres: &[Cluster]) -> Result<Vec<f64>, MiningError> {
        let table = self.centres(centres);
        let mut sums = Table::new(centres.len(), ROWS);
        let mut losses = vec![0_i64; centres.len()];
        for tile in &self.tiles {
            run(self.team.instructions, ByRow(tile, &table, &mut sums));
            for row in 0..tile.len() {
                let (mut first, mut second, mut label) = (f64::MIN, f64::MIN, 0);
                for (k, centre) in centres.iter().enumerate() {
                    let near = self.double() * f64::from(sums.get(row, k)) - centre.square;
                    if near > first {
                        (second, first, label) = (first, near, k);
                    } else if near > second {
                        second = near;
                    }
                }
                losses[label] += ((first - second) * STEP).round_ties_even() as i64;
            }
        }
        let sums = self.sum(losses).await?;
        Ok(sums.into_iter().map(|sum| sum as f64 / STEP).collect())
    }
}
