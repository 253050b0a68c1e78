//! The basic computational unit (papers R095): a short series, about 1.4 µs long.
//!
//! The series is the continued fraction of the golden ratio, x ← 1 / (1 + x). Every term needs the
//! one before and a division, so neither the compiler nor the processor can shorten it. It touches
//! no memory. A unit goes on where the one before it ended. If each began anew, the processor would
//! begin with one while the last terms of another are under way. That made units of 1.4 µs shorter
//! by a tenth when many came in a row.

use crate::statistics::median;
use motet_patterns::Work;
use std::hint::black_box;
use std::time::Instant;

/// A unit of this many terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    terms: u32,
}

/// So many units: what a stage computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Units {
    /// The unit.
    pub(crate) unit: Unit,
    /// How many.
    pub(crate) count: u64,
}

impl Unit {
    /// The length aimed at, in µs. The papers' units took 1.188 to 1.696 µs.
    pub const TARGET_US: f64 = 1.4;

    /// Finds the number of terms that take about [`Unit::TARGET_US`] here. It is a preferred
    /// number, so that two runs on a machine have the same unit, though its clock differs by some
    /// per cent.
    #[must_use]
    pub fn calibrate() -> Self {
        let probe = Unit { terms: 100 };
        // Some ten milliseconds in all, so that the processor is at its working speed.
        let times: Vec<f64> = (0..400).map(|_| probe.time_us(50)).collect();
        let terms = f64::from(probe.terms) * Self::TARGET_US / median(&times);
        // Between 1 and some thousands.
        Unit {
            terms: preferred(terms.max(1.0)) as u32,
        }
    }

    /// Its number of terms, for programs of others.
    pub(crate) fn terms(self) -> u32 {
        self.terms
    }

    /// Computes `count` units, one after the other, and returns the last term.
    #[inline]
    pub fn compute(self, count: u64) -> f64 {
        let mut x: f64 = black_box(1.0);
        for _ in 0..count {
            for _ in 0..self.terms {
                x = 1.0 / (1.0 + x);
            }
        }
        black_box(x)
    }

    /// The time of one unit, in µs, measured over `count` units.
    #[must_use]
    pub fn time_us(self, count: u64) -> f64 {
        let started = Instant::now();
        self.compute(count);
        started.elapsed().as_secs_f64() * 1e6 / count as f64
    }
}

impl Work for Units {
    #[inline]
    fn stage(&self) {
        self.unit.compute(self.count);
    }
}

/// The nearest of Renard's numbers R10 (ISO 3), of which each is a quarter greater than the one
/// before.
fn preferred(number: f64) -> f64 {
    10_f64.powf((10.0 * number.log10()).round() / 10.0).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_same_where_the_clock_differs_a_little() {
        assert_eq!(
            [1.0, 9.1, 300.0, 320.0, 340.0].map(preferred),
            [1.0, 10.0, 316.0, 316.0, 316.0]
        );
        assert_eq!(preferred(370.0), 398.0);
    }

    #[test]
    fn a_unit_goes_on_where_the_one_before_it_ended() {
        // Ratios of neighbours among Fibonacci's numbers: 1, 1/2, 2/3, 3/5, 5/8, 8/13, 13/21.
        let unit = Unit { terms: 3 };
        for (count, expected) in [(0, 1.0), (1, 3.0 / 5.0), (2, 13.0 / 21.0)] {
            let last = unit.compute(count);
            assert!((last - expected).abs() < 1e-15, "{count}: {last}");
        }
    }

    #[test]
    fn calibration_aims_at_the_target() {
        let unit = Unit::calibrate();
        let best = (0..100)
            .map(|_| unit.time_us(10))
            .fold(f64::INFINITY, f64::min);
        // The clock of the processor may change meanwhile: only the order of magnitude is sure.
        assert!(
            (0.2..8.0).contains(&best),
            "{best} µs, {} terms",
            unit.terms
        );
    }
}
