//! The loops over all numbers: the product of the dissimilarities with some columns, the shares of
//! one temperature, and their entropy.

use super::Dissimilarities;
use crate::lanes::{F64x8, Isa, LANES, NumericLoop, exp2, log2, log2_of};
use std::f64::consts::{LN_2, LOG2_E};
use std::ops::Range;

/// Rows that are worked on together: as many sums are under way at a time.
const ROWS: usize = 4;

/// The product D X for some rows, or that of the known pairs with X.
pub(super) struct Product<'a> {
    pub(super) data: &'a Dissimilarities,
    pub(super) known: bool,
    pub(super) rows: Range<usize>,
    /// Row after row, `columns` numbers each.
    pub(super) right: &'a [f64],
    pub(super) columns: usize,
}

impl NumericLoop for Product<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Vec<f64> {
        let (n, k) = (self.data.len(), self.columns);
        let groups = k.div_ceil(LANES);
        let mut right = vec![F64x8::default(); groups * n];
        for (row, numbers) in self.right.chunks_exact(k).enumerate() {
            for (column, number) in numbers.iter().enumerate() {
                right[column / LANES * n + row][column % LANES] = *number;
            }
        }
        let mut out = vec![0.0; self.rows.len() * k];
        let mut left: [Vec<f64>; ROWS] = std::array::from_fn(|_| vec![0.0; n]);
        for start in self.rows.clone().step_by(ROWS) {
            let count = ROWS.min(self.rows.end - start);
            for (at, left) in left[..count].iter_mut().enumerate() {
                self.data.read_part(start + at, self.known, left);
            }
            let [a, b, c, d] = &left;
            for (group, right) in right.chunks_exact(n).enumerate() {
                let mut sums = [isa.splat(0.0); ROWS];
                for ((((right, a), b), c), d) in right.iter().zip(a).zip(b).zip(c).zip(d) {
                    let right = isa.load(right);
                    for (sum, left) in sums.iter_mut().zip([a, b, c, d]) {
                        *sum = isa.fma(isa.splat(*left), right, *sum);
                    }
                }
                for (at, sum) in sums[..count].iter().enumerate() {
                    let mut lane = F64x8::default();
                    isa.store(*sum, &mut lane);
                    let to = (start - self.rows.start + at) * k + group * LANES;
                    let width = LANES.min(k - group * LANES);
                    out[to..to + width].copy_from_slice(&lane[..width]);
                }
            }
        }
        out
    }
}

/// The shares q = Pᵞ exp(-ε / T) / Z of all rows.
pub(super) struct Shares<'a> {
    pub(super) energies: &'a [f64],
    pub(super) masses: &'a [f64],
    pub(super) temperature: f64,
    pub(super) power: f64,
}

impl NumericLoop for Shares<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Vec<f64> {
        let k = self.masses.len();
        let logs = self
            .masses
            .iter()
            .map(|p| self.power * log2_of(p.max(1e-300)));
        let logs: Vec<f64> = logs.collect();
        let cold = LOG2_E / self.temperature;
        let mut terms = vec![F64x8::splat(f64::MIN); k.div_ceil(LANES)];
        let mut out = Vec::with_capacity(self.energies.len());
        for energies in self.energies.chunks_exact(k) {
            let mut top = f64::MIN;
            for (at, (energy, log)) in energies.iter().zip(&logs).enumerate() {
                let exponent = log - energy * cold;
                terms[at / LANES][at % LANES] = exponent;
                top = top.max(exponent);
            }
            let mut total = 0.0;
            let first = out.len();
            for (group, term) in terms.iter().enumerate() {
                let mut lane = F64x8::default();
                let below = isa.sub(isa.load(term), isa.splat(top));
                isa.store(exp2(isa, below), &mut lane);
                let width = LANES.min(k - group * LANES);
                total += lane[..width].iter().sum::<f64>();
                out.extend_from_slice(&lane[..width]);
            }
            out[first..].iter_mut().for_each(|share| *share /= total);
        }
        out
    }
}

/// Σ r ln q of each row, where r = w q.
pub(super) struct Orders<'a> {
    /// Row after row, one number for each cluster.
    pub(super) r: &'a [f64],
    pub(super) weights: &'a [f64],
}

impl NumericLoop for Orders<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<I: Isa>(self, _: I) -> Vec<f64> {
        let k = self.r.len() / self.weights.len().max(1);
        let mut out = Vec::with_capacity(self.weights.len());
        for (r, weight) in self.r.chunks_exact(k.max(1)).zip(self.weights) {
            let mut order = 0.0;
            for r in r.chunks(LANES) {
                // The logarithm of one is zero.
                let mut shares = F64x8::splat(1.0);
                for (share, r) in shares.iter_mut().zip(r) {
                    *share = if *r > 0.0 { r / weight } else { 1.0 };
                }
                let logs = log2(&shares);
                order += r.iter().zip(&*logs).map(|(r, log)| r * log).sum::<f64>();
            }
            out.push(order * LN_2);
        }
        out
    }
}
