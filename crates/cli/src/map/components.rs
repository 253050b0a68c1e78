//! The first two principal components: the flattest view of points in many dimensions.
//!
//! Block subspace iteration with a Rayleigh-Ritz step (Golub and Van Loan, Matrix Computations, 4th
//! edition, section 8.2). When there are many rows it takes an even sample of them: the picture
//! does not need more. No random number enters.

use crate::order::greatest_first;

/// Vectors that are iterated together; more than two, so that close variances do not slow it down.
const BLOCK: usize = 6;
const ITERATIONS: usize = 40;

/// Rows times dimensions of the sample, and its least number of rows.
const SAMPLE_VALUES: usize = 1 << 22;
const SAMPLE_ROWS: usize = 1000;

/// Of so many dimensions the covariance is worked out once: that takes less than each step from the
/// rows.
const COVARIANCE: usize = BLOCK * ITERATIONS;

/// Two orthogonal directions of the largest variance.
#[derive(Debug)]
pub(crate) struct PrincipalComponents {
    /// The mean of the points.
    pub(crate) mean: Vec<f64>,
    /// The two directions, unit vectors; the largest part of each is positive.
    pub(crate) axes: [Vec<f64>; 2],
    /// The share of the variance along each, 0 to 1.
    pub(crate) shares: [f64; 2],
}

impl PrincipalComponents {
    /// Finds the components of `rows` points in `dim` dimensions, at least 2; `row` copies one
    /// point.
    pub(crate) fn find(rows: usize, dim: usize, mut row: impl FnMut(usize, &mut [f64])) -> Self {
        let taken = sampled(rows, dim);
        let mut sample = vec![0.0; taken.len() * dim];
        for (index, point) in taken.zip(sample.chunks_exact_mut(dim)) {
            row(index, point);
        }
        let mean = centre(&mut sample, dim);
        let total: f64 = sample.iter().map(|v| v * v).sum();
        let covariance = (dim <= COVARIANCE).then(|| covariance(&sample, dim));
        let spread = |basis: &[Vec<f64>]| match &covariance {
            Some(covariance) => transformed(covariance, basis),
            None => multiply(&sample, basis),
        };
        let mut basis = start(BLOCK.min(dim), dim);
        for _ in 0..ITERATIONS {
            basis = spread(&basis);
            orthonormalise(&mut basis);
        }
        let (variances, turn) = eigen(&rayleigh(&basis, &spread(&basis)));
        let axis = |which: usize| {
            let mut axis = vec![0.0; dim];
            for (vector, weights) in basis.iter().zip(&turn) {
                axis.iter_mut()
                    .zip(vector)
                    .for_each(|(a, v)| *a += weights[which] * v);
            }
            point_up(&mut axis);
            axis
        };
        let share = |which: usize| {
            if total > 0.0 {
                variances[which].max(0.0) / total
            } else {
                0.0
            }
        };
        PrincipalComponents {
            axes: [axis(0), axis(1)],
            shares: [share(0), share(1)],
            mean,
        }
    }

    /// Where `point` lies along the two components.
    pub(crate) fn at(&self, point: &[f64]) -> [f64; 2] {
        let along = |axis: &[f64]| {
            let parts = point.iter().zip(&self.mean).zip(axis);
            parts.map(|((x, mean), a)| (x - mean) * a).sum()
        };
        [along(&self.axes[0]), along(&self.axes[1])]
    }
}

/// The rows that are taken of so many, evenly.
fn sampled(rows: usize, dim: usize) -> impl ExactSizeIterator<Item = usize> {
    let taken = (SAMPLE_VALUES / dim).max(SAMPLE_ROWS).min(rows);
    (0..taken).map(move |index| index * rows / taken)
}

/// Takes the mean off every row and returns it.
fn centre(sample: &mut [f64], dim: usize) -> Vec<f64> {
    let rows = (sample.len() / dim) as f64;
    let mut mean = vec![0.0; dim];
    for point in sample.chunks_exact(dim) {
        mean.iter_mut().zip(point).for_each(|(m, x)| *m += x / rows);
    }
    for point in sample.chunks_exact_mut(dim) {
        point.iter_mut().zip(&mean).for_each(|(x, m)| *x -= m);
    }
    mean
}

/// Vectors that no symmetry of the data is likely to make orthogonal to the answer.
fn start(block: usize, dim: usize) -> Vec<Vec<f64>> {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let part = |vector: usize, d: usize| ((1 + d * block + vector) as f64 * GOLDEN).fract() - 0.5;
    let mut basis: Vec<Vec<f64>> = (0..block)
        .map(|vector| (0..dim).map(|d| part(vector, d)).collect())
        .collect();
    orthonormalise(&mut basis);
    basis
}

/// The covariance of the sample (times the number of rows), row after row.
fn covariance(sample: &[f64], dim: usize) -> Vec<f64> {
    let mut covariance = vec![0.0; dim * dim];
    for point in sample.chunks_exact(dim) {
        for (value, sums) in point.iter().zip(covariance.chunks_exact_mut(dim)) {
            sums.iter_mut()
                .zip(point)
                .for_each(|(s, x)| *s += value * x);
        }
    }
    covariance
}

/// Multiplies every vector by a matrix.
fn transformed(matrix: &[f64], basis: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let product = |vector: &Vec<f64>| {
        let rows = matrix.chunks_exact(vector.len());
        rows.map(|row| dot(row, vector)).collect()
    };
    basis.iter().map(product).collect()
}

/// Multiplies every vector by the covariance of the sample (times the number of rows).
fn multiply(sample: &[f64], basis: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let dim = basis[0].len();
    let mut product = vec![vec![0.0; dim]; basis.len()];
    for point in sample.chunks_exact(dim) {
        for (vector, sum) in basis.iter().zip(&mut product) {
            let along = dot(point, vector);
            sum.iter_mut().zip(point).for_each(|(s, x)| *s += along * x);
        }
    }
    product
}

/// Gram-Schmidt. A vector that depends on those before becomes a coordinate direction that does
/// not: the variance there is zero, and any direction is as good.
fn orthonormalise(basis: &mut [Vec<f64>]) {
    for index in 0..basis.len() {
        let (done, rest) = basis.split_at_mut(index);
        let vector = &mut rest[0];
        let negligible = 1e-10 * dot(vector, vector).sqrt();
        let mut independent = project_out(vector, done) > negligible;
        let mut units = 0..vector.len();
        while !independent && let Some(unit) = units.next() {
            vector.fill(0.0);
            vector[unit] = 1.0;
            // Some unit vector keeps at least 1/√BLOCK.
            independent = project_out(vector, done) > 0.1;
        }
        let length = dot(vector, vector).sqrt();
        vector.iter_mut().for_each(|v| *v /= length);
    }
}

/// Takes the parts along `done` off `vector`, twice for accuracy, and returns the length left.
fn project_out(vector: &mut [f64], done: &[Vec<f64>]) -> f64 {
    for _ in 0..2 {
        for other in done {
            let along = dot(vector, other);
            vector
                .iter_mut()
                .zip(other)
                .for_each(|(v, o)| *v -= along * o);
        }
    }
    dot(vector, vector).sqrt()
}

/// The variances (times the number of rows) within the space of `basis`, which the covariance takes
/// to `product`.
fn rayleigh(basis: &[Vec<f64>], product: &[Vec<f64>]) -> Vec<Vec<f64>> {
    basis
        .iter()
        .map(|a| product.iter().map(|b| dot(a, b)).collect())
        .collect()
}

/// Eigenvalues, largest first, and eigenvectors (as columns) of a small symmetric matrix, by Jacobi
/// rotations.
fn eigen(matrix: &[Vec<f64>]) -> (Vec<f64>, Vec<Vec<f64>>) {
    const SWEEPS: usize = 30;
    let size = matrix.len();
    let mut m = matrix.to_vec();
    let mut turn: Vec<Vec<f64>> = (0..size)
        .map(|i| (0..size).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    for _ in 0..SWEEPS {
        for p in 0..size {
            for q in p + 1..size {
                if m[p][q] == 0.0 {
                    continue;
                }
                let theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                let rotate = |a: f64, b: f64| (c * a - s * b, s * a + c * b);
                for row in m.iter_mut().chain(&mut turn) {
                    (row[p], row[q]) = rotate(row[p], row[q]);
                }
                let (above, below) = m.split_at_mut(q);
                for (a, b) in above[p].iter_mut().zip(&mut below[0]) {
                    (*a, *b) = rotate(*a, *b);
                }
            }
        }
    }
    let diagonal: Vec<f64> = (0..size).map(|i| m[i][i]).collect();
    let order = greatest_first(&diagonal);
    let values = order.iter().map(|&i| m[i][i]).collect();
    let vectors = turn
        .iter()
        .map(|row| order.iter().map(|&i| row[i]).collect())
        .collect();
    (values, vectors)
}

fn point_up(axis: &mut [f64]) {
    let largest = axis
        .iter()
        .copied()
        .max_by(|a, b| a.abs().total_cmp(&b.abs()))
        .unwrap_or(0.0);
    if largest < 0.0 {
        axis.iter_mut().for_each(|a| *a = -*a);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 without a pattern that matters here.
    fn noise(index: usize) -> f64 {
        let mixed = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Points stretched 10 along `u`, 3 along `v` and 1 elsewhere, around 100.
    fn stretched(dim: usize, rows: usize) -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
        let mut axes = vec![vec![1.0; dim], (0..dim).map(|d| d as f64).collect()];
        orthonormalise(&mut axes);
        let point = |row: usize| -> Vec<f64> {
            let along = [10.0 * noise(row * 1000), 3.0 * noise(row * 1000 + 1)];
            let part = |d: usize| {
                100.0
                    + along[0] * axes[0][d]
                    + along[1] * axes[1][d]
                    + 0.1 * noise(row * 1000 + 2 + d)
            };
            (0..dim).map(part).collect()
        };
        let points = (0..rows).map(point).collect();
        let [u, v] = <[Vec<f64>; 2]>::try_from(axes).unwrap();
        (points, u, v)
    }

    fn find(points: &[Vec<f64>]) -> PrincipalComponents {
        PrincipalComponents::find(points.len(), points[0].len(), |row, to| {
            to.copy_from_slice(&points[row])
        })
    }

    #[test]
    fn stretched_points_are_seen_along_their_stretch() {
        for (dim, rows) in [(3, 2000), (20, 2000), (COVARIANCE + 1, 200)] {
            let (points, u, v) = stretched(dim, rows);
            let found = find(&points);
            assert!(dot(&found.axes[0], &u).abs() > 0.999, "{dim}");
            assert!(dot(&found.axes[1], &v).abs() > 0.999, "{dim}");
            assert!(dot(&found.axes[0], &found.axes[1]).abs() < 1e-12);
            assert!(found.shares[0] > 0.85 && found.shares[0] + found.shares[1] < 1.0);
            let at = found.at(&points[0]);
            assert!(
                (at[0].abs() - (10.0 * noise(0)).abs()).abs() < 0.8,
                "{at:?}"
            );
        }
    }

    #[test]
    fn the_variances_are_those_of_the_points() {
        let (points, ..) = stretched(4, 500);
        let found = find(&points);
        let along: Vec<f64> = points.iter().map(|p| found.at(p)[0]).collect();
        let variance: f64 = along.iter().map(|a| a * a).sum();
        let total: f64 = points
            .iter()
            .flat_map(|p| p.iter().zip(&found.mean).map(|(x, m)| (x - m) * (x - m)))
            .sum();
        assert!((variance / total - found.shares[0]).abs() < 1e-9);
    }

    #[test]
    fn flat_and_single_points_have_components_too() {
        let line: Vec<Vec<f64>> = (0..50).map(|i| vec![f64::from(i), 1.0, 2.0]).collect();
        let found = find(&line);
        assert!((found.axes[0][0] - 1.0).abs() < 1e-12);
        assert!((found.shares[0] - 1.0).abs() < 1e-9);
        assert!(dot(&found.axes[0], &found.axes[1]).abs() < 1e-9);
        let one = find(&[vec![5.0, 6.0]]);
        assert_eq!(one.shares, [0.0, 0.0]);
        assert_eq!(one.at(&[5.0, 6.0]), [0.0, 0.0]);
    }

    #[test]
    fn large_tables_are_sampled_evenly() {
        let rows: Vec<usize> = sampled(50_000_000, 8).collect();
        assert_eq!(rows.len(), SAMPLE_VALUES / 8);
        assert_eq!(
            rows[1] - rows[0],
            rows[rows.len() - 1] - rows[rows.len() - 2]
        );
    }
}
