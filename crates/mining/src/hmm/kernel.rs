//! One sequence forwards and backwards. Eight states in lanes.
//!
//! Of each place the largest density is taken out and its logarithm added up. Forward numbers are
//! divided by their sum where that has become small, and backward numbers by the same scale: after
//! Rabiner, who divides at each place, where a step would wait for the division.

use super::model::{Observations, Seen};
use super::packed::{Packed, Shown};
use crate::lanes::{Isa, LANES, Lane, Task, exp2, log2_of};

/// Forward numbers whose sum is less than this are divided by it.
const SMALL: f64 = 1.0 / (1_u64 << 60) as f64;

/// Room that is kept between sequences.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Densities over the largest of the place; forward numbers; what lies between.
    shown: Vec<Lane>,
    forward: Vec<Lane>,
    scales: Vec<f64>,
    beta: Vec<Lane>,
    next: Vec<Lane>,
    gamma: Vec<Lane>,
    /// Σ over sequences of: γ at the first place; α bβ/c; Σ γ; what is shown. In lanes.
    pub(super) first: Vec<Lane>,
    pub(super) steps: Vec<Lane>,
    pub(super) visits: Vec<Lane>,
    pub(super) sums: Vec<Lane>,
    /// γ of all places, if wanted.
    pub(super) shares: Vec<f64>,
}

impl Scratch {
    /// Clears the sums.
    pub(super) fn begin(&mut self, packed: &Packed) {
        let clear = |lanes: &mut Vec<Lane>, length: usize| {
            lanes.clear();
            lanes.resize(length, Lane::default());
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

/// log₂ p of one sequence; the place at which it is impossible otherwise.
pub(super) struct Pass<'a> {
    pub(super) packed: &'a Packed,
    pub(super) seen: &'a Observations,
    pub(super) sequence: usize,
    pub(super) want: Want,
    pub(super) scratch: &'a mut Scratch,
}

impl Task for Pass<'_> {
    type Output = Result<f64, usize>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Result<f64, usize> {
        let Pass {
            packed,
            seen,
            sequence,
            want,
            scratch,
        } = self;
        let places = seen.places(sequence);
        let mut total = densities(isa, packed, seen, sequence, scratch);
        forward(isa, packed, places, scratch)?;
        for scale in scratch.scales.iter().filter(|scale| **scale != 1.0) {
            total += log2_of(*scale);
        }
        if want != Want::Score {
            backward(isa, packed, seen, sequence, want, scratch);
        }
        Ok(total)
    }
}

/// Densities of all places over the largest; the sum of the log₂ of the largest.
#[inline(always)]
fn densities<I: Isa>(
    isa: I,
    packed: &Packed,
    seen: &Observations,
    sequence: usize,
    scratch: &mut Scratch,
) -> f64 {
    let (width, range) = (packed.width, seen.range(sequence));
    scratch.shown.clear();
    let mut total = 0.0;
    match (&packed.shown, &seen.values) {
        (Shown::Table { densities, tops }, Seen::Symbols { values, .. }) => {
            for symbol in &values[range] {
                let symbol = *symbol as usize;
                scratch.shown.extend(&densities[symbol * width..][..width]);
                total += tops[symbol];
            }
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
            for row in values[range.start * dim..range.end * dim].chunks_exact(*dim) {
                let at = scratch.shown.len();
                let mut top = isa.splat(f64::MIN);
                for w in 0..width {
                    let mut log = isa.load(&constants[w]);
                    for (column, value) in row.iter().enumerate() {
                        let mean = isa.load(&means[column * width + w]);
                        let z = isa.sub(isa.splat(*value), mean);
                        let inverse = isa.load(&inverses[column * width + w]);
                        log = isa.fma(isa.mul(z, z), inverse, log);
                    }
                    let mut lane = Lane::default();
                    isa.store(log, &mut lane);
                    scratch.shown.push(lane);
                    top = isa.max(log, top);
                }
                let mut lane = Lane::default();
                isa.store(top, &mut lane);
                let largest = lane.iter().copied().fold(f64::MIN, f64::max);
                total += largest;
                for lane in &mut scratch.shown[at..] {
                    // The sixteenth root first: densities down to 2^-1022 of the largest count.
                    let log = isa.sub(isa.load(lane), isa.splat(largest));
                    let mut power = exp2(isa, isa.mul(log, isa.splat(1.0 / 16.0)));
                    for _ in 0..4 {
                        power = isa.mul(power, power);
                    }
                    isa.store(power, lane);
                }
            }
        }
        // The caller has compared the kinds.
        _ => {}
    }
    total
}

/// The forward numbers and the scales; fails with the place whose scale is 0.
#[inline(always)]
fn forward<I: Isa>(
    isa: I,
    packed: &Packed,
    places: usize,
    scratch: &mut Scratch,
) -> Result<(), usize> {
    let width = packed.width;
    scratch.forward.clear();
    scratch.forward.resize(places * width, Lane::default());
    scratch.scales.clear();
    scratch.scales.resize(places, 1.0);
    scratch.next.clear();
    scratch.next.resize(width, Lane::default());
    for place in 0..places {
        let mut sum = forward_at(isa, packed, place, scratch);
        if sum < f64::MIN_POSITIVE && place > 0 {
            // The numbers before were small already.
            let before = sum_at(isa, &scratch.forward[(place - 1) * width..][..width]);
            divide(isa, place - 1, width, before, scratch);
            sum = forward_at(isa, packed, place, scratch);
        }
        if sum < f64::MIN_POSITIVE {
            return Err(place);
        }
        // With the last scale the scales multiply to the probability of the sequence.
        if sum < SMALL || place + 1 == places {
            divide(isa, place, width, sum, scratch);
        }
    }
    Ok(())
}

/// The forward numbers of one place, and their sum.
#[inline(always)]
fn forward_at<I: Isa>(isa: I, packed: &Packed, place: usize, scratch: &mut Scratch) -> f64 {
    let width = packed.width;
    let (before, now) = scratch.forward.split_at_mut(place * width);
    if place == 0 {
        scratch.next.copy_from_slice(&packed.start);
    } else {
        let before = &before[(place - 1) * width..];
        product(isa, &packed.rows, before, packed.states, &mut scratch.next);
    }
    let shown = &scratch.shown[place * width..][..width];
    for ((now, shown), next) in now.iter_mut().zip(shown).zip(&scratch.next) {
        isa.store(isa.mul(isa.load(next), isa.load(shown)), now);
    }
    sum_at(isa, &now[..width])
}

#[inline(always)]
fn sum_at<I: Isa>(isa: I, lanes: &[Lane]) -> f64 {
    let sums = lanes
        .iter()
        .fold(isa.splat(0.0), |sum, lane| isa.add(sum, isa.load(lane)));
    let mut lane = Lane::default();
    isa.store(sums, &mut lane);
    lane.sum()
}

/// Divides the forward numbers of a place by a scale, which is kept.
#[inline(always)]
fn divide<I: Isa>(isa: I, place: usize, width: usize, scale: f64, scratch: &mut Scratch) {
    scratch.scales[place] *= scale;
    for lane in &mut scratch.forward[place * width..][..width] {
        isa.store(isa.div(isa.load(lane), isa.splat(scale)), lane);
    }
}

/// The vector times the matrix whose rows are given.
#[inline(always)]
fn product<I: Isa>(isa: I, rows: &[Lane], vector: &[Lane], states: usize, out: &mut [Lane]) {
    let width = out.len();
    for (w, out) in out.iter_mut().enumerate() {
        // Two sums: a fused product waits for the one before.
        let mut sums = [isa.splat(0.0); 2];
        for state in 0..states {
            let factor = isa.splat(vector[state / LANES][state % LANES]);
            let row = isa.load(&rows[state * width + w]);
            sums[state % 2] = isa.fma(factor, row, sums[state % 2]);
        }
        isa.store(isa.add(sums[0], sums[1]), out);
    }
}

/// The backward numbers, and with them what is wanted.
#[inline(always)]
fn backward<I: Isa>(
    isa: I,
    packed: &Packed,
    seen: &Observations,
    sequence: usize,
    want: Want,
    scratch: &mut Scratch,
) {
    let (width, states, places) = (packed.width, packed.states, seen.places(sequence));
    scratch.beta.clear();
    scratch.beta.resize(width, Lane::splat(1.0));
    scratch.gamma.clear();
    scratch.gamma.resize(width, Lane::default());
    if want == Want::Shares {
        scratch.shares.clear();
        scratch.shares.resize(places * states, 0.0);
    }
    for place in (0..places).rev() {
        if place + 1 < places {
            // b β / c of the next place, which is what a step there counts with.
            let scale = scratch.scales[place + 1];
            for w in 0..width {
                let shown = isa.load(&scratch.shown[(place + 1) * width + w]);
                let mut value = isa.mul(shown, isa.load(&scratch.beta[w]));
                if scale != 1.0 {
                    value = isa.div(value, isa.splat(scale));
                }
                isa.store(value, &mut scratch.next[w]);
            }
            if want == Want::Sums {
                add_steps(isa, packed, place, scratch);
            }
            product(
                isa,
                &packed.columns,
                &scratch.next,
                states,
                &mut scratch.beta,
            );
        }
        for w in 0..width {
            let alpha = isa.load(&scratch.forward[place * width + w]);
            let gamma = isa.mul(alpha, isa.load(&scratch.beta[w]));
            isa.store(gamma, &mut scratch.gamma[w]);
            if want == Want::Sums {
                let sum = &mut scratch.visits[w];
                isa.store(isa.add(isa.load(sum), gamma), sum);
                if place == 0 {
                    let sum = &mut scratch.first[w];
                    isa.store(isa.add(isa.load(sum), gamma), sum);
                }
            }
        }
        match want {
            Want::Shares => {
                for state in 0..states {
                    let share = scratch.gamma[state / LANES][state % LANES];
                    scratch.shares[place * states + state] = share;
                }
            }
            _ => add_shown(
                isa,
                packed,
                seen,
                seen.range(sequence).start + place,
                scratch,
            ),
        }
    }
}

/// Adds α bβ/c for the steps from one place to the next.
#[inline(always)]
fn add_steps<I: Isa>(isa: I, packed: &Packed, place: usize, scratch: &mut Scratch) {
    let width = packed.width;
    for state in 0..packed.states {
        let alpha = scratch.forward[place * width + state / LANES][state % LANES];
        let alpha = isa.splat(alpha);
        let sums = &mut scratch.steps[state * width..][..width];
        for (sum, next) in sums.iter_mut().zip(&scratch.next) {
            isa.store(isa.fma(alpha, isa.load(next), isa.load(sum)), sum);
        }
    }
}

/// Adds what one place shows, by γ.
#[inline(always)]
fn add_shown<I: Isa>(
    isa: I,
    packed: &Packed,
    seen: &Observations,
    place: usize,
    scratch: &mut Scratch,
) {
    let width = packed.width;
    match (&packed.shown, &seen.values) {
        (Shown::Table { .. }, Seen::Symbols { values, .. }) => {
            let sums = &mut scratch.sums[values[place] as usize * width..][..width];
            for (sum, gamma) in sums.iter_mut().zip(&scratch.gamma) {
                isa.store(isa.add(isa.load(sum), isa.load(gamma)), sum);
            }
        }
        (Shown::Normal { dim, means, .. }, Seen::Numbers { values, .. }) => {
            let row = &values[place * dim..][..*dim];
            for (column, value) in row.iter().enumerate() {
                for w in 0..width {
                    let gamma = isa.load(&scratch.gamma[w]);
                    let mean = isa.load(&means[column * width + w]);
                    let z = isa.sub(isa.splat(*value), mean);
                    let first = isa.mul(gamma, z);
                    let sum = &mut scratch.sums[2 * column * width + w];
                    isa.store(isa.add(isa.load(sum), first), sum);
                    let sum = &mut scratch.sums[(2 * column + 1) * width + w];
                    isa.store(isa.fma(first, z, isa.load(sum)), sum);
                }
            }
        }
        // The caller has compared the kinds.
        _ => {}
    }
}
