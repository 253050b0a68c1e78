//! One block of rows: the shares of the components, then their sums. Eight rows in lanes.

use super::model::Factors;
use super::moments::moments;
use super::rows::{Scratch, Tiles};
use crate::lanes::{F64x8, Isa, LANES, NumericLoop, exp2, log2};

/// The sums of a block. First Σ w log₂ p. Then per component Σ w q, Σ w q z and Σ w q z zᵀ (its
/// lower triangle, or its diagonal). Here z is the distance from `around`.
pub(super) struct Sums<'a> {
    pub(super) tiles: &'a Tiles,
    /// `dim` numbers per component.
    pub(super) around: &'a [f64],
    pub(super) from: From<'a>,
    /// Whether whole products are summed.
    pub(super) triangle: bool,
    pub(super) scratch: &'a mut Scratch,
}

/// Where shares come from.
#[derive(Clone, Copy)]
pub(super) enum From<'a> {
    /// The densities of the components, whose means are those in `around`.
    Model(&'a Factors),
    /// The component of each row.
    Labels(&'a [u32]),
}

impl NumericLoop for Sums<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Vec<f64> {
        let Sums {
            tiles,
            around,
            from,
            triangle,
            scratch,
        } = self;
        let count = tiles.weights.len();
        let components = around.len() / tiles.dim;
        let mut ends = F64x8::default();
        match from {
            From::Model(factors) => {
                terms(isa, tiles, around, factors, scratch);
                normalise::<I, true>(isa, tiles, components, scratch, &mut ends);
            }
            From::Labels(labels) => {
                scratch.shares.clear();
                scratch.shares.resize(components * count, F64x8::default());
                for (row, &label) in labels.iter().enumerate() {
                    let (tile, lane) = (row / LANES, row % LANES);
                    scratch.shares[label as usize * count + tile][lane] = tiles.weights[tile][lane];
                }
            }
        }
        let mut out = vec![ends.sum()];
        for k in 0..components {
            let mean = &around[k * tiles.dim..][..tiles.dim];
            moments(isa, tiles, mean, k, triangle, scratch);
            out.extend(scratch.products.iter().map(F64x8::sum));
        }
        out
    }
}

/// The shares of all components and log₂ p, without sums.
pub(super) struct Shares<'a> {
    pub(super) tiles: &'a Tiles,
    pub(super) means: &'a [f64],
    pub(super) factors: &'a Factors,
    pub(super) scratch: &'a mut Scratch,
}

impl NumericLoop for Shares<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> f64 {
        let mut ends = F64x8::default();
        let components = self.means.len() / self.tiles.dim;
        terms(isa, self.tiles, self.means, self.factors, self.scratch);
        normalise::<I, false>(isa, self.tiles, components, self.scratch, &mut ends);
        ends.sum()
    }
}

/// log₂ of mass times density, of every component at every row.
#[inline(always)]
fn terms<I: Isa>(isa: I, tiles: &Tiles, means: &[f64], factors: &Factors, scratch: &mut Scratch) {
    let (dim, count) = (tiles.dim, tiles.weights.len());
    scratch.shares.clear();
    scratch.z.clear();
    scratch.z.resize(dim, F64x8::default());
    let half = isa.splat(-0.5 * std::f64::consts::LOG2_E);
    for (k, mean) in means.chunks_exact(dim).enumerate() {
        let (inverse, constant) = factors.of(k);
        let constant = isa.splat(constant);
        for tile in 0..count {
            let columns = &tiles.columns[tile * dim..][..dim];
            for ((z, x), mean) in scratch.z.iter_mut().zip(columns).zip(mean) {
                isa.store(isa.sub(isa.load(x), isa.splat(*mean)), z);
            }
            let mut square = isa.splat(0.0);
            if factors.triangle {
                square = triangle_square(isa, inverse, &scratch.z);
            } else {
                for (factor, z) in inverse.iter().zip(&scratch.z) {
                    let y = isa.mul(isa.splat(*factor), isa.load(z));
                    square = isa.fma(y, y, square);
                }
            }
            let mut out = F64x8::default();
            isa.store(isa.fma(square, half, constant), &mut out);
            scratch.shares.push(out);
        }
    }
}

/// |F z|², F being a lower triangle whose rows lie one after the other. Four rows of F at once
/// share what they read of z.
#[inline(always)]
fn triangle_square<I: Isa>(isa: I, triangle: &[f64], z: &[F64x8]) -> I::V {
    let mut square = isa.splat(0.0);
    let mut rest = triangle;
    let (fours, after) = z.as_chunks::<4>();
    for (number, four) in fours.iter().enumerate() {
        let before = &z[..4 * number];
        let (line0, after) = rest.split_at(before.len() + 1);
        let (line1, after) = after.split_at(before.len() + 2);
        let (line2, after) = after.split_at(before.len() + 3);
        let (line3, after) = after.split_at(before.len() + 4);
        rest = after;
        let (line0, end0) = line0.split_at(before.len());
        let (line1, end1) = line1.split_at(before.len());
        let (line2, end2) = line2.split_at(before.len());
        let (line3, end3) = line3.split_at(before.len());
        let zero = isa.splat(0.0);
        let (mut y0, mut y1, mut y2, mut y3) = (zero, zero, zero, zero);
        for column in 0..before.len() {
            let z = isa.load(&before[column]);
            y0 = isa.fma(isa.splat(line0[column]), z, y0);
            y1 = isa.fma(isa.splat(line1[column]), z, y1);
            y2 = isa.fma(isa.splat(line2[column]), z, y2);
            y3 = isa.fma(isa.splat(line3[column]), z, y3);
        }
        for y in [
            add_row(isa, end0, four, y0),
            add_row(isa, end1, four, y1),
            add_row(isa, end2, four, y2),
            add_row(isa, end3, four, y3),
        ] {
            square = isa.fma(y, y, square);
        }
    }
    for row in z.len() - after.len()..z.len() {
        let (line, after) = rest.split_at(row + 1);
        rest = after;
        let y = add_row(isa, line, z, isa.splat(0.0));
        square = isa.fma(y, y, square);
    }
    square
}

/// y plus one row of a matrix times z.
#[inline(always)]
fn add_row<I: Isa>(isa: I, row: &[f64], z: &[F64x8], mut y: I::V) -> I::V {
    for (factor, z) in row.iter().zip(z) {
        y = isa.fma(isa.splat(*factor), isa.load(z), y);
    }
    y
}

/// Terms become shares, times weights if `WEIGHTED`; adds up Σ w log₂ p.
#[inline(always)]
fn normalise<I: Isa, const WEIGHTED: bool>(
    isa: I,
    tiles: &Tiles,
    components: usize,
    scratch: &mut Scratch,
    ends: &mut F64x8,
) {
    let count = tiles.weights.len();
    scratch.logs.clear();
    let mut sum_logs = isa.load(ends);
    for (tile, weight) in tiles.weights.iter().enumerate() {
        let mut top = isa.load(&scratch.shares[tile]);
        for k in 1..components {
            top = isa.max(isa.load(&scratch.shares[k * count + tile]), top);
        }
        let mut sum = isa.splat(0.0);
        for k in 0..components {
            let at = k * count + tile;
            let term = exp2(isa, isa.sub(isa.load(&scratch.shares[at]), top));
            isa.store(term, &mut scratch.shares[at]);
            sum = isa.add(sum, term);
        }
        let mut lane = F64x8::default();
        isa.store(sum, &mut lane);
        let log = isa.add(top, isa.load(&log2(&lane)));
        let mut lane = F64x8::default();
        isa.store(log, &mut lane);
        scratch.logs.push(lane);
        let weight = isa.load(weight);
        // Of a row without weight, which may be anywhere, the logarithm may be infinite.
        let none = isa.equal(weight, isa.splat(0.0));
        let log = isa.select(none, isa.splat(0.0), log);
        sum_logs = isa.fma(weight, log, sum_logs);
        let part = if WEIGHTED { weight } else { isa.splat(1.0) };
        let factor = isa.div(part, sum);
        for k in 0..components {
            let at = k * count + tile;
            let share = isa.mul(isa.load(&scratch.shares[at]), factor);
            isa.store(share, &mut scratch.shares[at]);
        }
    }
    isa.store(sum_logs, ends);
}
