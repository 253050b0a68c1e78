//! One block of rows: the shares of the components, then their sums. Eight rows in lanes.

use super::model::Factors;
use crate::lanes::{F64x8, Isa, LANES, NumericLoop, exp2, log2};

/// Rows of a block at most.
pub(super) const ROWS: usize = 512;

/// Rows of a block, eight side by side: for each eight, one lane per column.
#[derive(Debug)]
pub(super) struct Tiles {
    pub(super) dim: usize,
    /// Rows of a tile that are not there have weight 0.
    pub(super) weights: Vec<F64x8>,
    pub(super) columns: Vec<F64x8>,
}

impl Tiles {
    pub(super) fn new(dim: usize, rows: &[f64], weights: &[f64]) -> Tiles {
        let mut tiles = Tiles {
            dim,
            weights: Vec::new(),
            columns: Vec::new(),
        };
        for (number, (row, weight)) in rows.chunks_exact(dim).zip(weights).enumerate() {
            let lane = number % LANES;
            if lane == 0 {
                tiles.weights.push(F64x8::default());
                tiles
                    .columns
                    .resize(tiles.columns.len() + dim, F64x8::default());
            }
            let tile = tiles.weights.len() - 1;
            tiles.weights[tile][lane] = *weight;
            for (column, value) in tiles.columns[tile * dim..].iter_mut().zip(row) {
                column[lane] = *value;
            }
        }
        tiles
    }
}

/// The sums of a block: Σ w log₂ p, then per component Σ w q, Σ w q z and Σ w q z zᵀ (its lower
/// triangle, or its diagonal), z being the distance from `around`.
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

/// Room that is kept between blocks.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Per component and tile the terms, then the shares.
    shares: Vec<F64x8>,
    /// Per tile log₂ p of its rows.
    logs: Vec<F64x8>,
    products: Vec<F64x8>,
    z: Vec<F64x8>,
}

impl Scratch {
    /// The component with the largest share in a row, the first of equals.
    pub(super) fn largest(&self, components: usize, row: usize) -> usize {
        let count = self.logs.len();
        let share = |k: usize| self.shares[k * count + row / LANES][row % LANES];
        (1..components).fold(0, |best, k| if share(k) > share(best) { k } else { best })
    }
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
                let mut rest = inverse;
                for row in 1..=dim {
                    let (line, after) = rest.split_at(row);
                    rest = after;
                    let mut y = isa.splat(0.0);
                    for (factor, z) in line.iter().zip(&scratch.z) {
                        y = isa.fma(isa.splat(*factor), isa.load(z), y);
                    }
                    square = isa.fma(y, y, square);
                }
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

/// Σ w q, Σ w q z and Σ w q z zᵀ of one component.
#[inline(always)]
fn moments<I: Isa>(
    isa: I,
    tiles: &Tiles,
    mean: &[f64],
    k: usize,
    triangle: bool,
    scratch: &mut Scratch,
) {
    let (dim, count) = (tiles.dim, tiles.weights.len());
    let squares = if triangle { dim * (dim + 1) / 2 } else { dim };
    scratch.products.clear();
    scratch.products.resize(1 + dim + squares, F64x8::default());
    scratch.z.clear();
    scratch.z.resize(dim, F64x8::default());
    let (mass, rest) = scratch.products.split_at_mut(1);
    let (first, second) = rest.split_at_mut(dim);
    let zero = isa.splat(0.0);
    for tile in 0..count {
        let share = isa.load(&scratch.shares[k * count + tile]);
        if !isa.any(isa.less(zero, share)) {
            continue;
        }
        isa.store(isa.add(isa.load(&mass[0]), share), &mut mass[0]);
        let columns = &tiles.columns[tile * dim..][..dim];
        let mut after = &mut *second;
        for row in 0..dim {
            let z = isa.sub(isa.load(&columns[row]), isa.splat(mean[row]));
            isa.store(z, &mut scratch.z[row]);
            let weighted = isa.mul(share, z);
            isa.store(isa.add(isa.load(&first[row]), weighted), &mut first[row]);
            let length = if triangle { row + 1 } else { 1 };
            let others = if triangle { 0..=row } else { row..=row };
            let (line, rest) = after.split_at_mut(length);
            after = rest;
            for (sum, other) in line.iter_mut().zip(&scratch.z[others]) {
                isa.store(isa.fma(weighted, isa.load(other), isa.load(sum)), sum);
            }
        }
    }
}
