//! The loop over all pairs: B(Y) Y and the stress, eight columns at a time.

use crate::Dissimilarities;
use crate::lanes::{F64x8, Isa, LANES, NumericLoop};
use std::ops::Range;

/// Per row Σ (D - d)², Σ D², and Σ (y_i - y_j) D / d over the known pairs.
pub(super) struct Images<'a> {
    pub(super) data: &'a Dissimilarities,
    /// What all distances are multiplied by.
    pub(super) scale: f64,
    pub(super) rows: Range<usize>,
    pub(super) places: &'a [f64],
    pub(super) dim: usize,
    /// What all distances are shortened by.
    pub(super) short: f64,
}

impl NumericLoop for Images<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Vec<f64> {
        let (n, dim) = (self.data.len(), self.dim);
        let lanes = n.div_ceil(LANES);
        let mut columns = vec![F64x8::default(); lanes * dim];
        for (row, place) in self.places.chunks_exact(dim).enumerate() {
            for (j, value) in place.iter().enumerate() {
                columns[j * lanes + row / LANES][row % LANES] = *value;
            }
        }
        let mut line = vec![0.0; n];
        let mut out = Vec::with_capacity(self.rows.len() * (dim + 2));
        let mut sums = vec![isa.splat(0.0); dim];
        for row in self.rows.clone() {
            self.data.read(row, &mut line);
            line.iter_mut().for_each(|value| *value *= self.scale);
            let own = &self.places[row * dim..][..dim];
            let (mut stress, mut whole) = (isa.splat(0.0), isa.splat(0.0));
            sums.fill(isa.splat(0.0));
            for (at, part) in line.chunks(LANES).enumerate() {
                let mut square = F64x8::default();
                for (j, own) in own.iter().enumerate() {
                    let column = &columns[j * lanes + at];
                    for lane in 0..LANES {
                        square.0[lane] += (own - column.0[lane]) * (own - column.0[lane]);
                    }
                }
                let (mut apart, mut ratio, mut wanted) =
                    (F64x8::default(), F64x8::default(), F64x8::default());
                for (lane, value) in part.iter().enumerate() {
                    let d = square[lane].sqrt();
                    let is_known = !value.is_nan();
                    let hot = if *value > self.short {
                        value - self.short
                    } else {
                        0.0
                    };
                    wanted[lane] = hot;
                    apart[lane] = if is_known { hot - d } else { 0.0 };
                    ratio[lane] = if d > 0.0 { hot / d } else { 0.0 };
                }
                let (apart, wanted) = (isa.load(&apart), isa.load(&wanted));
                stress = isa.fma(apart, apart, stress);
                whole = isa.fma(wanted, wanted, whole);
                let ratio = isa.load(&ratio);
                for j in 0..dim {
                    let away = isa.sub(isa.splat(own[j]), isa.load(&columns[j * lanes + at]));
                    sums[j] = isa.fma(ratio, away, sums[j]);
                }
            }
            for sum in [stress, whole].iter().chain(&sums) {
                let mut lane = F64x8::default();
                isa.store(*sum, &mut lane);
                out.push(lane.sum());
            }
        }
        out
    }
}

/// Σ (x_i - x_j) over the known pairs of row i.
pub(super) fn known_part(line: &[f64], row: usize, x: &[f64], dim: usize) -> Vec<f64> {
    let own = &x[row * dim..][..dim];
    let mut sums = vec![0.0; dim];
    for (value, other) in line.iter().zip(x.chunks_exact(dim)) {
        if !value.is_nan() {
            for ((sum, own), other) in sums.iter_mut().zip(own).zip(other) {
                *sum += own - other;
            }
        }
    }
    sums
}
