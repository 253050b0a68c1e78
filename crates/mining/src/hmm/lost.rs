//! Whether what the scaled numbers of a sequence have lost may count.
//!
//! A number that is next to 0 beside those of other states becomes 0, and no path through its state
//! is left. That changes nothing unless the sequence goes on from that state far better than from
//! the others. The backward numbers tell: times the forward number they are the share of the paths
//! through a state. Of a forward number that has lost digits no more is known than that it is below
//! [`LOST`]: what it lacks is below 1e-127, as no scale is below 1e-180.
//!
//! A backward number may become 0, too. Of a state that was lost it is therefore held above
//! [`LITTLE`], which adds shares of less than 1e-135.

use super::packed::{Packed, product};
use crate::lanes::{F64x8, Isa};

/// Forward numbers from here on have all their digits, also times a probability that is not faint.
pub(super) const WHOLE: f64 = 1e-240;

/// Forward numbers below this, after the division by the scale, may have lost digits.
const LOST: f64 = 1e-120;

/// With a backward number of more than this a lost state may count: of its share less than 1e-37
/// is lost with a smaller one.
const COUNTS: f64 = 1e90;

/// More than a backward number can lack.
const LITTLE: f64 = 1e-15;

/// Whether a state that was lost at some place may count for more than rounding. `possible` is
/// room.
#[inline(always)]
pub(super) fn may_count<I: Isa>(
    isa: I,
    packed: &Packed,
    (shown, forward): (&[F64x8], &[F64x8]),
    scales: &[f64],
    possible: &mut Vec<F64x8>,
) -> bool {
    let width = packed.width;
    find_possible(isa, packed, shown, possible);
    let mut beta = vec![F64x8::splat(1.0); width];
    let mut next = vec![F64x8::default(); width];
    for place in (0..scales.len()).rev() {
        let (from, to) = (place * width, (place + 1) * width);
        if let Some(scale) = scales.get(place + 1) {
            for ((next, shown), beta) in next.iter_mut().zip(&shown[to..]).zip(&beta) {
                let value = isa.mul(isa.load(shown), isa.load(beta));
                isa.store(isa.div(value, isa.splat(*scale)), next);
            }
            product(isa, width, &packed.columns, &next, &mut beta);
        }
        let states = forward[from..to].iter().zip(&possible[from..to]);
        for (beta, (alpha, possible)) in beta.iter_mut().zip(states) {
            let possible = isa.load(possible);
            let value = isa.mul(isa.load(beta), possible);
            let lost = isa.less(isa.load(alpha), isa.splat(LOST));
            let of_lost = isa.select(lost, value, isa.splat(0.0));
            if isa.any(isa.less(isa.splat(COUNTS), of_lost)) {
                return true;
            }
            let held = isa.max(value, isa.mul(possible, isa.splat(LITTLE)));
            isa.store(isa.select(lost, held, value), beta);
        }
    }
    false
}

/// In which states the chain can be at each place: 1, else 0.
#[inline(always)]
fn find_possible<I: Isa>(isa: I, packed: &Packed, shown: &[F64x8], possible: &mut Vec<F64x8>) {
    let width = packed.width;
    possible.clear();
    possible.resize(shown.len(), F64x8::default());
    let (zero, one) = (isa.splat(0.0), isa.splat(1.0));
    let mut next = packed.start.clone();
    for (place, shown) in shown.chunks_exact(width).enumerate() {
        let (before, now) = possible.split_at_mut(place * width);
        if place > 0 {
            let before = &before[(place - 1) * width..];
            product(isa, width, &packed.ways, before, &mut next);
        }
        for ((now, shown), next) in now.iter_mut().zip(shown).zip(&next) {
            let way = isa.select(isa.equal(isa.load(next), zero), zero, one);
            let never = isa.equal(isa.load(shown), isa.splat(packed.never));
            isa.store(isa.select(never, zero, way), now);
        }
    }
}
