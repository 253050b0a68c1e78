//! The hard kernels: one block of rows at a time, a tile at a time, eight rows in lanes.

use super::{Centres, Labelled};
use crate::lanes::{ColumnLoop, F64x8, Isa, LANES, push_totals};
use crate::squares::squares;
use crate::tiles::{Column, GROUPS, TILE, Tiles};
use std::ops::Range;

/// Scratch space of one rank, kept between blocks.
#[derive(Debug, Default)]
pub(crate) struct HardScratch {
    /// The centres that may be nearest (or second) somewhere in the tile, in ascending order.
    near: Vec<usize>,
    /// Least and greatest squared distance to the tile's box, of all centres.
    bounds: Vec<[F64x8; 2]>,
    /// Squared distances from the near centres.
    terms: Vec<Column>,
    /// The sums of the block, per centre.
    sums: Vec<F64x8>,
}

/// The nearest centre of every row of a tile.
struct Nearest<V> {
    /// Its number, as a floating-point number.
    number: [V; GROUPS],
    square: [V; GROUPS],
    /// The squared distance of the second nearest.
    second: [V; GROUPS],
}

/// Per centre Σ w, Σ w |x - y|², Σ w (second - |x - y|²) if `SECOND`, Σ w x.
pub(super) struct Sums<'a, const SECOND: bool> {
    pub(super) tiles: &'a Tiles,
    pub(super) range: Range<usize>,
    pub(super) centres: &'a Centres<'a>,
    pub(super) scratch: &'a mut HardScratch,
    /// Where they are put.
    pub(super) sums: &'a mut Vec<f64>,
}

impl<const SECOND: bool> ColumnLoop for Sums<'_, SECOND> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa, const D: usize>(self, isa: I) {
        let Sums {
            tiles,
            range,
            centres,
            scratch,
            sums,
        } = self;
        let dim = if D == 0 { centres.dim } else { D };
        scratch.sums.clear();
        scratch
            .sums
            .resize(centres.len() * (3 + dim), F64x8::default());
        for tile in range {
            near::<I, D, SECOND>(isa, tiles, tile, centres, scratch);
            let tile = tiles.tile(tile);
            let nearest = nearest::<I, D, SECOND>(isa, tile, centres, scratch);
            add::<I, D, SECOND>(isa, tile, &nearest, dim, scratch);
        }
        sums.clear();
        push_totals(isa, &scratch.sums, sums);
    }
}

/// The nearest centre of every row that is not padding, and its squared distance; with `SECOND`
/// also that of the second nearest.
pub(super) struct Labels<'a, const SECOND: bool> {
    pub(super) tiles: &'a Tiles,
    pub(super) range: Range<usize>,
    pub(super) centres: &'a Centres<'a>,
    pub(super) scratch: &'a mut HardScratch,
}

impl<const SECOND: bool> ColumnLoop for Labels<'_, SECOND> {
    type Output = Labelled;

    #[inline(always)]
    fn run<I: Isa, const D: usize>(self, isa: I) -> Labelled {
        let Labels {
            tiles,
            range,
            centres,
            scratch,
        } = self;
        let rows = tiles
            .rows()
            .min(range.end * TILE)
            .saturating_sub(range.start * TILE);
        let mut out = Labelled::default();
        for tile in range {
            near::<I, D, SECOND>(isa, tiles, tile, centres, scratch);
            let found = nearest::<I, D, SECOND>(isa, tiles.tile(tile), centres, scratch);
            for g in 0..GROUPS {
                let mut lane = F64x8::default();
                isa.store(found.number[g], &mut lane);
                out.labels.extend(lane.iter().map(|&number| number as u32));
                isa.store(found.square[g], &mut lane);
                out.squares.extend_from_slice(&*lane);
                if SECOND {
                    isa.store(found.second[g], &mut lane);
                    out.seconds.extend_from_slice(&*lane);
                }
            }
        }
        out.labels.truncate(rows);
        out.squares.truncate(rows);
        out.seconds.truncate(rows);
        out
    }
}

/// Lists the centres that may be nearest somewhere in the tile (with `SECOND`: or second).
///
/// Left out is a centre that is farther at the nearest point of the tile's box than another at the
/// farthest. With `SECOND` there must be two others.
#[inline(always)]
fn near<I: Isa, const D: usize, const SECOND: bool>(
    isa: I,
    tiles: &Tiles,
    tile: usize,
    centres: &Centres<'_>,
    s: &mut HardScratch,
) {
    s.near.clear();
    let Some((low, high)) = tiles.corners(tile) else {
        s.near.extend(0..centres.len());
        return;
    };
    let dim = if D == 0 { centres.dim } else { D };
    let zero = isa.splat(0.0);
    s.bounds.clear();
    let infinite = isa.splat(f64::INFINITY);
    let (mut first, mut second) = (infinite, infinite);
    for group in centres.groups.chunks_exact(dim) {
        let (mut nearest, mut farthest) = (zero, zero);
        for j in 0..dim {
            let y = isa.load(&group[j]);
            let (below, above) = (
                isa.sub(isa.splat(low[j]), y),
                isa.sub(y, isa.splat(high[j])),
            );
            let out = isa.max(isa.max(below, above), zero);
            nearest = isa.fma(out, out, nearest);
            let across = isa.min(below, above);
            farthest = isa.fma(across, across, farthest);
        }
        let mut bounds = [F64x8::default(); 2];
        isa.store(nearest, &mut bounds[0]);
        isa.store(farthest, &mut bounds[1]);
        s.bounds.push(bounds);
        second = isa.min(second, isa.max(first, farthest));
        first = isa.min(first, farthest);
    }
    let (mut firsts, mut seconds) = (F64x8::default(), F64x8::default());
    isa.store(first, &mut firsts);
    isa.store(second, &mut seconds);
    let (mut best, mut next) = (f64::INFINITY, f64::INFINITY);
    for bound in firsts.iter().chain(seconds.iter()).copied() {
        next = if bound < best {
            best
        } else if bound < next {
            bound
        } else {
            next
        };
        best = if bound < best { bound } else { best };
    }
    // The slack is far above the rounding of the bounds and of the distances.
    let limit = if SECOND { next } else { best } * (1.0 + 1e-9);
    for (group, bounds) in s.bounds.iter().enumerate() {
        for (lane, &nearest) in bounds[0].iter().enumerate() {
            if nearest <= limit && group * LANES + lane < centres.len() {
                s.near.push(group * LANES + lane);
            }
        }
    }
}

#[inline(always)]
fn nearest<I: Isa, const D: usize, const SECOND: bool>(
    isa: I,
    tile: &[Column],
    centres: &Centres<'_>,
    s: &mut HardScratch,
) -> Nearest<I::V> {
    let dim = if D == 0 { centres.dim } else { D };
    let infinite = isa.splat(f64::INFINITY);
    let mut found = Nearest {
        number: [isa.splat(0.0); GROUPS],
        square: [infinite; GROUPS],
        second: [infinite; GROUPS],
    };
    if D == 0 {
        s.terms.resize(centres.len(), Column::default());
        squares(isa, &tile[..dim], centres.rows, dim, &s.near, &mut s.terms);
    }
    for (i, &k) in s.near.iter().enumerate() {
        let mut square = [isa.splat(0.0); GROUPS];
        if D == 0 {
            for (square, term) in square.iter_mut().zip(&s.terms[i]) {
                *square = isa.load(term);
            }
        } else {
            for (column, &y) in tile[..dim].iter().zip(&centres.rows[k * dim..][..dim]) {
                for (square, x) in square.iter_mut().zip(column) {
                    let apart = isa.sub(isa.load(x), isa.splat(y));
                    *square = isa.fma(apart, apart, *square);
                }
            }
        }
        let number = isa.splat(k as f64);
        for (g, &square) in square.iter().enumerate() {
            let closer = isa.less(square, found.square[g]);
            if SECOND {
                found.second[g] = isa.min(found.second[g], isa.max(square, found.square[g]));
            }
            found.square[g] = isa.min(square, found.square[g]);
            found.number[g] = isa.select(closer, number, found.number[g]);
        }
    }
    found
}

/// Adds the rows of a tile to the sums of their centres.
#[inline(always)]
fn add<I: Isa, const D: usize, const SECOND: bool>(
    isa: I,
    tile: &[Column],
    found: &Nearest<I::V>,
    dim: usize,
    s: &mut HardScratch,
) {
    let dim = if D == 0 { dim } else { D };
    let zero = isa.splat(0.0);
    for &k in &s.near {
        let number = isa.splat(k as f64);
        let sums = &mut s.sums[k * (3 + dim)..][..3 + dim];
        let mut part = [zero; GROUPS];
        let (mut mass, mut square, mut loss) = (zero, zero, zero);
        let mut groups = [0; GROUPS];
        let mut some = 0;
        for g in 0..GROUPS {
            let mine = isa.equal(number, found.number[g]);
            groups[some] = g;
            some += usize::from(isa.any(mine));
            part[g] = isa.select(mine, isa.load(&tile[dim][g]), zero);
            mass = isa.add(mass, part[g]);
            square = isa.fma(part[g], found.square[g], square);
            if SECOND {
                loss = isa.fma(part[g], isa.sub(found.second[g], found.square[g]), loss);
            }
        }
        if some == 0 {
            continue;
        }
        for (sum, value) in sums.iter_mut().zip([mass, square, loss]) {
            let old = isa.load(sum);
            isa.store(isa.add(old, value), sum);
        }
        for (sum, column) in sums[3..].iter_mut().zip(tile) {
            let mut moment = zero;
            if D == 0 {
                // Most groups have no row of most centres, and zeros change no sum.
                for &g in &groups[..some] {
                    moment = isa.fma(part[g], isa.load(&column[g]), moment);
                }
            } else {
                for (part, x) in part.iter().zip(column) {
                    moment = isa.fma(*part, isa.load(x), moment);
                }
            }
            let old = isa.load(sum);
            isa.store(isa.add(old, moment), sum);
        }
    }
}
