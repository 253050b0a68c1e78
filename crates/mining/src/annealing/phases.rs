//! The clusters of an annealing run at one temperature, and how they move, merge and split.

use crate::MiningError;
use crate::blocks::Blocks;
use crate::order::greatest_first;
use crate::rank_view::RankView;
use crate::soft::{Expectation, SoftModel, SoftScratch};

use super::axes;
use serde::{Deserialize, Serialize};

/// Directions followed per cluster.
const AXES: usize = 3;
/// Passes over the data per temperature that may be spent on directions.
const AXIS_PASSES: usize = 6;

/// One cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Cluster {
    pub(super) mass: f64,
    pub(super) centre: Vec<f64>,
    /// Orthonormal directions; the first is the leading one once `variance` is known.
    directions: Vec<f64>,
    /// The variance along the leading direction: the critical temperature is twice that.
    variance: f64,
    /// Whether it came out of a merger at this temperature: it is not split again here.
    settled: bool,
}

/// All clusters at one temperature. Every rank holds the same.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Phases {
    pub(super) dim: usize,
    /// In inner units.
    pub(super) temperature: f64,
    pub(super) clusters: Vec<Cluster>,
    /// Masses count by their roots in the shares, as they do for pairs and bits. Where they count
    /// whole, a wide heap is soon many clusters.
    pub(super) by_roots: bool,
    pub(super) free_energy: f64,
    pub(super) softness: f64,
    /// Expectation steps at this temperature.
    pub(super) iterations: usize,
    /// Expectation steps times clusters, over the run.
    pub(super) cluster_iterations: u64,
    /// The clusters as the kernels read them.
    #[serde(skip)]
    model: SoftModel,
    #[serde(skip)]
    scratch: SoftScratch,
}

/// How far an iteration goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    /// Largest movement of a centre, in units of √T, and largest change of a mass.
    pub(super) movement: f64,
    pub(super) iterations: usize,
}

impl Phases {
    /// One cluster at `centre`.
    pub(super) fn new(centre: Vec<f64>) -> Phases {
        let dim = centre.len();
        Phases {
            dim,
            temperature: 1.0,
            clusters: vec![Cluster {
                mass: 1.0,
                centre,
                directions: axes::start(dim, AXES),
                variance: 0.0,
                settled: false,
            }],
            by_roots: false,
            free_energy: 0.0,
            softness: 0.0,
            iterations: 0,
            cluster_iterations: 0,
            model: SoftModel::default(),
            scratch: SoftScratch::default(),
        }
    }

    /// Hard clusters, as soft ones at a temperature near zero.
    pub(super) fn hard(dim: usize, centres: &[f64], masses: &[f64], temperature: f64) -> Phases {
        let mut phases = Phases::new(vec![0.0; dim]);
        let single = phases.clusters[0].clone();
        phases.clusters = centres
            .chunks_exact(dim)
            .zip(masses)
            .map(|(centre, &mass)| Cluster {
                mass,
                centre: centre.to_vec(),
                ..single.clone()
            })
            .collect();
        phases.temperature = temperature;
        phases
    }

    /// The number of clusters.
    pub(super) fn len(&self) -> usize {
        self.clusters.len()
    }

    /// The coordinates of the centres.
    pub(super) fn centres(&self) -> Vec<f64> {
        self.clusters
            .iter()
            .flat_map(|cluster| &cluster.centre)
            .copied()
            .collect()
    }

    /// Mass times variance along the leading direction: what splitting at temperature zero saves,
    /// up to a factor.
    pub(super) fn excess(&self, cluster: usize) -> f64 {
        self.clusters[cluster].mass * self.clusters[cluster].variance
    }

    /// Splits one cluster of a list of centres at its deviation on both sides of its leading
    /// direction; the second half goes to the end.
    pub(super) fn split_at_zero(&self, cluster: usize, centres: &mut Vec<f64>) {
        let Cluster {
            centre,
            directions,
            variance,
            ..
        } = &self.clusters[cluster];
        let deviation = variance.sqrt();
        for (j, (y, v)) in centre.iter().zip(directions).enumerate() {
            centres[cluster * self.dim + j] = y + deviation * v;
            centres.push(y - deviation * v);
        }
    }

    /// Goes to another temperature.
    pub(super) fn set_temperature(&mut self, temperature: f64) {
        self.temperature = temperature;
        self.iterations = 0;
        self.clusters
            .iter_mut()
            .for_each(|cluster| cluster.settled = false);
    }

    /// Brings `model` up to date.
    fn set_model(&mut self) {
        let by_roots = self.by_roots;
        let weight = |mass: f64| if by_roots { mass.sqrt() } else { mass };
        let centres = self.clusters.iter();
        let centres = centres.map(|c| (weight(c.mass), c.centre.as_slice()));
        self.model.set(self.dim, self.temperature, centres);
    }

    /// Expectation and maximisation until the centres stand still.
    pub(super) async fn converge(
        &mut self,
        team: &RankView<'_>,
        blocks: &Blocks,
        tolerance: Tolerance,
    ) -> Result<(), MiningError> {
        for _ in 0..tolerance.iterations {
            self.set_model();
            let expectation = self.model.expect(team, blocks, &mut self.scratch).await?;
            self.iterations += 1;
            self.cluster_iterations += self.clusters.len() as u64;
            let (moved, changed) = self.maximise(&expectation);
            if moved <= tolerance.movement * self.temperature.sqrt()
                && changed <= tolerance.movement
            {
                break;
            }
        }
        Ok(())
    }

    /// Moves every centre to the mean of its points; gives back the largest movement and the
    /// largest change of a mass. A cluster that no point belongs to any more is dropped.
    fn maximise(&mut self, expectation: &Expectation) -> (f64, f64) {
        self.free_energy = expectation.free_energy;
        self.softness = expectation.softness;
        let (mut moved, mut changed) = (0.0_f64, 0.0_f64);
        for (cluster, (mass, moment)) in self.clusters.iter_mut().zip(expectation.rows()) {
            changed = changed.max((mass - cluster.mass).abs());
            cluster.mass = mass;
            if mass < f64::MIN_POSITIVE {
                continue;
            }
            let mut square = 0.0;
            for (y, m) in cluster.centre.iter_mut().zip(moment) {
                let new = m / mass;
                square += (new - *y) * (new - *y);
                *y = new;
            }
            moved = moved.max(square.sqrt());
        }
        self.clusters
            .retain(|cluster| cluster.mass >= f64::MIN_POSITIVE);
        (moved, changed)
    }

    /// Joins clusters whose centres coincide.
    pub(super) fn merge(&mut self) {
        let close = 1e-6 * self.temperature;
        let mut kept: Vec<Cluster> = Vec::with_capacity(self.clusters.len());
        for cluster in self.clusters.drain(..) {
            let near = |other: &&mut Cluster| square(&other.centre, &cluster.centre) < close;
            match kept.iter_mut().find(near) {
                None => kept.push(cluster),
                Some(other) => {
                    let mass = other.mass + cluster.mass;
                    for (a, b) in other.centre.iter_mut().zip(&cluster.centre) {
                        *a += (b - *a) * (cluster.mass / mass);
                    }
                    other.mass = mass;
                    other.settled = true;
                }
            }
        }
        self.clusters = kept;
    }

    /// Finds the leading direction of every cluster and the variance along it.
    pub(super) async fn measure(
        &mut self,
        team: &RankView<'_>,
        blocks: &Blocks,
    ) -> Result<(), MiningError> {
        let count = axes::count(self.dim, AXES);
        // The clusters stay where they are.
        self.set_model();
        let mut directions = Vec::with_capacity(self.clusters.len() * count * self.dim);
        for _ in 0..AXIS_PASSES {
            directions.clear();
            for cluster in &self.clusters {
                directions.extend_from_slice(&cluster.directions);
            }
            let sums = self
                .model
                .spread(team, blocks, &mut self.scratch, &directions)
                .await?;
            self.cluster_iterations += self.clusters.len() as u64;
            let width = 1 + count * (self.dim + 1);
            let mut rough = false;
            for (cluster, sums) in self.clusters.iter_mut().zip(sums.chunks_exact(width)) {
                let (variance, error) = axes::turn(self.dim, &mut cluster.directions, sums);
                cluster.variance = variance;
                rough |= error > 0.1 * variance;
            }
            if !rough || count == self.dim {
                break;
            }
        }
        Ok(())
    }

    /// The highest critical temperature below `limit`. Clusters that are unstable now, or were
    /// split after the last measurement, lie above the present temperature.
    pub(super) fn critical(&self, limit: f64) -> Option<f64> {
        let all = self.clusters.iter().map(|cluster| 2.0 * cluster.variance);
        all.filter(|&critical| critical < limit)
            .max_by(f64::total_cmp)
    }

    /// Splits the clusters that are unstable at this temperature, the most unstable first, until
    /// there are `most`; gives back how many it split.
    ///
    /// The two halves stand where the branch of the free energy has its minimum to lowest order.
    /// That is ε² = ⅜ (T_c/T - 1) T³ / m₄ along the leading direction, at most twice its deviation.
    pub(super) async fn split(
        &mut self,
        team: &RankView<'_>,
        blocks: &Blocks,
        most: usize,
    ) -> Result<usize, MiningError> {
        let mut unstable: Vec<usize> = (0..self.clusters.len())
            .filter(|&k| !self.clusters[k].settled)
            .filter(|&k| 2.0 * self.clusters[k].variance > self.temperature)
            .collect();
        greatest_first(&mut unstable, &|k| self.clusters[k].variance);
        unstable.truncate(most.saturating_sub(self.clusters.len()));
        if unstable.is_empty() {
            return Ok(0);
        }
        let leading: Vec<f64> = self
            .clusters
            .iter()
            .flat_map(|c| c.directions[..self.dim].iter().copied())
            .collect();
        self.set_model();
        let sums = self
            .model
            .spread(team, blocks, &mut self.scratch, &leading)
            .await?;
        self.cluster_iterations += self.clusters.len() as u64;
        let width = self.dim + 2;
        for &k in &unstable {
            let t = self.temperature;
            let cluster = &mut self.clusters[k];
            let fourth = sums[k * width + width - 1] / sums[k * width];
            let branch = 0.375 * (2.0 * cluster.variance / t - 1.0) * t * t * t / fourth;
            let step = branch.min(4.0 * cluster.variance).sqrt();
            cluster.mass /= 2.0;
            let mut other = cluster.clone();
            for (j, v) in cluster.directions[..self.dim].iter().enumerate() {
                cluster.centre[j] += step * v;
                other.centre[j] -= step * v;
            }
            self.clusters.push(other);
        }
        Ok(unstable.len())
    }
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
