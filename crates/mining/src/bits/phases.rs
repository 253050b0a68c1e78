//! Clusters of bits at one temperature: they move, merge and split.

use super::hard::Hard;
use super::kernel::{WHOLE, total};
use super::passes::{Cluster, Field, Heat, unit};
use crate::MiningError;
use crate::order::greatest_first;

/// Rounds of the power iteration at most.
const ROUNDS: usize = 12;
/// It ends when no variance grows by more than this share.
const GROWTH: f64 = 0.01;
/// Centres that are nearer than this times the temperature, squared, are one.
const CLOSE: f64 = 1e-6;

/// All clusters at one temperature. Every rank holds the same.
pub(super) struct Phases<'a> {
    pub(super) field: &'a Field<'a>,
    pub(super) clusters: Vec<Cluster>,
    pub(super) heat: Heat,
    pub(super) free_energy: f64,
    pub(super) softness: f64,
    /// Steps at this temperature.
    pub(super) steps: usize,
    pub(super) work: u64,
}

/// How far an iteration goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    pub(super) movement: f64,
    pub(super) iterations: usize,
}

impl<'a> Phases<'a> {
    /// One cluster at the mean of all rows.
    pub(super) async fn new(field: &'a Field<'a>, power: f64) -> Result<Phases<'a>, MiningError> {
        let one = field.gathered(vec![0; field.rows.len()], 1).await?;
        Ok(Phases::hard(
            field,
            &one,
            Heat {
                temperature: 1.0,
                power,
            },
        ))
    }

    pub(super) fn hard(field: &'a Field<'a>, hard: &Hard, heat: Heat) -> Phases<'a> {
        Phases {
            field,
            clusters: hard.means(field),
            heat,
            free_energy: 0.0,
            softness: 0.0,
            steps: 0,
            work: 0,
        }
    }

    /// Steps until the centres stand still.
    pub(super) async fn converge(&mut self, tolerance: Tolerance) -> Result<(), MiningError> {
        for _ in 0..tolerance.iterations {
            let found = self.field.expect(&self.clusters, self.heat).await?;
            self.work += self.clusters.len() as u64;
            self.steps += 1;
            (self.free_energy, self.softness) = (found.free_energy, found.softness);
            let k = self.clusters.len();
            let rows = self.field.bits.len() as f64;
            let (mut moved, mut changed) = (0.0_f64, 0.0_f64);
            for (c, (cluster, mass)) in self.clusters.iter_mut().zip(&found.masses).enumerate() {
                let sum = *mass as f64;
                changed = changed.max((sum / WHOLE / rows - cluster.mass).abs());
                cluster.mass = sum / WHOLE / rows;
                if *mass == 0 {
                    continue;
                }
                let columns = 0..self.field.bits.width();
                let values = columns.map(|j| total(&found.moments, k, j, c) as f64 / sum);
                let (centre, square) = self.field.centre(values);
                moved = moved.max(apart(self.field, &centre, &cluster.centre));
                (cluster.centre, cluster.square) = (centre, square);
            }
            self.clusters.retain(|cluster| cluster.mass > 0.0);
            let still = tolerance.movement * self.heat.temperature.sqrt();
            if moved.sqrt() <= still && changed <= tolerance.movement {
                break;
            }
        }
        Ok(())
    }

    /// Joins clusters whose centres coincide.
    pub(super) fn merge(&mut self) {
        let close = CLOSE * self.heat.temperature;
        let mut kept: Vec<Cluster> = Vec::with_capacity(self.clusters.len());
        for cluster in self.clusters.drain(..) {
            let near =
                |other: &&mut Cluster| apart(self.field, &other.centre, &cluster.centre) < close;
            match kept.iter_mut().find(near) {
                None => kept.push(cluster),
                Some(other) => other.mass += cluster.mass,
            }
        }
        self.clusters = kept;
    }

    /// Finds every cluster's direction of largest variance: from its last direction and from that
    /// to its farthest row, by power iteration.
    pub(super) async fn measure(&mut self) -> Result<(), MiningError> {
        let far = self.field.farthest(&self.clusters, self.heat).await?;
        for (cluster, row) in self.clusters.iter_mut().zip(far) {
            let mut start: Vec<f64> = self.field.place(&cluster.centre).map(|y| -y).collect();
            self.field
                .bits
                .columns(row)
                .for_each(|column| start[column] += 1.0);
            let mut start = unit(start).unwrap_or_else(|| vec![0.0; self.field.bits.width()]);
            let pairs = start.iter_mut().zip(&cluster.direction);
            pairs.for_each(|(new, old)| *new = 0.5 * *new + old);
            cluster.direction = unit(start).unwrap_or_default();
            cluster.direction.resize(self.field.bits.width(), 0.0);
            cluster.variance = 0.0;
        }
        for _ in 0..ROUNDS {
            let before: Vec<f64> = self.clusters.iter().map(|c| c.variance).collect();
            self.field.spread(&mut self.clusters, self.heat).await?;
            self.work += 2 * self.clusters.len() as u64;
            let grown = |(c, before): (&Cluster, &f64)| c.variance > before * (1.0 + GROWTH);
            if !self.clusters.iter().zip(&before).any(grown) {
                break;
            }
        }
        Ok(())
    }

    /// The highest critical temperature below `limit`.
    pub(super) fn critical(&self, limit: f64) -> Option<f64> {
        let all = self.clusters.iter().map(|cluster| 2.0 * cluster.variance);
        all.filter(|critical| *critical < limit)
            .max_by(f64::total_cmp)
    }

    /// Splits the clusters that are unstable at this temperature, the most unstable first, until
    /// there are `most`; gives back how many it split.
    ///
    /// The halves stand where the branch of the free energy has its minimum to lowest order.
    pub(super) fn split(&mut self, most: usize) -> usize {
        let t = self.heat.temperature;
        let all = 0..self.clusters.len();
        let mut unstable: Vec<usize> = all
            .filter(|k| 2.0 * self.clusters[*k].variance > t)
            .collect();
        greatest_first(&mut unstable, &|k| self.clusters[k].variance);
        unstable.truncate(most.saturating_sub(self.clusters.len()));
        for &k in &unstable {
            let cluster = &self.clusters[k];
            let branch = 0.375 * (2.0 * cluster.variance / t - 1.0) * t * t * t / cluster.fourth;
            let step = branch.min(4.0 * cluster.variance).sqrt();
            let [one, other] = self.halves(k, step);
            self.clusters[k] = one;
            self.clusters.push(other);
        }
        unstable.len()
    }

    /// The two halves of a cluster, `step` apart from it along its direction.
    pub(super) fn halves(&self, k: usize, step: f64) -> [Cluster; 2] {
        let cluster = &self.clusters[k];
        [1.0, -1.0].map(|sign| {
            let values = self.field.place(&cluster.centre).zip(&cluster.direction);
            let values = values.map(|(y, v)| y + sign * step * v);
            let mut half = self.field.cluster(cluster.mass / 2.0, values);
            half.direction.clone_from(&cluster.direction);
            half
        })
    }
}

/// The squared distance of two centres.
fn apart(field: &Field<'_>, a: &[i32], b: &[i32]) -> f64 {
    let pairs = field.place(a).zip(field.place(b));
    pairs.map(|(a, b)| (a - b) * (a - b)).sum()
}
