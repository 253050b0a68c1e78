//! Critical temperatures: the largest eigenvalue of
//! `G(i, j) = -√(r_i r_j) (D(i, j) - d_i - d_j + d)` of each cluster, by power iteration.

use super::field::{Field, Sums};
use crate::MiningError;
use crate::power::power_of_two_above;

/// When the power iteration ends.
#[derive(Clone, Copy)]
pub(super) struct LloydLimit {
    pub(super) steps: usize,
    pub(super) tolerance: f64,
}

/// One cluster's critical temperature, and of this rank's rows the direction u with Σ r u = 0 and
/// Σ r u² = 1.
#[derive(Debug, Clone)]
pub(super) struct Critical {
    pub(super) temperature: f64,
    pub(super) direction: Vec<f64>,
}

/// The iteration of one cluster. Vectors have the numbers of this rank's rows.
struct Power {
    /// The roots of r.
    roots: Vec<f64>,
    /// Mean dissimilarities d_i to the cluster.
    means: Vec<f64>,
    /// d = Σ r d_i.
    middle: f64,
    /// Lengths are squared in this: squares of small ones are no numbers. A power of two, near d,
    /// changes no bit.
    unit: f64,
    start: Vec<f64>,
    vector: Vec<f64>,
    value: f64,
    shift: f64,
    steps: usize,
    done: bool,
}

impl Field<'_> {
    /// The critical temperatures of all clusters; one product per round for all whose iteration
    /// goes on.
    pub(super) async fn critical(
        &self,
        shares: &[f64],
        sums: &Sums,
        limit: LloydLimit,
    ) -> Result<Vec<Critical>, MiningError> {
        let mut powers = self.powers(shares, sums).await?;
        loop {
            let going = powers.iter_mut().filter(|power| !power.done);
            let mut going: Vec<&mut Power> = going.collect();
            let k = going.len();
            if k == 0 {
                break;
            }
            let columns = self.columns(&going, |power, i| power.vector[i] * power.roots[i]);
            let columns = self.gather(k, &columns).await?;
            let pairs = self.product(k, &columns, false);
            let gaps = match self.data.has_gaps() {
                true => {
                    let scaled = self.columns(&going, |power, i| {
                        power.vector[i] * power.roots[i] * power.means[i]
                    });
                    let scaled = self.gather(k, &scaled).await?;
                    let plain = self.product(k, &columns, true);
                    Some((plain, self.product(k, &scaled, true)))
                }
                false => None,
            };
            let image = |(c, power): (usize, &&mut Power)| {
                let rows = 0..self.rows.len();
                let image = rows.map(|i| {
                    let at = i * k + c;
                    let rest = gaps.as_ref().map_or(0.0, |(plain, scaled)| {
                        (power.means[i] - power.middle) * plain[at] + scaled[at]
                    });
                    power.roots[i] * (rest - pairs[at])
                });
                image.collect()
            };
            let mut images: Vec<Vec<f64>> = going.iter().enumerate().map(image).collect();
            self.project(&going, &mut images).await?;
            let add = |i: usize, sums: &mut [f64]| {
                for (c, (power, image)) in going.iter().zip(&images).enumerate() {
                    let next = (image[i] + power.shift * power.vector[i]) / power.unit;
                    sums[c] += power.vector[i] * image[i];
                    sums[k + c] += next * next;
                }
            };
            let sums = self.total(2 * k, add).await?;
            for (c, (power, image)) in going.iter_mut().zip(&images).enumerate() {
                power.step(image, (sums[c], sums[k + c]), limit);
            }
        }
        self.finish(powers).await
    }

    fn columns(&self, powers: &[&mut Power], value: impl Fn(&Power, usize) -> f64) -> Vec<f64> {
        let rows = 0..self.rows.len();
        rows.flat_map(|i| powers.iter().map(move |power| (i, power)))
            .map(|(i, power)| value(power, i))
            .collect()
    }

    /// Takes the parts along √r out, of one vector for each cluster.
    async fn project(
        &self,
        powers: &[&mut Power],
        vectors: &mut [Vec<f64>],
    ) -> Result<(), MiningError> {
        let add = |i: usize, along: &mut [f64]| {
            for (along, (power, vector)) in along.iter_mut().zip(powers.iter().zip(&*vectors)) {
                *along += power.roots[i] * vector[i];
            }
        };
        let along = self.total(powers.len(), add).await?;
        for ((power, vector), along) in powers.iter().zip(vectors).zip(along) {
            for (value, root) in vector.iter_mut().zip(&power.roots) {
                *value -= root * along;
            }
        }
        Ok(())
    }

    /// Starts from the column of the row that is farthest from the cluster.
    async fn powers(&self, shares: &[f64], sums: &Sums) -> Result<Vec<Power>, MiningError> {
        let k = sums.masses.len();
        let mut powers: Vec<Power> = (0..k).map(|c| self.power(shares, sums, c)).collect();
        let add = |i: usize, middles: &mut [f64]| {
            for (middle, power) in middles.iter_mut().zip(&powers) {
                *middle += power.roots[i] * power.roots[i] * power.means[i];
            }
        };
        let middles = self.total(k, add).await?;
        let far = self.farthest_of(&powers).await?;
        let mut starts = Vec::with_capacity(k);
        let mut row = vec![0.0; self.weights.len()];
        for ((power, middle), (far, mean, root)) in powers.iter_mut().zip(middles).zip(far) {
            (power.middle, power.unit) = (middle, power_of_two_above(middle));
            self.data.read(far, &mut row);
            let own = row[self.rows.clone()].iter().enumerate();
            let start = own.map(|(i, value)| {
                let apart = power.means[i] + mean - middle - value;
                let entry = if value.is_nan() { 0.0 } else { apart * root };
                power.roots[i] * (entry + 1e-3 * power.means[i])
            });
            starts.push(start.collect());
        }
        let all: Vec<&mut Power> = powers.iter_mut().collect();
        self.project(&all, &mut starts).await?;
        let units: Vec<f64> = powers.iter().map(|power| power.unit).collect();
        let add = |i: usize, squares: &mut [f64]| {
            for (square, (start, unit)) in squares.iter_mut().zip(starts.iter().zip(&units)) {
                *square += (start[i] / unit) * (start[i] / unit);
            }
        };
        let squares = self.total(k, add).await?;
        for ((power, mut start), square) in powers.iter_mut().zip(starts).zip(squares) {
            scale(&mut start, square, power.unit);
            power.vector.clone_from(&start);
            power.start = start;
        }
        Ok(powers)
    }

    /// Of each cluster the row that is farthest from it and counts in it, its mean dissimilarity
    /// and the root of its r.
    async fn farthest_of(&self, powers: &[Power]) -> Result<Vec<(usize, f64, f64)>, MiningError> {
        let largest = powers.iter().map(|power| {
            let largest = power.roots.iter().copied().fold(0.0, f64::max);
            (largest, largest)
        });
        let largest = self.best(largest.collect()).await?;
        let far = powers.iter().zip(largest).map(|(power, largest)| {
            let mut far = (-1.0, (0, 0.0, 0.0));
            for (i, (mean, root)) in power.means.iter().zip(&power.roots).enumerate() {
                if root * root > 1e-9 * largest * largest && *mean > far.0 {
                    far = (*mean, (self.rows.start + i, *mean, *root));
                }
            }
            far
        });
        self.best(far.collect()).await
    }

    fn power(&self, shares: &[f64], sums: &Sums, c: usize) -> Power {
        let k = sums.masses.len();
        let mass = sums.masses[c].max(1e-300);
        let rows = self.own_weights().iter().enumerate();
        let roots = rows.map(|(i, weight)| (weight * shares[i * k + c] / mass).sqrt());
        let known = |at: usize| sums.v.as_ref().map_or(mass, |v| v[at].max(1e-300));
        let rows = 0..self.rows.len();
        Power {
            roots: roots.collect(),
            means: rows.map(|i| sums.u[i * k + c] / known(i * k + c)).collect(),
            middle: 0.0,
            unit: 1.0,
            start: Vec::new(),
            vector: Vec::new(),
            value: 0.0,
            shift: 0.0,
            steps: 0,
            done: false,
        }
    }

    /// Directions whose largest entry is positive, the first of equals.
    async fn finish(&self, powers: Vec<Power>) -> Result<Vec<Critical>, MiningError> {
        let most = powers.iter().map(|power| {
            let mut most = 0.0_f64;
            for value in &power.vector {
                if value.abs() > most.abs() {
                    most = *value;
                }
            }
            (most.abs(), most < 0.0)
        });
        let turned = self.best(most.collect()).await?;
        let pairs = powers.into_iter().zip(turned);
        Ok(pairs.map(|(power, turned)| power.finish(turned)).collect())
    }
}

impl Power {
    /// Goes on to `image`, what G makes of the vector, with its value and the square of the length
    /// of the next vector in units. A negative eigenvalue at the end means a second pass, shifted
    /// by it.
    fn step(&mut self, image: &[f64], (value, square): (f64, f64), limit: LloydLimit) {
        for (old, new) in self.vector.iter_mut().zip(image) {
            *old = new + self.shift * *old;
        }
        scale(&mut self.vector, square, self.unit);
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

    fn finish(self, turned: bool) -> Critical {
        let sign = if turned { -1.0 } else { 1.0 };
        let pairs = self.vector.iter().zip(&self.roots);
        let direction = pairs.map(|(v, s)| match *s > 0.0 {
            true => sign * v / s.max(1e-150),
            false => 0.0,
        });
        Critical {
            temperature: self.value,
            direction: direction.collect(),
        }
    }
}

/// Divides a vector by its length, of which this is the square in units.
fn scale(vector: &mut [f64], square: f64, unit: f64) {
    let length = (square.sqrt() * unit).max(f64::MIN_POSITIVE);
    vector.iter_mut().for_each(|value| *value /= length);
}
