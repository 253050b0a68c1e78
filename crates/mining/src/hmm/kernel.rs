//! One sequence forwards and backwards. Eight states in lanes.
//!
//! Of each place the largest density is taken out and its logarithm added up. Forward numbers are
//! divided by their sum where that has become small, and backward numbers by the same scale. This
//! is after Rabiner, who divides at each place, where a step would wait for the division.
//!
//! Where all numbers of a place are next to 0 the sequence may still be possible, and so may a
//! state whose number alone is: `lost.rs` finds whether that may count, and `in_logs.rs` helps.

use super::lost::{WHOLE, may_count};
use super::model::{Observations, Seen};
use super::packed::{Packed, Shown, product};
use crate::lanes::{F64x8, Isa, NumericLoop, exp2, log2_of};

/// Forward numbers whose sum is less than this are divided by it.
const SMALL: f64 = 1.0 / (1_u64 << 60) as f64;

/// With a sum of less than this, numbers beside the largest would have lost digits.
const LEAST: f64 = 1e-180;

/// Backward numbers are this at most; beyond all numbers, a forward number of 0 would make them
/// none.
const LARGEST: f64 = f64::MAX / 4.0;

/// Room that is kept between sequences.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Densities over the largest of the place; forward numbers; what lies between.
    shown: Vec<F64x8>,
    forward: Vec<F64x8>,
    scales: Vec<f64>,
    beta: Vec<F64x8>,
    next: Vec<F64x8>,
    gamma: Vec<F64x8>,
    /// In which states the chain can be, as 1 and 0; after a loss alone.
    possible: Vec<F64x8>,
    /// Σ over sequences of: γ at the first place; α bβ/c; Σ γ; what is shown. In lanes.
    pub(super) first: Vec<F64x8>,
    pub(super) steps: Vec<F64x8>,
    pub(super) visits: Vec<F64x8>,
    pub(super) sums: Vec<F64x8>,
    /// γ of all places, if wanted.
    pub(super) shares: Vec<f64>,
}

impl Scratch {
    /// Clears the sums.
    pub(super) fn begin(&mut self, packed: &Packed) {
        let clear = |lanes: &mut Vec<F64x8>, length: usize| {
            lanes.clear();
            lanes.resize(length, F64x8::default());
        };
        clear(&mut self.first, packed.width);
        clear(&mut self.steps, packed.width * packed.states);
        clear(&mut self.visits, packed.width);
        clear(&mut self.sums, packed.shown_lanes());
    }
}

/// What of a sequence is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// ln p alone.
    Score,
    /// γ of all places.
    Shares,
    /// The sums of a step.
    Sums,
}

/// log₂ p of one sequence; `None` where scaled numbers do not hold it.
pub(super) struct Pass<'a> {
    pub(super) packed: &'a Packed,
    pub(super) seen: &'a Observations,
    pub(super) sequence: usize,
    pub(super) want: Want,
    pub(super) scratch: &'a mut Scratch,
}

impl NumericLoop for Pass<'_> {
    type Output = Option<f64>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Option<f64> {
        let Pass {
            packed,
            seen,
            sequence,
            want,
            scratch,
        } = self;
        // With few states most of the time would go into loops over one or two lanes.
        let (mut total, lost) = match packed.width {
            1 if I::SPECIAL => forward(isa, (packed, 1), seen, sequence, scratch),
            2 if I::SPECIAL => forward(isa, (packed, 2), seen, sequence, scratch),
            width => forward(isa, (packed, width), seen, sequence, scratch),
        }?;
        if lost {
            let numbers = (&scratch.shown[..], &scratch.forward[..]);
            if may_count(isa, packed, numbers, &scratch.scales, &mut scratch.possible) {
                return None;
            }
        }
        for scale in scratch.scales.iter().filter(|scale| **scale != 1.0) {
            total += log2_of(*scale);
        }
        match (want, packed.width) {
            (Want::Score, _) => {}
            (_, 1) if I::SPECIAL => backward(isa, (packed, 1), seen, sequence, want, scratch),
            (_, 2) if I::SPECIAL => backward(isa, (packed, 2), seen, sequence, want, scratch),
            (_, width) => backward(isa, (packed, width), seen, sequence, want, scratch),
        }
        Some(total)
    }
}

/// Densities of a place over the largest; the log₂ of the largest.
#[inline(always)]
fn densities<I: Isa>(
    isa: I,
    (packed, width): (&Packed, usize),
    seen: &Observations,
    place: usize,
    shown: &mut [F64x8],
) -> f64 {
    match (&packed.shown, &seen.values) {
        (Shown::Table { densities, tops }, Seen::Symbols { values, .. }) => {
            let symbol = values[place] as usize;
            shown.copy_from_slice(&densities[symbol * width..][..width]);
            tops[symbol]
        }
        (
            Shown::Normal {
                dim,
                means,
                inverses,
                constants,
            },
            Seen::Numbers { values, .. },
        ) => {
            let row = &values[place * dim..][..*dim];
            let mut top = isa.splat(f64::MIN);
            for (w, (shown, constant)) in shown.iter_mut().zip(constants).enumerate() {
                let mut log = isa.load(constant);
                let columns = row.iter().zip(means.chunks_exact(width));
                for ((value, means), inverses) in columns.zip(inverses.chunks_exact(width)) {
                    let z = isa.sub(isa.splat(*value), isa.load(&means[w]));
                    log = isa.fma(isa.mul(z, z), isa.load(&inverses[w]), log);
                }
                isa.store(log, shown);
                top = isa.max(log, top);
            }
            let mut lane = F64x8::default();
            isa.store(top, &mut lane);
            let largest = lane.largest();
            for lane in shown {
                // The sixteenth root first: densities down to 2^-1022 of the largest count.
                let log = isa.sub(isa.load(lane), isa.splat(largest));
                let mut power = exp2(isa, isa.mul(log, isa.splat(1.0 / 16.0)));
                for _ in 0..4 {
                    power = isa.mul(power, power);
                }
                isa.store(power, lane);
            }
            largest
        }
        // The caller has compared the kinds.
        _ => 0.0,
    }
}

/// Densities, forward numbers and scales; the sum of the log₂ of the largest densities, and whether
/// a state may have been lost. `None`: the scale of a place is next to 0.
#[inline(always)]
fn forward<I: Isa>(
    isa: I,
    (packed, width): (&Packed, usize),
    seen: &Observations,
    sequence: usize,
    scratch: &mut Scratch,
) -> Option<(f64, bool)> {
    let range = seen.range(sequence);
    let places = range.len();
    for (lanes, count) in [
        (&mut scratch.shown, places),
        (&mut scratch.forward, places),
        (&mut scratch.next, 1),
    ] {
        lanes.resize(count * width, F64x8::default());
    }
    scratch.scales.clear();
    scratch.scales.resize(places, 1.0);
    let (shown, numbers) = (&mut scratch.shown[..], &mut scratch.forward[..]);
    let (scales, next) = (&mut scratch.scales[..], &mut scratch.next[..]);
    let (mut total, mut lost) = (0.0, packed.faint);
    for place in 0..places {
        let shown = &mut shown[place * width..][..width];
        total += densities(isa, (packed, width), seen, range.start + place, shown);
        let (before, now) = numbers.split_at_mut(place * width);
        let now = &mut now[..width];
        let before = match place {
            0 => &mut [],
            _ => &mut before[(place - 1) * width..],
        };
        let mut found = forward_at(isa, (packed, width), before, next, (shown, now));
        if found.0 < LEAST && place > 0 {
            // The numbers before were small already.
            scales[place - 1] *= divide(isa, before, sum_at(isa, before));
            found = forward_at(isa, (packed, width), before, next, (shown, now));
        }
        let sum = found.0;
        if sum < LEAST {
            return None;
        }
        lost |= found.1;
        // With the last scale the scales multiply to the probability of the sequence.
        if sum < SMALL || place + 1 == places {
            scales[place] *= divide(isa, now, sum);
        }
    }
    Some((total, lost))
}

/// The forward numbers of one place: their sum, and whether one of a state in which the chain can
/// be is next to 0. There are none before the first place.
#[inline(always)]
fn forward_at<I: Isa>(
    isa: I,
    (packed, width): (&Packed, usize),
    before: &[F64x8],
    next: &mut [F64x8],
    (shown, now): (&[F64x8], &mut [F64x8]),
) -> (f64, bool) {
    match before.is_empty() {
        true => next.copy_from_slice(&packed.start),
        false => product(isa, width, &packed.rows, before, next),
    }
    let (zero, one) = (isa.splat(0.0), isa.splat(1.0));
    let mut least = one;
    for ((now, shown), next) in now.iter_mut().zip(shown).zip(next) {
        let (shown, next) = (isa.load(shown), isa.load(next));
        let value = isa.mul(next, shown);
        isa.store(value, now);
        if !packed.mixes {
            // Without a way there, and for what the state never shows, 0 is right.
            let value = isa.select(isa.equal(next, zero), one, value);
            let never = isa.equal(shown, isa.splat(packed.never));
            least = isa.min(isa.select(never, one, value), least);
        }
    }
    let lost = !packed.mixes && isa.any(isa.less(least, isa.splat(WHOLE)));
    (sum_at(isa, now), lost)
}

#[inline(always)]
fn sum_at<I: Isa>(isa: I, lanes: &[F64x8]) -> f64 {
    let sums = lanes
        .iter()
        .fold(isa.splat(0.0), |sum, lane| isa.add(sum, isa.load(lane)));
    let mut lane = F64x8::default();
    isa.store(sums, &mut lane);
    lane.sum()
}

/// Divides the forward numbers of a place by a scale, which it gives back.
#[inline(always)]
fn divide<I: Isa>(isa: I, numbers: &mut [F64x8], scale: f64) -> f64 {
    for lane in numbers {
        isa.store(isa.div(isa.load(lane), isa.splat(scale)), lane);
    }
    scale
}

/// The backward numbers, and with them what is wanted.
#[inline(always)]
fn backward<I: Isa>(
    isa: I,
    (packed, width): (&Packed, usize),
    seen: &Observations,
    sequence: usize,
    want: Want,
    scratch: &mut Scratch,
) {
    let (states, range) = (packed.states, seen.range(sequence));
    let places = range.len();
    scratch.beta.clear();
    scratch.beta.resize(width, F64x8::splat(1.0));
    scratch.gamma.resize(width, F64x8::default());
    if want == Want::Shares {
        scratch.shares.clear();
        scratch.shares.resize(places * states, 0.0);
    }
    let (shown, numbers) = (&scratch.shown[..], &scratch.forward[..]);
    let (scales, next) = (&scratch.scales[..], &mut scratch.next[..width]);
    let (beta, gamma) = (&mut scratch.beta[..width], &mut scratch.gamma[..width]);
    let (steps, sums) = (&mut scratch.steps[..], &mut scratch.sums[..]);
    let (first, visits) = (&mut scratch.first[..], &mut scratch.visits[..]);
    for place in (0..places).rev() {
        let alphas = &numbers[place * width..][..width];
        if place + 1 < places {
            // b β / c of the next place, which is what a step there counts with.
            let scale = scales[place + 1];
            let shown = &shown[(place + 1) * width..][..width];
            for ((next, shown), beta) in next.iter_mut().zip(shown).zip(&*beta) {
                let mut value = isa.mul(isa.load(shown), isa.load(beta));
                if scale != 1.0 {
                    value = isa.div(value, isa.splat(scale));
                    value = isa.min(value, isa.splat(LARGEST));
                }
                isa.store(value, next);
            }
            if want == Want::Sums {
                add_steps(isa, width, alphas, next, steps);
            }
            product(isa, width, &packed.columns, next, beta);
            bound(isa, alphas, beta);
        }
        for ((gamma, alpha), beta) in gamma.iter_mut().zip(alphas).zip(&*beta) {
            isa.store(isa.mul(isa.load(alpha), isa.load(beta)), gamma);
        }
        if want == Want::Sums {
            add(isa, &mut visits[..width], gamma);
            if place == 0 {
                add(isa, &mut first[..width], gamma);
            }
            add_shown(isa, (packed, width), seen, range.start + place, gamma, sums);
        } else {
            let shares = gamma.iter().flat_map(|lane| &lane.0);
            let to = &mut scratch.shares[place * states..][..states];
            to.iter_mut()
                .zip(shares)
                .for_each(|(to, share)| *to = *share);
        }
    }
}

/// Takes out the backward numbers of states in which the chain cannot be. Nothing depends on them,
/// and they alone grow without bound: such a state may show the rest far better than all others.
#[inline(always)]
fn bound<I: Isa>(isa: I, alphas: &[F64x8], beta: &mut [F64x8]) {
    let zero = isa.splat(0.0);
    for (alpha, beta) in alphas.iter().zip(beta) {
        let value = isa.min(isa.load(beta), isa.splat(LARGEST));
        let nowhere = isa.equal(isa.load(alpha), zero);
        isa.store(isa.select(nowhere, zero, value), beta);
    }
}

#[inline(always)]
fn add<I: Isa>(isa: I, sums: &mut [F64x8], values: &[F64x8]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        isa.store(isa.add(isa.load(sum), isa.load(value)), sum);
    }
}

/// Adds α bβ/c for the steps from one place to the next.
#[inline(always)]
fn add_steps<I: Isa>(isa: I, width: usize, alphas: &[F64x8], next: &[F64x8], steps: &mut [F64x8]) {
    let alphas = alphas.iter().flat_map(|lane| &lane.0);
    for (alpha, sums) in alphas.zip(steps.chunks_exact_mut(width)) {
        let alpha = isa.splat(*alpha);
        for (sum, next) in sums.iter_mut().zip(next) {
            isa.store(isa.fma(alpha, isa.load(next), isa.load(sum)), sum);
        }
    }
}

/// Adds what one place shows, by γ.
#[inline(always)]
fn add_shown<I: Isa>(
    isa: I,
    (packed, width): (&Packed, usize),
    seen: &Observations,
    place: usize,
    gamma: &[F64x8],
    sums: &mut [F64x8],
) {
    match (&packed.shown, &seen.values) {
        (Shown::Table { .. }, Seen::Symbols { values, .. }) => {
            let sums = &mut sums[values[place] as usize * width..][..width];
            add(isa, sums, gamma);
        }
        (Shown::Normal { dim, means, .. }, Seen::Numbers { values, .. }) => {
            let row = &values[place * dim..][..*dim];
            let columns = row.iter().zip(means.chunks_exact(width));
            for ((value, means), sums) in columns.zip(sums.chunks_exact_mut(2 * width)) {
                let (firsts, squares) = sums.split_at_mut(width);
                let sums = firsts.iter_mut().zip(squares);
                for ((gamma, mean), (sum, square)) in gamma.iter().zip(means).zip(sums) {
                    let z = isa.sub(isa.splat(*value), isa.load(mean));
                    let first = isa.mul(isa.load(gamma), z);
                    isa.store(isa.add(isa.load(sum), first), sum);
                    isa.store(isa.fma(first, z, isa.load(square)), square);
                }
            }
        }
        // The caller has compared the kinds.
        _ => {}
    }
}
