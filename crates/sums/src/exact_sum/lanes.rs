//! A few columns at a time, as processors add up several numbers at once.

use super::Real;

/// Columns that are added up at a time: what is known of them stays in registers.
pub(super) const LANES: usize = 16;

pub(super) type Lanes = [f64; LANES];

/// A few of what is known of the columns, from this one on: nothing is known of what is zero.
#[inline(always)]
pub(super) fn part<const ALL: bool>(known: &[f64], begin: usize) -> Lanes {
    if known.is_empty() {
        return [0.0; LANES];
    }
    lanes::<f64, ALL>(known, begin)
}

/// A few numbers from this one on; not `ALL` are there behind the last one, where there are zeros.
#[inline(always)]
pub(super) fn lanes<T: Real, const ALL: bool>(row: &[T], begin: usize) -> Lanes {
    if !ALL {
        return last_lanes(&row[begin..]);
    }
    let row = row[begin..].first_chunk::<LANES>();
    let row = row.expect("all are there");
    let mut lanes = [0.0; LANES];
    for i in 0..LANES {
        lanes[i] = row[i].widened();
    }
    lanes
}

/// Apart, so that the others stay in registers.
#[cold]
#[inline(never)]
fn last_lanes<T: Real>(row: &[T]) -> Lanes {
    let mut lanes = [0.0; LANES];
    for (lane, number) in lanes.iter_mut().zip(row) {
        *lane = number.widened();
    }
    lanes
}

/// Writes these numbers, or as many as there is room for.
#[inline(always)]
pub(super) fn lay<T: Real, const ALL: bool>(numbers: &Lanes, room: &mut [T]) {
    if ALL {
        let room = room.first_chunk_mut::<LANES>();
        let room = room.expect("there is room for all");
        for i in 0..LANES {
            room[i] = T::narrowed(numbers[i]);
        }
    } else {
        for (to, number) in room.iter_mut().zip(numbers) {
            *to = T::narrowed(*number);
        }
    }
}

/// The sum and its error: together they are exact (Knuth). Where the sum overflows the error is
/// none, or a NaN.
#[inline(always)]
pub(super) fn two_sum(one: f64, other: f64) -> (f64, f64) {
    let sum = one + other;
    let part = sum - one;
    (sum, (one - (sum - part)) + (other - part))
}
