//! What is made of repeated measurements.

use serde::Serialize;

/// Repeated measurements of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median; `NaN` of nothing.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// Of these values.
    #[must_use]
    pub fn of(values: &[f64]) -> Spread {
        let (min, max) = range(values);
        Spread {
            median: median(values),
            min,
            max,
        }
    }

    /// Of what `compare` says of two programs, round by round.
    pub(crate) fn of_rounds(
        one: &[f64],
        other: &[f64],
        compare: impl Fn(f64, f64) -> f64,
    ) -> Spread {
        let rounds = one.iter().zip(other);
        let compared: Vec<f64> = rounds.map(|(&one, &other)| compare(one, other)).collect();
        Spread::of(&compared)
    }
}

/// The median; the mean of the middle two for an even number. `NaN` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The smallest and the largest value.
#[must_use]
pub fn range(values: &[f64]) -> (f64, f64) {
    let fold = |start, pick: fn(f64, f64) -> f64| values.iter().copied().fold(start, pick);
    (
        fold(f64::INFINITY, f64::min),
        fold(f64::NEG_INFINITY, f64::max),
    )
}

/// The mean; `NaN` of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of these values themselves; `NaN` of nothing.
#[must_use]
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / values.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ranges() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!(range(&[2.0, -1.0, 5.0]), (-1.0, 5.0));
        assert_eq!((mean(&[1.0, 3.0]), deviation(&[1.0, 3.0])), (2.0, 1.0));
        let spread = Spread {
            median: 2.0,
            min: -1.0,
            max: 5.0,
        };
        assert_eq!(Spread::of(&[2.0, -1.0, 5.0]), spread);
    }
}
