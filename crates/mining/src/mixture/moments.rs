//! The sums of one component over a block of rows.

use super::rows::{Scratch, Tiles};
use crate::lanes::{F64x8, Isa};

/// Tiles whose distances are held at a time, so that they stay in the nearest cache.
const HELD: usize = 8;

/// Σ w q, Σ w q z and Σ w q z zᵀ of one component.
#[inline(always)]
pub(super) fn moments<I: Isa>(
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
    for room in [&mut scratch.z, &mut scratch.weighted] {
        room.clear();
        room.resize(dim * HELD, F64x8::default());
    }
    let (mass, rest) = scratch.products.split_at_mut(1);
    let (first, second) = rest.split_at_mut(dim);
    let shares = &scratch.shares[k * count..][..count];
    for (shares, columns) in shares.chunks(HELD).zip(tiles.columns.chunks(dim * HELD)) {
        let mut held = 0;
        let mut total = isa.load(&mass[0]);
        for (share, columns) in shares.iter().zip(columns.chunks_exact(dim)) {
            let share = isa.load(share);
            if !isa.any(isa.less(isa.splat(0.0), share)) {
                continue;
            }
            total = isa.add(total, share);
            let z = &mut scratch.z[held * dim..][..dim];
            let weighted = &mut scratch.weighted[held * dim..][..dim];
            for row in 0..dim {
                let distance = isa.sub(isa.load(&columns[row]), isa.splat(mean[row]));
                let product = isa.mul(share, distance);
                isa.store(isa.add(isa.load(&first[row]), product), &mut first[row]);
                if triangle {
                    isa.store(distance, &mut z[row]);
                    isa.store(product, &mut weighted[row]);
                } else {
                    let sum = isa.load(&second[row]);
                    isa.store(isa.fma(product, distance, sum), &mut second[row]);
                }
            }
            held += 1;
        }
        isa.store(total, &mut mass[0]);
        if triangle {
            let distances = Distances {
                dim,
                z: &scratch.z[..held * dim],
                weighted: &scratch.weighted[..held * dim],
            };
            distances.add_triangle(isa, second);
        }
    }
}

/// Distances from a mean, and their products with the shares: tile after tile.
struct Distances<'a> {
    dim: usize,
    z: &'a [F64x8],
    weighted: &'a [F64x8],
}

impl Distances<'_> {
    /// Pairs of rows with pairs of columns, so that what is read is used twice.
    #[inline(always)]
    fn add_triangle<I: Isa>(&self, isa: I, sums: &mut [F64x8]) {
        let mut rest = sums;
        for row in (1..self.dim).step_by(2) {
            let (upper, after) = rest.split_at_mut(row);
            let (lower, after) = after.split_at_mut(row + 1);
            rest = after;
            let (upper, corner) = upper.split_at_mut(row - 1);
            let (lower, end) = lower.split_at_mut(row - 1);
            let (upper, lower) = (upper.as_chunks_mut::<2>().0, lower.as_chunks_mut::<2>().0);
            for (pair, ([a, b], [c, d])) in upper.iter_mut().zip(lower).enumerate() {
                let columns = [2 * pair, 2 * pair + 1];
                self.add(isa, [row - 1, row], columns, [[a, b], [c, d]]);
            }
            let ([a], [b, c]) = (corner, end) else {
                unreachable!("a triangle has as many columns as rows");
            };
            self.add(isa, [row - 1], [row - 1], [[a]]);
            self.add(isa, [row], [row - 1, row], [[b, c]]);
        }
        for (column, sum) in rest.iter_mut().enumerate() {
            self.add(isa, [self.dim - 1], [column], [[sum]]);
        }
    }

    /// Adds Σ w q z z, in the order of the tiles, to the sum of each of the rows and columns.
    #[inline(always)]
    fn add<I: Isa, const R: usize, const C: usize>(
        &self,
        isa: I,
        rows: [usize; R],
        columns: [usize; C],
        sums: [[&mut F64x8; C]; R],
    ) {
        let mut totals = [[isa.splat(0.0); C]; R];
        for r in 0..R {
            for c in 0..C {
                totals[r][c] = isa.load(sums[r][c]);
            }
        }
        let tiles = self.weighted.chunks_exact(self.dim);
        for (weighted, z) in tiles.zip(self.z.chunks_exact(self.dim)) {
            for r in 0..R {
                let value = isa.load(&weighted[rows[r]]);
                for c in 0..C {
                    totals[r][c] = isa.fma(value, isa.load(&z[columns[c]]), totals[r][c]);
                }
            }
        }
        for (sums, totals) in sums.into_iter().zip(&totals) {
            for (sum, total) in sums.into_iter().zip(totals) {
                isa.store(*total, sum);
            }
        }
    }
}
