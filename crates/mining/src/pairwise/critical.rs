//! Critical temperatures: the largest eigenvalue of
//! `G(i, j) = -√(r_i r_j) (D(i, j) - d_i - d_j + d)` of each cluster, by power iteration.

use super::field::{Field, Sums};
use crate::MiningError;

/// When the power iteration ends.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) steps: usize,
    pub(super) tolerance: f64,
}

/// One cluster's critical temperature, and the direction u with Σ r u = 0 and Σ r u² = 1.
#[derive(Debug, Clone)]
pub(super) struct Critical {
    pub(super) temperature: f64,
    pub(super) direction: Vec<f64>,
}

/// The iteration of one cluster.
struct Power {
    /// The roots of r.
    roots: Vec<f64>,
    /// Mean dissimilarities d_i to the cluster.
    means: Vec<f64>,
    start: Vec<f64>,
    vector: Vec<f64>,
    value: f64,
    shift: f64,
    steps: usize,
    done: bool,
}

impl Field<'_> {
    /// The critical temperatures of all clusters; one product per round for all together.
    pub(super) async fn critical(
        &self,
        shares: &[f64],
        sums: &Sums,
        limit: Limit,
    ) -> Result<Vec<Critical>, MiningError> {
        let k = sums.masses.len();
        let mut powers: Vec<Power> = (0..k).map(|c| self.power(shares, sums, c)).collect();
        while powers.iter().any(|power| !power.done) {
            let columns = self.columns(&powers, |power, i| power.vector[i] * power.roots[i]);
            let pairs = self.product(k, &columns, false).await?;
            let gaps = match self.data.has_gaps() {
                true => {
                    let scaled = self.columns(&powers, |power, i| {
                        power.vector[i] * power.roots[i] * power.means[i]
                    });
                    let plain = self.product(k, &columns, true).await?;
                    Some((plain, self.product(k, &scaled, true).await?))
                }
                false => None,
            };
            for (c, power) in powers.iter_mut().enumerate().filter(|(_, p)| !p.done) {
                let middle: f64 = power.middle();
                let mut image: Vec<f64> = (0..self.weights.len())
                    .map(|i| {
                        let at = i * k + c;
                        let rest = gaps.as_ref().map_or(0.0, |(plain, scaled)| {
                            (power.means[i] - middle) * plain[at] + scaled[at]
                        });
                        power.roots[i] * (rest - pairs[at])
                    })
                    .collect();
                power.project(&mut image);
                power.step(&image, limit);
            }
        }
        Ok(powers.into_iter().map(Power::finish).collect())
    }

    fn columns(&self, powers: &[Power], value: impl Fn(&Power, usize) -> f64) -> Vec<f64> {
        let rows = 0..self.weights.len();
        rows.flat_map(|i| powers.iter().map(move |power| (i, power)))
            .map(|(i, power)| value(power, i))
            .collect()
    }

    /// Starts from the column of the row that is farthest from the cluster.
    fn power(&self, shares: &[f64], sums: &Sums, c: usize) -> Power {
        let k = sums.masses.len();
        let (n, mass) = (self.weights.len(), sums.masses[c].max(1e-300));
        let r: Vec<f64> = (0..n)
            .map(|i| self.weights[i] * shares[i * k + c] / mass)
            .collect();
        let known = |at: usize| sums.v.as_ref().map_or(mass, |v| v[at].max(1e-300));
        let mut power = Power {
            roots: r.iter().map(|r| r.sqrt()).collect(),
            means: (0..n)
                .map(|i| sums.u[i * k + c] / known(i * k + c))
                .collect(),
            start: Vec::new(),
            vector: Vec::new(),
            value: 0.0,
            shift: 0.0,
            steps: 0,
            done: false,
        };
        let least = 1e-9 * r.iter().copied().fold(0.0, f64::max);
        let mut far = 0;
        let mut reach = -1.0;
        for (i, &mean) in power.means.iter().enumerate() {
            if r[i] > least && mean > reach {
                (far, reach) = (i, mean);
            }
        }
        let (middle, mut row) = (power.middle(), vec![0.0; n]);
        self.data.read(far, &mut row);
        let mut start: Vec<f64> = (0..n)
            .map(|i| {
                let apart = power.means[i] + power.means[far] - middle - row[i];
                let gap = row[i].is_nan();
                let entry = if gap { 0.0 } else { apart * power.roots[far] };
                power.roots[i] * (entry + 1e-3 * power.means[i])
            })
            .collect();
        power.project(&mut start);
        normalise(&mut start);
        power.vector.clone_from(&start);
        power.start = start;
        power
    }
}

impl Power {
    /// d = Σ r d_i.
    fn middle(&self) -> f64 {
        dot(self.roots.iter().map(|s| s * s), &self.means)
    }

    /// Takes the part along √r out.
    fn project(&self, vector: &mut [f64]) {
        let along = dot(self.roots.iter().copied(), vector);
        for (value, root) in vector.iter_mut().zip(&self.roots) {
            *value -= root * along;
        }
    }

    /// Goes on to `image`, what G makes of the vector. A negative eigenvalue at the end means a
    /// second pass, shifted by it.
    fn step(&mut self, image: &[f64], limit: Limit) {
        let value = dot(self.vector.iter().copied(), image);
        for (old, new) in self.vector.iter_mut().zip(image) {
            *old = new + self.shift * *old;
        }
        normalise(&mut self.vector);
        let change = (value - self.value).abs();
        self.value = value;
        self.steps += 1;
        if change <= limit.tolerance * value.abs() || self.steps >= limit.steps {
            self.done = value >= 0.0 || self.shift > 0.0;
            if !self.done {
                (self.shift, self.value, self.steps) = (-value, 0.0, 0);
                self.vector.clone_from(&self.start);
            }
        }
    }

    fn finish(self) -> Critical {
        let mut most = 0.0_f64;
        for value in &self.vector {
            if value.abs() > most.abs() {
                most = *value;
            }
        }
        let sign = if most < 0.0 { -1.0 } else { 1.0 };
        let pairs = self.vector.iter().zip(&self.roots);
        let direction = pairs.map(|(v, s)| {
            if *s > 0.0 {
                sign * v / s.max(1e-150)
            } else {
                0.0
            }
        });
        Critical {
            temperature: self.value,
            direction: direction.collect(),
        }
    }
}

fn dot(a: impl Iterator<Item = f64>, b: &[f64]) -> f64 {
    a.zip(b).map(|(a, b)| a * b).sum()
}

fn normalise(vector: &mut [f64]) {
    let length = dot(vector.iter().copied(), vector).sqrt().max(1e-300);
    vector.iter_mut().for_each(|value| *value /= length);
}
