//! A model as the kernel needs it.

use super::model::{Emissions, HmmModel};
use crate::lanes::{F64x8, Isa, LANES, log2_of};

/// Where each state follows each with this probability at least, a state whose number is next to 0
/// cannot count later: what it leads to, the largest leads to nearly as well.
const MIXES: f64 = 1e-90;

/// A whole number times a probability of less than this may be next to 0.
const FAINT: f64 = 1e-60;

/// A model in lanes: states that are not there have probability 0.
#[derive(Debug)]
pub(super) struct Packed {
    /// Lanes of all states.
    pub(super) width: usize,
    pub(super) states: usize,
    pub(super) start: Vec<F64x8>,
    /// Row after row; and the transposed matrix.
    pub(super) rows: Vec<F64x8>,
    pub(super) columns: Vec<F64x8>,
    /// As `rows`, with 1 for what is above 0.
    pub(super) ways: Vec<F64x8>,
    /// Each state follows each, and not next to never.
    pub(super) mixes: bool,
    /// A step is next to impossible, and it may count.
    pub(super) faint: bool,
    /// The density of what a state never shows: 0 for symbols. That of numbers is 0 by rounding
    /// alone, so that it is none of them.
    pub(super) never: f64,
    pub(super) shown: Shown,
}

#[derive(Debug)]
pub(super) enum Shown {
    /// Of each symbol the probabilities over the largest, and the log₂ of the largest.
    Table {
        densities: Vec<F64x8>,
        tops: Vec<f64>,
    },
    /// Of each column means and inverse variances over 2 ln 2; of all, the constants.
    Normal {
        dim: usize,
        means: Vec<F64x8>,
        inverses: Vec<F64x8>,
        constants: Vec<F64x8>,
    },
}

/// Numbers per state as lanes.
fn pack(states: usize, value: impl Fn(usize) -> f64, none: f64) -> Vec<F64x8> {
    let mut lanes = vec![F64x8::splat(none); states.div_ceil(LANES)];
    (0..states).for_each(|state| lanes[state / LANES][state % LANES] = value(state));
    lanes
}

/// log₂ of a number that is not negative: minus infinity of 0.
pub(super) fn log2_or_none(value: f64) -> f64 {
    /// 2⁶⁴ makes the smallest numbers normal.
    const RAISE: f64 = (1_u128 << 64) as f64;
    match value {
        _ if value >= f64::MIN_POSITIVE => log2_of(value),
        _ if value > 0.0 => log2_of(value * RAISE) - 64.0,
        _ => f64::NEG_INFINITY,
    }
}

/// The vector times the matrix whose rows are given: as many as there are states.
#[inline(always)]
pub(super) fn product<I: Isa>(
    isa: I,
    width: usize,
    rows: &[F64x8],
    vector: &[F64x8],
    out: &mut [F64x8],
) {
    for (w, out) in out[..width].iter_mut().enumerate() {
        // Two sums: a fused product waits for the one before.
        let (mut even, mut odd) = (isa.splat(0.0), isa.splat(0.0));
        for (factors, rows) in vector[..width].iter().zip(rows.chunks(LANES * width)) {
            let factors = factors.as_chunks::<2>().0;
            for ([a, b], rows) in factors.iter().zip(rows.chunks(2 * width)) {
                even = isa.fma(isa.splat(*a), isa.load(&rows[w]), even);
                if let Some(row) = rows.get(width + w) {
                    odd = isa.fma(isa.splat(*b), isa.load(row), odd);
                }
            }
        }
        isa.store(isa.add(even, odd), out);
    }
}

impl Packed {
    pub(super) fn new(model: &HmmModel) -> Packed {
        let states = model.states();
        let matrix = |i: usize, j: usize| model.transitions[i * states + j];
        let row = |i: usize| pack(states, |j| matrix(i, j), 0.0);
        let column = |j: usize| pack(states, |i| matrix(i, j), 0.0);
        let way = |i: usize| pack(states, |j| f64::from(u8::from(matrix(i, j) > 0.0)), 0.0);
        let (shown, never) = (Shown::new(model), Shown::never(&model.emissions));
        let mixes = model.transitions.iter().all(|p| *p >= MIXES);
        let faint = |p: &f64| *p > 0.0 && *p < FAINT;
        Packed {
            width: states.div_ceil(LANES),
            states,
            start: pack(states, |state| model.start[state], 0.0),
            rows: (0..states).flat_map(row).collect(),
            columns: (0..states).flat_map(column).collect(),
            ways: (0..states).flat_map(way).collect(),
            mixes,
            faint: !mixes && model.transitions.iter().any(faint),
            never,
            shown,
        }
    }

    /// Numbers in lanes that the sums of what is shown take. Per symbol: Σ γ. Per column: Σ γ z and
    /// Σ γ z², z being the distance from the mean.
    pub(super) fn shown_lanes(&self) -> usize {
        match &self.shown {
            Shown::Table { tops, .. } => tops.len() * self.width,
            Shown::Normal { dim, .. } => 2 * dim * self.width,
        }
    }
}

impl Shown {
    fn new(model: &HmmModel) -> Shown {
        let states = model.states();
        match &model.emissions {
            Emissions::Discrete {
                symbols,
                probabilities,
            } => {
                let of = |state: usize, symbol: usize| probabilities[state * symbols + symbol];
                let largest = |symbol: usize| {
                    let all = (0..states).map(|state| of(state, symbol));
                    all.fold(f64::MIN_POSITIVE, f64::max)
                };
                let density = |symbol: usize| {
                    let top = largest(symbol);
                    pack(states, move |state| of(state, symbol) / top, 0.0)
                };
                Shown::Table {
                    densities: (0..*symbols).flat_map(density).collect(),
                    tops: (0..*symbols)
                        .map(|symbol| log2_of(largest(symbol)))
                        .collect(),
                }
            }
            Emissions::Gaussian {
                dim,
                means,
                variances,
            } => {
                let constant = |state: usize| {
                    let variances = &variances[state * dim..][..*dim];
                    let logs = variances.iter().map(|v| log2_of(v * std::f64::consts::TAU));
                    -0.5 * logs.sum::<f64>()
                };
                let inverse = |v: f64| -0.5 * std::f64::consts::LOG2_E / v;
                let of = |column: usize| pack(states, |s| means[s * dim + column], 0.0);
                let over = |c: usize| pack(states, |s| inverse(variances[s * dim + c]), 0.0);
                Shown::Normal {
                    dim: *dim,
                    means: (0..*dim).flat_map(of).collect(),
                    inverses: (0..*dim).flat_map(over).collect(),
                    constants: pack(states, constant, -1e300),
                }
            }
        }
    }

    fn never(emissions: &Emissions) -> f64 {
        match emissions {
            Emissions::Discrete { .. } => 0.0,
            Emissions::Gaussian { .. } => -1.0,
        }
    }
}
