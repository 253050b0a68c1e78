//! Classical scaling: leading eigenpairs of -½ J D² J, with J the projection to zero mean, by
//! subspace iteration.

use super::field::Field;
use crate::MiningError;
use crate::annealing::axes::{combine, fix_sign, jacobi, orthonormalise};

/// Directions beyond those that are wanted: they speed up the iteration.
const OVERSAMPLING: usize = 6;
/// Rounds at most.
const ROUNDS: usize = 1000;
/// The iteration ends when residuals are below this share of the largest eigenvalue.
const EXACT: f64 = 1e-12;

impl Field<'_> {
    /// The places, and the leading eigenvalues. `means` has the mean of the known squares of each
    /// row. A pair that is not known counts as the mean of those of its rows. After each round its
    /// number is `told`.
    pub(super) async fn classical(
        &self,
        means: &[f64],
        told: &dyn Fn(usize),
    ) -> Result<(Vec<f64>, Vec<f64>), MiningError> {
        let (n, dim) = (self.data.len(), self.dim);
        let count = n.min(dim + OVERSAMPLING);
        // Rows that no symmetry of the data should have in common with all others.
        let mut directions: Vec<f64> = (0..count * n)
            .map(|at| f64::from((at / n + 1) as u32 * (at % n + 1) as u32 % 97) / 97.0 - 0.5)
            .collect();
        directions.chunks_exact_mut(n).for_each(centred);
        orthonormalise(n, &mut directions);
        let (mut values, mut shift) = (vec![0.0; count], 0.0_f64);
        for round in 1..=ROUNDS {
            let image = self.centred_product(&directions, means).await?;
            let pairs = |i: usize, j: usize| {
                let (a, b) = (&directions[i * n..][..n], &image[j * n..][..n]);
                a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>()
            };
            let small = |i: usize, j: usize| (pairs(i, j) + pairs(j, i)) / 2.0;
            let (found, vectors) = jacobi(count, small);
            let ritz = combine(n, &vectors, &directions);
            let image = combine(n, &vectors, &image);
            let off = |k: usize| {
                let pairs = image[k * n..][..n].iter().zip(&ritz[k * n..][..n]);
                pairs
                    .map(|(a, v)| (a - found[k] * v) * (a - found[k] * v))
                    .sum::<f64>()
                    .sqrt()
            };
            let worst = (0..dim.min(count)).map(off).fold(0.0, f64::max);
            let size = found.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            values = found;
            directions = ritz;
            told(round);
            if worst <= EXACT * size || size == 0.0 {
                break;
            }
            // A negative eigenvalue of large size must not outgrow the positive ones.
            let lowest = values.iter().copied().fold(0.0, f64::min);
            shift = shift.max(-lowest);
            let pairs = directions.iter_mut().zip(&image);
            pairs.for_each(|(v, a)| *v = a + shift * *v);
            directions.chunks_exact_mut(n).for_each(centred);
            orthonormalise(n, &mut directions);
        }
        let mut places = vec![0.0; n * dim];
        for (k, direction) in directions.chunks_exact_mut(n).take(dim).enumerate() {
            fix_sign(direction);
            let length = values[k].max(0.0).sqrt();
            for (row, value) in direction.iter().enumerate() {
                places[row * dim + k] = length * value;
            }
        }
        values.resize(count.max(dim), 0.0);
        values.truncate(dim);
        Ok((places, values))
    }

    /// -½ J D² J times each of some directions of zero mean.
    async fn centred_product(
        &self,
        directions: &[f64],
        means: &[f64],
    ) -> Result<Vec<f64>, MiningError> {
        let n = self.data.len();
        let count = directions.len() / n;
        let mut line = vec![0.0; n];
        let mut mine = Vec::with_capacity(self.rows.len() * count);
        for row in self.rows.clone() {
            self.read(row, &mut line);
            for (column, value) in line.iter_mut().enumerate() {
                *value = match value.is_nan() {
                    true => (means[row] + means[column]) / 2.0,
                    false => *value * *value,
                };
            }
            let sums = directions.chunks_exact(n).map(|direction| {
                let pairs = line.iter().zip(direction);
                -0.5 * pairs.map(|(square, v)| square * v).sum::<f64>()
            });
            mine.extend(sums);
        }
        let rows = self.gather(mine).await?;
        let mut out = vec![0.0; count * n];
        for (row, numbers) in rows.chunks_exact(count).enumerate() {
            for (k, number) in numbers.iter().enumerate() {
                out[k * n + row] = *number;
            }
        }
        out.chunks_exact_mut(n).for_each(centred);
        Ok(out)
    }
}

/// Moves the mean to zero.
fn centred(values: &mut [f64]) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
}
