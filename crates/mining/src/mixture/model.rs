//! The parameters of a mixture, and what the kernel needs of them.

use crate::lanes::log2_of;
use crate::memory_request::MemoryRequest;
use crate::{MiningError, Points};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The shape of the covariances of a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Covariance {
    /// Each component has a matrix of its own.
    Full,
    /// All components have the same matrix.
    Tied,
    /// Each component has one variance per column.
    Diagonal,
    /// Each component has one variance.
    Spherical,
}

impl Covariance {
    /// Whether sums of products of two columns are needed.
    pub(super) fn triangle(self) -> bool {
        matches!(self, Covariance::Full | Covariance::Tied)
    }

    /// What a fit needs most of: matrices of all components, and sums over a block in lanes.
    pub(super) fn memory(self, components: usize, dim: usize) -> MemoryRequest {
        let (components, dim) = (components as u128, dim as u128);
        let numbers = match self.triangle() {
            true => components.saturating_add(4).saturating_mul(dim * dim),
            false => components * dim,
        };
        let advice = "give fewer columns or components, or a covariance that is diagonal";
        MemoryRequest::new("the covariances of so many columns", numbers, advice)
    }

    /// The first column whose sums are not finite, of those of
    /// [`Sums`](super::kernel::Sums) for so many components, with or without sums of `products`.
    pub(super) fn beyond(
        self,
        dim: usize,
        components: usize,
        sums: &[f64],
        products: bool,
    ) -> Option<usize> {
        let stride = sums.len() / components;
        let looked = if products { stride } else { 1 + dim };
        let mut sums = sums.iter().enumerate();
        let beyond = sums.position(|(at, sum)| at % stride < looked && !sum.is_finite());
        let at = beyond? % stride;
        let square = at.saturating_sub(1);
        Some(match square.checked_sub(dim) {
            // A sum of the column.
            None => square,
            Some(square) if self.triangle() => {
                // The row of the triangle in which it is: that of the larger column comes first.
                let mut row = 0;
                while (row + 1) * (row + 2) / 2 <= square {
                    row += 1;
                }
                row
            }
            Some(square) => square,
        })
    }

    /// The number of free parameters of a mixture.
    pub(super) fn parameters(self, components: usize, dim: usize) -> usize {
        let matrix = dim * (dim + 1) / 2;
        let shapes = match self {
            Covariance::Full => components * matrix,
            Covariance::Tied => matrix,
            Covariance::Diagonal => components * dim,
            Covariance::Spherical => components,
        };
        components - 1 + components * dim + shapes
    }
}

/// A mixture of normal distributions, and the labels of the rows of one rank.
///
/// Every field but `rows` and `labels` is the same on all ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MixtureModel {
    /// The number of columns.
    pub dim: usize,
    /// The shape of the covariances.
    pub covariance: Covariance,
    /// The share of each component; they add up to 1.
    pub weights: Vec<f64>,
    /// The means, `dim` numbers per component.
    pub means: Vec<f64>,
    /// Full: `dim * dim` numbers per component. Tied: `dim * dim` numbers. Diagonal: `dim`
    /// variances per component. Spherical: one per component.
    pub covariances: Vec<f64>,
    /// The mean over the rows of ln p under these parameters.
    pub log_likelihood: f64,
    /// Schwarz's criterion: -2 ln L + p ln N for p parameters and N rows. Less is better.
    pub bic: f64,
    /// Akaike's criterion: -2 ln L + 2 p. Less is better.
    pub aic: f64,
    /// The mean of ln p before each step.
    pub trace: Vec<f64>,
    /// Whether the last step raised it by less than the tolerance.
    pub converged: bool,
    /// The start that led here: 0 is annealing, or the labels given.
    pub start: usize,
    /// The rows whose labels are here.
    pub rows: Range<usize>,
    /// The component with the largest share in each of these rows, the first of equals.
    pub labels: Vec<u32>,
}

impl MixtureModel {
    /// The number of components.
    pub fn components(&self) -> usize {
        self.weights.len()
    }

    /// Joins the parts of all ranks, in rank order; `None` if there are no parts or one does not
    /// follow the one before.
    pub fn join(parts: impl IntoIterator<Item = MixtureModel>) -> Option<MixtureModel> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            if part.rows.start != whole.rows.end {
                return None;
            }
            whole.rows.end = part.rows.end;
            whole.labels.extend(part.labels);
        }
        Some(whole)
    }
}

/// Parameters between two steps. Means are relative to the middle of the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Parameters {
    pub(super) weights: Vec<f64>,
    pub(super) means: Vec<f64>,
    pub(super) covariances: Vec<f64>,
}

impl Parameters {
    /// What the sums of [`Sums`](super::kernel::Sums) around `means` say.
    pub(super) fn of(
        kind: Covariance,
        floor: f64,
        points: &Points,
        means: &[f64],
        sums: &[f64],
    ) -> Result<Parameters, MiningError> {
        let (dim, rows) = (points.dim(), points.len() as f64);
        let stride = sums.len() / (means.len() / dim);
        let mut found = Parameters {
            weights: Vec::new(),
            means: Vec::new(),
            covariances: Vec::new(),
        };
        let mut tied = vec![0.0; dim * dim];
        let masses = sums
            .chunks_exact(stride)
            .map(|sums| sums[0] + 10.0 * f64::EPSILON);
        let total: f64 = masses.clone().sum();
        for (component, mass) in masses.enumerate() {
            if mass < 1e-12 * rows {
                return Err(MiningError::Degenerate {
                    component,
                    problem: "has no rows left: ask for fewer components",
                });
            }
            let sums = &sums[component * stride + 1..(component + 1) * stride];
            let (first, second) = sums.split_at(dim);
            let shift: Vec<f64> = first.iter().map(|sum| sum / mass).collect();
            found.weights.push(mass / total);
            let old = &means[component * dim..][..dim];
            found
                .means
                .extend(old.iter().zip(&shift).map(|(old, shift)| old + shift));
            match kind {
                Covariance::Full | Covariance::Tied => {
                    let mut matrix = vec![0.0; dim * dim];
                    let pairs = (0..dim).flat_map(|i| (0..=i).map(move |j| (i, j)));
                    for ((i, j), sum) in pairs.zip(second) {
                        let value = sum - mass * shift[i] * shift[j];
                        tied[i * dim + j] += value;
                        tied[j * dim + i] = tied[i * dim + j];
                        matrix[i * dim + j] = value / mass;
                        matrix[j * dim + i] = value / mass;
                    }
                    (0..dim).for_each(|i| matrix[i * dim + i] += floor);
                    if kind == Covariance::Full {
                        found.covariances.extend(matrix);
                    }
                }
                Covariance::Diagonal | Covariance::Spherical => {
                    let pairs = second.iter().zip(&shift);
                    let variances = pairs.map(|(sum, shift)| sum / mass - shift * shift + floor);
                    match kind {
                        Covariance::Diagonal => found.covariances.extend(variances),
                        _ => found.covariances.push(variances.sum::<f64>() / dim as f64),
                    }
                }
            }
        }
        if kind == Covariance::Tied {
            tied.iter_mut().for_each(|value| *value /= total);
            (0..dim).for_each(|i| tied[i * dim + i] += floor);
            found.covariances = tied;
        }
        Ok(found)
    }
}

/// The inverses of the Cholesky factors of the covariances, and the constants of the densities.
#[derive(Debug)]
pub(super) struct Factors {
    pub(super) triangle: bool,
    stride: usize,
    /// Per component the lower triangle, or the diagonal.
    inverses: Vec<f64>,
    /// Per component log₂ of mass over the root of the determinant of 2π times the covariance.
    constants: Vec<f64>,
}

impl Factors {
    pub(super) fn new(
        kind: Covariance,
        dim: usize,
        now: &Parameters,
    ) -> Result<Factors, MiningError> {
        let triangle = kind.triangle();
        let stride = if triangle { dim * (dim + 1) / 2 } else { dim };
        let mut factors = Factors {
            triangle,
            stride,
            inverses: Vec::new(),
            constants: Vec::new(),
        };
        for (component, weight) in now.weights.iter().enumerate() {
            let covariance = match kind {
                Covariance::Full => &now.covariances[component * dim * dim..][..dim * dim],
                Covariance::Tied => &now.covariances,
                Covariance::Diagonal => &now.covariances[component * dim..][..dim],
                Covariance::Spherical => &now.covariances[component..=component],
            };
            let inverse = match triangle {
                true => inverse_factor(covariance, dim),
                false => (0..dim)
                    .map(|j| root(covariance[j % covariance.len()]))
                    .collect(),
            };
            let inverse = inverse.ok_or_else(|| MiningError::Degenerate {
                component,
                problem: match covariance.iter().all(|value| value.is_finite()) {
                    true => {
                        "has a covariance that is not positive definite: add more to each variance"
                    }
                    false => {
                        "has a covariance beyond all numbers: divide the columns by a large one"
                    }
                },
            })?;
            let diagonal = |i: usize| match triangle {
                true => inverse[i * (i + 3) / 2],
                false => inverse[i],
            };
            let half_turn = 0.5 * log2_of(std::f64::consts::TAU);
            let logs: f64 = (0..dim).map(|i| log2_of(diagonal(i)) - half_turn).sum();
            factors.constants.push(log2_of(*weight) + logs);
            factors.inverses.extend(inverse);
        }
        Ok(factors)
    }

    /// The inverse factor of a component, and its constant.
    pub(super) fn of(&self, component: usize) -> (&[f64], f64) {
        let inverse = &self.inverses[component * self.stride..][..self.stride];
        (inverse, self.constants[component])
    }

    /// The largest sum of the inverse variances of a component along all axes.
    pub(super) fn precision(&self) -> f64 {
        let sums = self.inverses.chunks_exact(self.stride);
        sums.map(|inverse| inverse.iter().map(|v| v * v).sum::<f64>())
            .fold(0.0, f64::max)
    }
}

fn root(variance: f64) -> Option<f64> {
    let root = 1.0 / variance.sqrt();
    (variance > 0.0 && root.is_normal()).then_some(root)
}

/// The inverse of the lower Cholesky factor, row after row; `None` if the matrix is not positive
/// definite.
fn inverse_factor(matrix: &[f64], dim: usize) -> Option<Vec<f64>> {
    let at = |i: usize, j: usize| i * (i + 1) / 2 + j;
    let mut factor = vec![0.0; dim * (dim + 1) / 2];
    for i in 0..dim {
        for j in 0..=i {
            let mut sum = matrix[i * dim + j];
            for k in 0..j {
                sum -= factor[at(i, k)] * factor[at(j, k)];
            }
            factor[at(i, j)] = match i == j {
                true => 1.0 / root(sum)?,
                false => sum / factor[at(j, j)],
            };
        }
    }
    let mut inverse = vec![0.0; factor.len()];
    for j in 0..dim {
        inverse[at(j, j)] = 1.0 / factor[at(j, j)];
        for i in j + 1..dim {
            let sum: f64 = (j..i).map(|k| factor[at(i, k)] * inverse[at(k, j)]).sum();
            inverse[at(i, j)] = -sum / factor[at(i, i)];
        }
    }
    Some(inverse)
}
