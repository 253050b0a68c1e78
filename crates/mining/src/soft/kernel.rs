//! The soft kernels: one block of rows at a time, a tile at a time, eight rows in lanes.

use super::SoftModel;
use crate::lanes::{ColumnLoop, F64x8, FLUSH, Isa, LANES, exp2, log2, push_totals};
use crate::squares::squares;
use crate::tiles::{Column, GROUPS, Tiles};
use std::ops::Range;

/// Scratch space of one rank, kept between blocks.
#[derive(Debug, Default)]
pub(crate) struct SoftScratch {
    /// The centres that matter to the tile at hand, in ascending order.
    near: Vec<usize>,
    /// Upper bounds of the exponents of all centres in the tile.
    bounds: Vec<F64x8>,
    /// Per near centre the exponents, then the exponentials.
    terms: Vec<Column>,
    /// The sums of the block, per centre.
    sums: Vec<F64x8>,
    /// Σ w log₂ Z and Σ w max q of the block.
    ends: [F64x8; 2],
}

impl SoftScratch {
    /// Clears the sums for a block with `width` sums per centre.
    fn begin(&mut self, model: &SoftModel, width: usize) {
        self.sums.clear();
        self.sums.resize(model.len() * width, F64x8::default());
        self.terms.resize(model.len(), Column::default());
        self.ends = [F64x8::default(); 2];
    }
}

/// Σ w log₂ Z, Σ w max q, then per centre Σ w q and Σ w q x.
pub(super) struct Sums<'a> {
    pub(super) tiles: &'a Tiles,
    pub(super) range: Range<usize>,
    pub(super) model: &'a SoftModel,
    pub(super) scratch: &'a mut SoftScratch,
    /// Where they are put.
    pub(super) sums: &'a mut Vec<f64>,
}

impl ColumnLoop for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa, const D: usize>(self, isa: I) {
        let Sums {
            tiles,
            range,
            model,
            scratch,
            sums,
        } = self;
        let dim = if D == 0 { model.dim } else { D };
        scratch.begin(model, dim + 1);
        for tile in range {
            near::<I, D>(isa, tiles, tile, model, scratch);
            let tile = tiles.tile(tile);
            let share = assign::<I, D>(isa, tile, model, scratch);
            add_means::<I, D>(isa, tile, &share, dim, scratch);
        }
        sums.clear();
        sums.reserve(scratch.ends.len() + scratch.sums.len());
        push_totals(isa, &scratch.ends, sums);
        push_totals(isa, &scratch.sums, sums);
    }
}

/// Per centre Σ w q, then per direction Σ w q t (x - y) and Σ w q t⁴, t = (x - y)·v.
pub(super) struct Axes<'a> {
    pub(super) tiles: &'a Tiles,
    pub(super) range: Range<usize>,
    pub(super) model: &'a SoftModel,
    /// Centre after centre, as many for each.
    pub(super) directions: &'a [f64],
    pub(super) scratch: &'a mut SoftScratch,
    /// Where the sums are put.
    pub(super) sums: &'a mut Vec<f64>,
}

impl ColumnLoop for Axes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa, const D: usize>(self, isa: I) {
        let Axes {
            tiles,
            range,
            model,
            directions,
            scratch,
            sums,
        } = self;
        let dim = if D == 0 { model.dim } else { D };
        let axes = directions.len() / (model.len() * dim);
        scratch.begin(model, 1 + axes * (dim + 1));
        for tile in range {
            near::<I, D>(isa, tiles, tile, model, scratch);
            let tile = tiles.tile(tile);
            let share = assign::<I, D>(isa, tile, model, scratch);
            add_axes::<I, D>(isa, tile, &share, (model, directions), scratch);
        }
        sums.clear();
        push_totals(isa, &scratch.sums, sums);
    }
}

/// Lists the centres that may have a term that is not zero somewhere in the tile.
///
/// Some centre has the best exponent everywhere in the tile's box. A centre is left out if its
/// exponent at the nearest point of the box is below [`FLUSH`] against that one. Its terms are
/// exact zeros, so leaving it out changes no bit.
#[inline(always)]
fn near<I: Isa, const D: usize>(
    isa: I,
    tiles: &Tiles,
    tile: usize,
    model: &SoftModel,
    s: &mut SoftScratch,
) {
    s.near.clear();
    let Some((low, high)) = tiles.corners(tile) else {
        s.near.extend(0..model.len());
        return;
    };
    let dim = if D == 0 { model.dim } else { D };
    let (zero, cold) = (isa.splat(0.0), isa.splat(-model.inverse));
    let mut best = isa.splat(f64::NEG_INFINITY);
    s.bounds.clear();
    for group in model.groups.chunks_exact(dim + 1) {
        let (mut nearest, mut farthest) = (zero, zero);
        for j in 0..dim {
            let y = isa.load(&group[1 + j]);
            let (below, above) = (
                isa.sub(isa.splat(low[j]), y),
                isa.sub(y, isa.splat(high[j])),
            );
            let out = isa.max(isa.max(below, above), zero);
            nearest = isa.fma(out, out, nearest);
            let across = isa.min(below, above);
            farthest = isa.fma(across, across, farthest);
        }
        let weight = isa.load(&group[0]);
        let mut bound = F64x8::default();
        isa.store(isa.fma(cold, nearest, weight), &mut bound);
        s.bounds.push(bound);
        best = isa.max(best, isa.fma(cold, farthest, weight));
    }
    let mut lanes = F64x8::default();
    isa.store(best, &mut lanes);
    let best = lanes.largest();
    // The slack is far above the rounding of the bounds and of the exponents.
    let limit = best + FLUSH - 1e-9 * best.abs() - 1.0;
    for (group, bound) in s.bounds.iter().enumerate() {
        for lane in 0..LANES {
            if bound[lane] >= limit {
                s.near.push(group * LANES + lane);
            }
        }
    }
}

/// Fills `terms` with the terms of the near centres, relative to the greatest. It gives back per
/// row the weight over the sum of the terms: `terms × share` is then w q.
#[inline(always)]
fn assign<I: Isa, const D: usize>(
    isa: I,
    tile: &[Column],
    model: &SoftModel,
    s: &mut SoftScratch,
) -> [I::V; GROUPS] {
    let dim = if D == 0 { model.dim } else { D };
    let cold = isa.splat(-model.inverse);
    let mut top = [isa.splat(f64::NEG_INFINITY); GROUPS];
    if D == 0 {
        squares(
            isa,
            &tile[..dim],
            &model.centres,
            dim + 1,
            &s.near,
            &mut s.terms,
        );
    }
    for (terms, &k) in s.terms.iter_mut().zip(&s.near) {
        let (weight, centre) = model.centres[k * (dim + 1)..][..dim + 1].split_at(1);
        let mut square = [isa.splat(0.0); GROUPS];
        if D == 0 {
            for (square, term) in square.iter_mut().zip(terms.iter()) {
                *square = isa.load(term);
            }
        } else {
            for (column, &y) in tile[..dim].iter().zip(centre) {
                for (square, x) in square.iter_mut().zip(column) {
                    let apart = isa.sub(isa.load(x), isa.splat(y));
                    *square = isa.fma(apart, apart, *square);
                }
            }
        }
        for g in 0..GROUPS {
            let exponent = isa.fma(cold, square[g], isa.splat(weight[0]));
            top[g] = isa.max(top[g], exponent);
            isa.store(exponent, &mut terms[g]);
        }
    }
    let mut total = [isa.splat(0.0); GROUPS];
    for (terms, _) in s.terms.iter_mut().zip(&s.near) {
        for g in 0..GROUPS {
            let term = exp2(isa, isa.sub(isa.load(&terms[g]), top[g]));
            total[g] = isa.add(total[g], term);
            isa.store(term, &mut terms[g]);
        }
    }
    let mut share = [isa.splat(0.0); GROUPS];
    let [mut energy, mut firmness] = [isa.load(&s.ends[0]), isa.load(&s.ends[1])];
    for g in 0..GROUPS {
        let weight = isa.load(&tile[dim][g]);
        let mut lane = F64x8::default();
        isa.store(total[g], &mut lane);
        energy = isa.fma(weight, isa.add(top[g], isa.load(&log2(&lane))), energy);
        share[g] = isa.div(weight, total[g]);
        firmness = isa.add(firmness, share[g]);
    }
    isa.store(energy, &mut s.ends[0]);
    isa.store(firmness, &mut s.ends[1]);
    share
}

/// Adds `value` to a sum in memory.
#[inline(always)]
fn add_to<I: Isa>(isa: I, sum: &mut F64x8, value: I::V) {
    let old = isa.load(sum);
    isa.store(isa.add(old, value), sum);
}

/// Adds Σ w q and Σ w q x of a tile.
#[inline(always)]
fn add_means<I: Isa, const D: usize>(
    isa: I,
    tile: &[Column],
    share: &[I::V; GROUPS],
    dim: usize,
    s: &mut SoftScratch,
) {
    let dim = if D == 0 { dim } else { D };
    for (terms, &k) in s.terms.iter().zip(&s.near) {
        let sums = &mut s.sums[k * (dim + 1)..][..dim + 1];
        let mut part = [isa.splat(0.0); GROUPS];
        let mut mass = isa.splat(0.0);
        for g in 0..GROUPS {
            part[g] = isa.mul(isa.load(&terms[g]), share[g]);
            mass = isa.add(mass, part[g]);
        }
        add_to(isa, &mut sums[0], mass);
        for (sum, column) in sums[1..].iter_mut().zip(tile) {
            let mut moment = isa.splat(0.0);
            for (part, x) in part.iter().zip(column) {
                moment = isa.fma(*part, isa.load(x), moment);
            }
            add_to(isa, sum, moment);
        }
    }
}

#[inline(always)]
fn add_axes<I: Isa, const D: usize>(
    isa: I,
    tile: &[Column],
    share: &[I::V; GROUPS],
    (model, directions): (&SoftModel, &[f64]),
    s: &mut SoftScratch,
) {
    let dim = if D == 0 { model.dim } else { D };
    let axes = directions.len() / (model.len() * dim);
    let width = 1 + axes * (dim + 1);
    for (terms, &k) in s.terms.iter().zip(&s.near) {
        let (mass_sum, sums) = s.sums[k * width..][..width].split_at_mut(1);
        let centre = &model.centres[k * (dim + 1) + 1..][..dim];
        let mut part = [isa.splat(0.0); GROUPS];
        let mut mass = isa.splat(0.0);
        for g in 0..GROUPS {
            part[g] = isa.mul(isa.load(&terms[g]), share[g]);
            mass = isa.add(mass, part[g]);
        }
        add_to(isa, &mut mass_sum[0], mass);
        let directions = directions[k * axes * dim..].chunks_exact(dim);
        for (sums, direction) in sums.chunks_exact_mut(dim + 1).zip(directions) {
            let mut along = [isa.splat(0.0); GROUPS];
            for ((column, &y), &v) in tile.iter().zip(centre).zip(direction) {
                for g in 0..GROUPS {
                    let apart = isa.sub(isa.load(&column[g]), isa.splat(y));
                    along[g] = isa.fma(apart, isa.splat(v), along[g]);
                }
            }
            let mut fourth = isa.splat(0.0);
            for g in 0..GROUPS {
                let square = isa.mul(along[g], along[g]);
                fourth = isa.fma(isa.mul(part[g], square), square, fourth);
                along[g] = isa.mul(along[g], part[g]);
            }
            add_to(isa, &mut sums[dim], fourth);
            for ((sum, column), &y) in sums[..dim].iter_mut().zip(tile).zip(centre) {
                let mut moment = isa.splat(0.0);
                for g in 0..GROUPS {
                    let apart = isa.sub(isa.load(&column[g]), isa.splat(y));
                    moment = isa.fma(along[g], apart, moment);
                }
                add_to(isa, sum, moment);
            }
        }
    }
}
