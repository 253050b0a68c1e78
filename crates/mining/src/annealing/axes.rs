//! Leading directions of covariance matrices that are never formed.
//!
//! A few directions per cluster are multiplied by the covariance in one pass over the data and
//! turned towards its leading eigenvectors. This is subspace iteration with a Rayleigh-Ritz step
//! (B. N. Parlett, The symmetric eigenvalue problem, chapter 14). Directions are kept from
//! temperature to temperature, so one or two passes are enough. With at most three columns the
//! directions span the whole space and one pass is exact.

use crate::order::greatest_first;

/// What is off the diagonal is nothing below this share of what is on it.
const NOTHING: f64 = 1e-20;

/// The number of directions followed in `dim` columns.
pub(super) fn count(dim: usize, most: usize) -> usize {
    dim.min(most)
}

/// Directions to begin with: along the first columns, each leaning towards all the others.
pub(super) fn start(dim: usize, most: usize) -> Vec<f64> {
    let count = count(dim, most);
    let mut rows = vec![0.0; count * dim];
    for (i, row) in rows.chunks_exact_mut(dim).enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            *value = if j % count == i { 1.0 } else { 0.0 };
        }
    }
    orthonormalise(dim, &mut rows);
    rows
}

/// Turns directions to the Ritz vectors of one covariance, the leading one first. If they do not
/// span the space, it also turns them on by one step of the power method.
///
/// `sums` is the mass and, per direction, mass × (covariance · direction) followed by one number
/// that is not used here. Gives back the leading variance and the length of its residual, which
/// bounds its distance from an eigenvalue. A cluster without mass has no variance.
pub(super) fn turn(dim: usize, directions: &mut [f64], sums: &[f64]) -> (f64, f64) {
    let (mass, count) = (sums[0], directions.len() / dim);
    if mass <= 0.0 {
        return (0.0, 0.0);
    }
    let mut images = Vec::with_capacity(count * dim);
    for image in sums[1..].chunks_exact(dim + 1) {
        images.extend(image[..dim].iter().map(|x| x / mass));
    }
    let part = |i: usize, j: usize| {
        dot(
            &directions[i * dim..(i + 1) * dim],
            &images[j * dim..(j + 1) * dim],
        )
    };
    let (values, vectors) = jacobi(count, |i, j| (part(i, j) + part(j, i)) / 2.0);
    let (ritz, image) = (
        combine(dim, &vectors, directions),
        combine(dim, &vectors, &images),
    );
    let off = |j: usize| image[j] - values[0] * ritz[j];
    let residual = (0..dim).map(|j| off(j) * off(j)).sum::<f64>().sqrt();
    directions.copy_from_slice(if count == dim { &ritz } else { &image });
    orthonormalise(dim, directions);
    directions.chunks_exact_mut(dim).for_each(fix_sign);
    (values[0].max(0.0), residual)
}

/// For every vector, which has an entry for each row, the sum of the rows with the entries as
/// weights.
pub(crate) fn combine(dim: usize, vectors: &[f64], rows: &[f64]) -> Vec<f64> {
    let count = rows.len() / dim;
    let mut out = vec![0.0; vectors.len() / count * dim];
    for (line, vector) in out.chunks_exact_mut(dim).zip(vectors.chunks_exact(count)) {
        for (weight, row) in vector.iter().zip(rows.chunks_exact(dim)) {
            line.iter_mut().zip(row).for_each(|(o, r)| *o += weight * r);
        }
    }
    out
}

/// Makes rows orthonormal from the first on. A row that is nothing beside the ones before becomes
/// the first axis that is something.
pub(crate) fn orthonormalise(dim: usize, rows: &mut [f64]) {
    for i in 0..rows.len() / dim {
        let (done, rest) = rows.split_at_mut(i * dim);
        let row = &mut rest[..dim];
        let mut axis = 0;
        loop {
            let before = dot(row, row).sqrt();
            // Twice is enough: W. Kahan's rule for Gram-Schmidt.
            for _ in 0..2 {
                for other in done.chunks_exact(dim) {
                    let part = dot(row, other);
                    row.iter_mut().zip(other).for_each(|(r, o)| *r -= part * o);
                }
            }
            let length = dot(row, row).sqrt();
            if length > 1e-8 * before && length > 0.0 {
                row.iter_mut().for_each(|r| *r /= length);
                break;
            }
            row.fill(0.0);
            row[axis] = 1.0;
            axis += 1;
        }
    }
}

/// Makes the largest component positive, the first of equals: no sign is left to chance.
pub(crate) fn fix_sign(direction: &mut [f64]) {
    let largest = direction
        .iter()
        .fold(0.0_f64, |m, v| if v.abs() > m.abs() { *v } else { m });
    if largest < 0.0 {
        direction.iter_mut().for_each(|v| *v = -*v);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Eigenvalues in descending order and their vectors, one after the other, of a small symmetric
/// matrix of `n` rows, by cyclic Jacobi rotations.
pub(crate) fn jacobi(n: usize, entry: impl Fn(usize, usize) -> f64) -> (Vec<f64>, Vec<f64>) {
    let places = (0..n * n).map(|at| (at / n, at % n));
    let mut a: Vec<f64> = places.clone().map(|(i, j)| entry(i, j)).collect();
    let unit = places.map(|(i, j)| if i == j { 1.0 } else { 0.0 });
    let mut v: Vec<f64> = unit.collect();
    rotate(n, &mut a, &mut v);
    let mut order: Vec<usize> = (0..n).collect();
    greatest_first(&mut order, &|i| a[i * n + i]);
    let mut vectors = Vec::with_capacity(n * n);
    for &i in &order {
        vectors.extend_from_slice(&v[i * n..][..n]);
    }
    (order.iter().map(|&i| a[i * n + i]).collect(), vectors)
}

/// Makes a symmetric matrix diagonal, and turns the rows of `v` with it.
fn rotate(n: usize, a: &mut [f64], v: &mut [f64]) {
    for _ in 0..12 {
        for (p, q) in (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q))) {
            let (pp, qq, pq) = (a[p * n + p], a[q * n + q], a[p * n + q]);
            // So small that the rotation would change no bit beside the diagonal.
            if pq.abs() <= NOTHING * pp.abs().min(qq.abs()) {
                continue;
            }
            let theta = (qq - pp) / (2.0 * pq);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            let turned = |x: f64, y: f64| (c * x - s * y, s * x + c * y);
            for row in a.chunks_exact_mut(n) {
                (row[p], row[q]) = turned(row[p], row[q]);
            }
            for rows in [&mut *a, &mut *v] {
                for (p, q) in (p * n..).zip(q * n..).take(n) {
                    (rows[p], rows[q]) = turned(rows[p], rows[q]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(matrix: &[Vec<f64>], directions: &[f64]) -> Vec<f64> {
        let dim = matrix.len();
        let mut sums = vec![1.0];
        for direction in directions.chunks_exact(dim) {
            sums.extend(matrix.iter().map(|row| dot(row, direction)));
            sums.push(0.0);
        }
        sums
    }

    #[test]
    fn small_matrices_are_exact_in_one_turn() {
        let matrix = vec![
            vec![2.0, 1.0, 0.0],
            vec![1.0, 2.0, 0.0],
            vec![0.0, 0.0, 1.0],
        ];
        let mut directions = start(3, 3);
        let sums = apply(&matrix, &directions);
        let (variance, error) = turn(3, &mut directions, &sums);
        assert!(
            (variance - 3.0).abs() < 1e-14 && error < 1e-14,
            "{variance} {error}"
        );
        let half = 0.5_f64.sqrt();
        assert!((directions[0] - half).abs() < 1e-14 && (directions[1] - half).abs() < 1e-14);
    }

    #[test]
    fn large_matrices_converge() {
        let dim = 20;
        // Eigenvalues 1, 1/2, 1/3, … in a basis turned by reflections.
        let mirror: Vec<f64> = (0..dim).map(|i| ((i * i + 1) as f64).sin()).collect();
        let norm = dot(&mirror, &mirror);
        let column = |k: usize| -> Vec<f64> {
            (0..dim)
                .map(|i| if i == k { 1.0 } else { 0.0 } - 2.0 * mirror[i] * mirror[k] / norm)
                .collect()
        };
        let mut matrix = vec![vec![0.0; dim]; dim];
        for k in 0..dim {
            let v = column(k);
            for i in 0..dim {
                for j in 0..dim {
                    matrix[i][j] += v[i] * v[j] / (k + 1) as f64;
                }
            }
        }
        let mut directions = start(dim, 3);
        let mut last = (0.0, 0.0);
        for _ in 0..12 {
            let sums = apply(&matrix, &directions);
            last = turn(dim, &mut directions, &sums);
        }
        assert!((last.0 - 1.0).abs() < 1e-4, "{last:?}");
        assert!(dot(&directions[..dim], &column(0)).abs() > 0.999);
    }

    #[test]
    fn nothing_has_no_variance() {
        let mut directions = start(4, 3);
        let before = directions.clone();
        assert_eq!(turn(4, &mut directions, &[0.0; 16]), (0.0, 0.0));
        assert_eq!(directions, before);
    }

    #[test]
    fn equal_points_have_no_variance() {
        let mut directions = start(4, 3);
        let mut sums = [0.0; 16];
        sums[0] = 1.0;
        assert_eq!(turn(4, &mut directions, &sums), (0.0, 0.0));
        let length = dot(&directions[..4], &directions[..4]);
        assert!(
            (length - 1.0).abs() < 1e-12,
            "directions stay of length one: {length}"
        );
    }
}
