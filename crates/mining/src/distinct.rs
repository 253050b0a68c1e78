//! The canonical form of a data set: its distinct rows in order, with their weights.
//!
//! Equal rows become one row of their joint weight and rows of weight zero are left out. What
//! follows depends on the set of points alone, not on the order in which they came.

use crate::Points;
use crate::coordinate_map::CoordinateMap;
use motet_comm::Dyadic;
use std::cmp::Ordering;

/// Distinct rows of positive weight, in lexicographic order, in inner coordinates.
#[derive(Debug)]
pub(crate) struct Distinct {
    pub(crate) dim: usize,
    /// Row after row.
    pub(crate) rows: Vec<f64>,
    /// Shares of the whole weight.
    pub(crate) weights: Vec<f64>,
    /// The whole weight.
    pub(crate) total: f64,
}

impl Distinct {
    pub(crate) fn new(points: &Points, frame: &CoordinateMap) -> Distinct {
        let dim = points.dim();
        let mut inner = Vec::with_capacity(points.values().len());
        points
            .values()
            .chunks_exact(dim)
            .for_each(|row| frame.enter(row, &mut inner));
        let row = |i: u32| &inner[i as usize * dim..][..dim];
        let mut sorted: Vec<(u64, u32)> = (0..points.len() as u32)
            .filter(|&i| points.weight(i as usize) > 0.0)
            .map(|i| (ascending(row(i)[0]), i))
            .collect();
        sorted.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| compare(row(a.1), row(b.1)))
                .then_with(|| {
                    points
                        .weight(a.1 as usize)
                        .total_cmp(&points.weight(b.1 as usize))
                })
        });
        let (mut rows, mut weights) = (Vec::with_capacity(inner.len()), Vec::new());
        for same in sorted.chunk_by(|a, b| a.0 == b.0 && row(a.1) == row(b.1)) {
            rows.extend_from_slice(row(same[0].1));
            weights.push(same.iter().map(|&(_, i)| points.weight(i as usize)).sum());
        }
        let total = sum(&weights);
        weights.iter_mut().for_each(|weight| *weight /= total);
        Distinct {
            dim,
            rows,
            weights,
            total,
        }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.weights.len()
    }

    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.rows[row * self.dim..][..self.dim]
    }
}

/// A key that orders like the number, for finite numbers without -0.
fn ascending(value: f64) -> u64 {
    let bits = value.to_bits();
    if value < 0.0 { !bits } else { bits | 1 << 63 }
}

/// Lexicographic order of two rows.
pub(crate) fn compare(a: &[f64], b: &[f64]) -> Ordering {
    let different = a.iter().zip(b).find(|(x, y)| x != y);
    different.map_or(Ordering::Equal, |(x, y)| x.total_cmp(y))
}

/// A sum in tree order: accurate for many terms.
fn sum(terms: &[f64]) -> f64 {
    let add = |a, b| a + b;
    let mut tree = Dyadic::new(0);
    terms.iter().for_each(|&term| tree.push(term, add));
    tree.finish(add).unwrap_or(0.0)
}
