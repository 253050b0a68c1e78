//! One sequence by the [kernel](super::kernel); in log space where scaled numbers do not hold it.
//!
//! A state far from what is seen has a density of 0 beside the nearest one. Where the chain can be
//! in no nearer state the sequence only seems impossible; where the best path leads through the
//! state it would be missed. This takes many times as long.

use super::kernel::{Pass, Scratch, Want};
use super::model::{Observations, Seen};
use super::packed::{Packed, Shown, log2_or_none};
use crate::lanes::{F64x8, Instructions, LANES, exp2_of, log2_of, run};
use std::ops::Range;

/// Shares over probabilities are this at most: their sum over all places is a number. A step that
/// was too improbable counts too little once, becomes more probable, and counts as it should then.
const LARGEST: f64 = 1e290;

/// log₂ of what is between two places, and of what is seen at each place.
struct Logs {
    states: usize,
    /// Row after row.
    steps: Vec<f64>,
    /// Place after place.
    shown: Vec<f64>,
    /// Forward numbers, place after place.
    alphas: Vec<f64>,
}

/// log₂ p of one sequence; the place at which it is impossible otherwise.
pub(super) fn passed(instructions: Instructions, pass: Pass<'_>) -> Result<f64, usize> {
    let Pass {
        packed,
        seen,
        sequence,
        want,
        scratch,
    } = pass;
    let scaled = Pass {
        packed,
        seen,
        sequence,
        want,
        scratch: &mut *scratch,
    };
    match run(instructions, scaled) {
        Some(log) => Ok(log),
        None => in_logs(packed, seen, sequence, want, scratch),
    }
}

/// As the kernel: what is wanted goes into `scratch`.
#[cold]
fn in_logs(
    packed: &Packed,
    seen: &Observations,
    sequence: usize,
    want: Want,
    scratch: &mut Scratch,
) -> Result<f64, usize> {
    let places = seen.range(sequence);
    let logs = Logs::new(packed, seen, places.clone())?;
    let total = log2_sum(
        logs.alphas[logs.alphas.len() - logs.states..]
            .iter()
            .copied(),
    );
    if want == Want::Score {
        return Ok(total);
    }
    let states = logs.states;
    if want == Want::Shares {
        scratch.shares.clear();
    }
    let (mut betas, mut next) = (vec![0.0; states], vec![0.0; states]);
    for (number, place) in places.enumerate().rev() {
        let alphas = &logs.alphas[number * states..][..states];
        if let Some(shown) = logs.shown.get((number + 1) * states..(number + 2) * states) {
            for ((next, shown), beta) in next.iter_mut().zip(shown).zip(&betas) {
                *next = shown + beta;
            }
            for (beta, row) in betas.iter_mut().zip(logs.steps.chunks_exact(states)) {
                *beta = log2_sum(row.iter().zip(&next).map(|(step, next)| step + next));
            }
            if want == Want::Sums {
                add_steps(packed, &logs, (alphas, &next), total, &mut scratch.steps);
            }
        }
        let gamma: Vec<f64> = alphas
            .iter()
            .zip(&betas)
            .map(|(alpha, beta)| power(alpha + beta - total))
            .collect();
        if want == Want::Shares {
            // From the last place on: turned round below.
            scratch.shares.extend(gamma.iter().rev());
            continue;
        }
        add(&mut scratch.visits, &gamma);
        if number == 0 {
            add(&mut scratch.first, &gamma);
        }
        add_shown(packed, seen, place, &gamma, &mut scratch.sums);
    }
    if want == Want::Shares {
        scratch.shares.reverse();
    }
    Ok(total)
}

impl Logs {
    /// Fails with the place at which the sequence is impossible.
    fn new(packed: &Packed, seen: &Observations, places: Range<usize>) -> Result<Logs, usize> {
        let states = packed.states;
        let row = |i: usize| {
            let row = &packed.rows[i * packed.width..];
            (0..states).map(move |j| log2_or_none(row[j / LANES][j % LANES]))
        };
        let of_place = |place| (0..states).map(move |state| log2_shown(packed, seen, place, state));
        let mut logs = Logs {
            states,
            steps: (0..states).flat_map(row).collect(),
            shown: places.clone().flat_map(of_place).collect(),
            alphas: Vec::with_capacity(places.len() * states),
        };
        for number in 0..places.len() {
            for state in 0..states {
                let before = match number {
                    0 => log2_or_none(packed.start[state / LANES][state % LANES]),
                    _ => {
                        let before = &logs.alphas[(number - 1) * states..][..states];
                        let steps = logs.steps[state..].iter().step_by(states);
                        log2_sum(before.iter().zip(steps).map(|(alpha, step)| alpha + step))
                    }
                };
                let shown = logs.shown[number * states + state];
                logs.alphas.push(before + shown);
            }
            let now = &logs.alphas[number * states..];
            if now.iter().all(|log| *log == f64::NEG_INFINITY) {
                return Err(number);
            }
        }
        Ok(logs)
    }
}

/// log₂ of the density of what is seen at a place, in a state.
fn log2_shown(packed: &Packed, seen: &Observations, place: usize, state: usize) -> f64 {
    let (lane, at) = (state / LANES, state % LANES);
    match (&packed.shown, &seen.values) {
        (Shown::Table { densities, tops }, Seen::Symbols { values, .. }) => {
            let symbol = values[place] as usize;
            log2_or_none(densities[symbol * packed.width + lane][at]) + tops[symbol]
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
            let row = values[place * dim..][..*dim].iter().enumerate();
            row.fold(constants[lane][at], |log, (column, value)| {
                let here = column * packed.width + lane;
                let z = value - means[here][at];
                (z * z).mul_add(inverses[here][at], log)
            })
        }
        // The caller has compared the kinds.
        _ => 0.0,
    }
}

/// 2 to a power of 0 at most, down to the smallest numbers: states that are hardly visited count.
fn power(log: f64) -> f64 {
    let mut power = exp2_of(log / 16.0);
    for _ in 0..4 {
        power *= power;
    }
    power
}

/// log₂ of the sum of numbers that are given by theirs.
fn log2_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    match top == f64::NEG_INFINITY {
        true => top,
        false => top + log2_of(logs.map(|log| exp2_of(log - top)).sum()),
    }
}

/// Adds numbers of all states to lanes.
fn add(lanes: &mut [F64x8], values: &[f64]) {
    let numbers = lanes.iter_mut().flat_map(|lane| &mut lane.0);
    numbers.zip(values).for_each(|(sum, value)| *sum += value);
}

/// Adds the shares of the steps between two places, over their probabilities: whoever uses them
/// multiplies by those.
fn add_steps(
    packed: &Packed,
    logs: &Logs,
    (alphas, next): (&[f64], &[f64]),
    total: f64,
    sums: &mut [F64x8],
) {
    let rows = logs.steps.chunks_exact(logs.states);
    let known = packed.rows.chunks_exact(packed.width);
    let sums = sums.chunks_exact_mut(packed.width);
    for (((alpha, row), known), sums) in alphas.iter().zip(rows).zip(known).zip(sums) {
        let probabilities = known.iter().flat_map(|lane| &lane.0);
        let shares: Vec<f64> = row
            .iter()
            .zip(next)
            .zip(probabilities)
            .map(
                |((step, next), probability)| match *step == f64::NEG_INFINITY {
                    true => 0.0,
                    // In this order: without the step alone it may be above all numbers.
                    false => (power(alpha + step + next - total) / probability).min(LARGEST),
                },
            )
            .collect();
        add(sums, &shares);
    }
}

/// Adds what one place shows, by γ.
fn add_shown(
    packed: &Packed,
    seen: &Observations,
    place: usize,
    gamma: &[f64],
    sums: &mut [F64x8],
) {
    match (&packed.shown, &seen.values) {
        (Shown::Table { .. }, Seen::Symbols { values, .. }) => {
            add(&mut sums[values[place] as usize * packed.width..], gamma);
        }
        (Shown::Normal { dim, means, .. }, Seen::Numbers { values, .. }) => {
            let row = &values[place * dim..][..*dim];
            let columns = row.iter().zip(means.chunks_exact(packed.width));
            for ((value, means), sums) in columns.zip(sums.chunks_exact_mut(2 * packed.width)) {
                let means = means.iter().flat_map(|lane| &lane.0);
                let z: Vec<f64> = means.map(|mean| value - mean).collect();
                let times_z = |gamma: &[f64]| -> Vec<f64> {
                    gamma.iter().zip(&z).map(|(gamma, z)| gamma * z).collect()
                };
                let firsts = times_z(gamma);
                let (to_firsts, to_squares) = sums.split_at_mut(packed.width);
                add(to_firsts, &firsts);
                add(to_squares, &times_z(&firsts));
            }
        }
        // The caller has compared the kinds.
        _ => {}
    }
}
