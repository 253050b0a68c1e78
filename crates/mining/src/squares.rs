//! Squared distances in many columns, blocked for registers.
//!
//! With up to four columns a tile stays in registers and the kernels do without this file. With
//! many, every coordinate that is loaded should serve several centres. Each number still comes out
//! of the same operations in the same order as without blocking.

use crate::lanes::Isa;
use crate::tiles::{Column, GROUPS};

/// Centres that share a load.
const CENTRES: usize = 4;
/// Lane groups that share a load.
const WIDTH: usize = 4;

/// Squared distances of the rows of a tile from some centres: one column of `out` per entry of
/// `near`. `centres` holds `stride` numbers per centre, of which the last are its coordinates.
#[inline(always)]
pub(crate) fn squares<I: Isa>(
    isa: I,
    coordinates: &[Column],
    centres: &[f64],
    stride: usize,
    near: &[usize],
    out: &mut [Column],
) {
    let row = |k: usize| &centres[(k + 1) * stride - coordinates.len()..(k + 1) * stride];
    let rest = near.len() / CENTRES * CENTRES;
    // A few groups of the tile stay in the first cache while all centres pass by.
    for first in (0..GROUPS).step_by(WIDTH) {
        let chunks = near[..rest].chunks_exact(CENTRES);
        for (four, out) in chunks.zip(out.chunks_exact_mut(CENTRES)) {
            let rows = [row(four[0]), row(four[1]), row(four[2]), row(four[3])];
            block::<I, CENTRES>(isa, coordinates, first, rows, out);
        }
        for (&k, out) in near[rest..].iter().zip(&mut out[rest..]) {
            block::<I, 1>(isa, coordinates, first, [row(k)], std::slice::from_mut(out));
        }
    }
}

#[inline(always)]
fn block<I: Isa, const N: usize>(
    isa: I,
    coordinates: &[Column],
    first: usize,
    rows: [&[f64]; N],
    out: &mut [Column],
) {
    // The same length as the loop, so that it has no bounds to check.
    let rows = rows.map(|row| &row[..coordinates.len()]);
    let mut sums = [[isa.splat(0.0); WIDTH]; N];
    for (j, column) in coordinates.iter().enumerate() {
        let x: [I::V; WIDTH] = std::array::from_fn(|w| isa.load(&column[first + w]));
        for (sums, row) in sums.iter_mut().zip(rows) {
            let y = isa.splat(row[j]);
            for (sum, x) in sums.iter_mut().zip(x) {
                let apart = isa.sub(x, y);
                *sum = isa.fma(apart, apart, *sum);
            }
        }
    }
    for (sums, out) in sums.iter().zip(out) {
        for (w, sum) in sums.iter().enumerate() {
            isa.store(*sum, &mut out[first + w]);
        }
    }
}
