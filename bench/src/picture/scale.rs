//! Where values lie along an axis, and which are marked.

use crate::text::{number, short};

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Equal steps.
    Linear {
        /// The value at the low end.
        low: f64,
        /// The value at the high end.
        high: f64,
    },
    /// Equal factors.
    Log {
        /// The value at the low end, more than 0.
        low: f64,
        /// The value at the high end.
        high: f64,
    },
    /// Words side by side, at 0, 1, 2, …
    Words(Vec<String>),
}

impl Scale {
    /// An axis that shows all `values`; `from_zero` begins at 0 also when they are far from it. On
    /// a logarithmic axis values must be more than 0; others are passed over.
    pub(super) fn around(values: impl Iterator<Item = f64>, log: bool, from_zero: bool) -> Scale {
        let values = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            let low = if log { 0.1 } else { 0.0 };
            return Scale::of(log, low, 1.0);
        }
        if log {
            let (low, high) = if low == high {
                (low / 2.0, high * 2.0)
            } else {
                (low, high)
            };
            return Scale::of(log, round_below(low), round_above(high));
        }
        let near_zero = low >= 0.0 && (from_zero || low < 0.6 * high);
        let low = if near_zero { 0.0 } else { low };
        let high = if from_zero { high.max(0.0) } else { high };
        let low = if from_zero { low.min(0.0) } else { low };
        let (low, high) = if low == high {
            (
                low - 0.5 * low.abs().max(1.0),
                high + 0.5 * high.abs().max(1.0),
            )
        } else {
            (low, high)
        };
        let step = step(high - low, 6);
        Scale::of(
            false,
            (low / step).floor() * step,
            (high / step).ceil() * step,
        )
    }

    fn of(log: bool, low: f64, high: f64) -> Scale {
        if log {
            Scale::Log { low, high }
        } else {
            Scale::Linear { low, high }
        }
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end. `None` for what the axis cannot
    /// show.
    #[must_use]
    pub fn part(&self, value: f64) -> Option<f64> {
        let part = match self {
            Scale::Linear { low, high } => (value - low) / (high - low),
            Scale::Log { low, high } => (value / low).ln() / (high / low).ln(),
            Scale::Words(words) => (value + 0.5) / words.len() as f64,
        };
        part.is_finite().then_some(part)
    }

    /// About `count` marked values with their texts.
    #[must_use]
    pub fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        match self {
            Scale::Linear { low, high } => {
                let step = step(high - low, count);
                // The ends may lie between two marks; a rounding error must not lose one.
                let (first, last) = (low / step - 1e-6, high / step + 1e-6);
                let (first, last) = (first.ceil() as i64, last.floor() as i64);
                let values = (first..=last).map(|index| index as f64 * step);
                values.map(|value| (value, short(value))).collect()
            }
            Scale::Log { low, high } => log_ticks(*low, *high, count),
            Scale::Words(words) => {
                let each = words.iter().enumerate();
                each.map(|(at, word)| (at as f64, word.clone())).collect()
            }
        }
    }

    /// Values evenly spread over the axis, for a curve.
    #[must_use]
    pub fn spread(&self, count: usize) -> Vec<f64> {
        let part = |at: usize| at as f64 / (count - 1) as f64;
        let value = |at: usize| match self {
            Scale::Linear { low, high } => low + part(at) * (high - low),
            Scale::Log { low, high } => low * (high / low).powf(part(at)),
            Scale::Words(words) => part(at) * (words.len() as f64 - 1.0),
        };
        (0..count).map(value).collect()
    }
}

/// The least of 1, 2, 5 times a power of ten that cuts `span` into at most `count` parts.
fn step(span: f64, count: usize) -> f64 {
    let least = span / count as f64;
    let unit = 10_f64.powf(least.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter();
    let round = round
        .map(|r| r * unit)
        .find(|step| *step >= least * 0.999_999);
    round.unwrap_or(10.0 * unit)
}

const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

fn round_below(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor());
    let below = ROUND.map(|r| r * unit).into_iter().rev();
    below
        .into_iter()
        .find(|r| *r <= value * 1.000_001)
        .unwrap_or(unit)
}

fn round_above(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor());
    let mut above = ROUND.map(|r| r * unit).into_iter();
    above
        .find(|r| *r >= value * 0.999_999)
        .unwrap_or(10.0 * unit)
}

/// Powers of ten, thinned when they are many, and 2 and 5 times them when they are few.
fn log_ticks(low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = (high / low).log10();
    let rounds: &[f64] = if decades * 3.0 <= count as f64 {
        &ROUND
    } else {
        &[1.0]
    };
    let every = (decades / count as f64).ceil().max(1.0) as i32;
    let within = |value: &f64| (low * 0.999_999..=high * 1.000_001).contains(value);
    (first..=last)
        .filter(|power| power % every == 0)
        .flat_map(|power| rounds.iter().map(move |round| round * 10_f64.powi(power)))
        .filter(within)
        .map(|value| (value, number(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale) -> Vec<String> {
        scale.ticks(6).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn linear_axes_end_at_round_values_and_begin_at_zero_when_it_is_near() {
        let scale = Scale::around([3.0, 9.2].into_iter(), false, false);
        assert_eq!(
            scale,
            Scale::Linear {
                low: 0.0,
                high: 10.0
            }
        );
        assert_eq!(texts(&scale), ["0", "2", "4", "6", "8", "10"]);
        let far = Scale::around([97.0, 99.0].into_iter(), false, false);
        assert_eq!(
            far,
            Scale::Linear {
                low: 97.0,
                high: 99.0
            }
        );
        let below = Scale::around([-0.4, 1.1].into_iter(), false, false);
        assert_eq!(texts(&below), ["-0.5", "0", "0.5", "1", "1.5"]);
        let between = Scale::around([-0.021, 0.09].into_iter(), false, false);
        let ends = (between.part(-0.05), between.part(0.05));
        assert!(
            ends.0.unwrap() < 0.0 && ends.1.unwrap() < 1.0,
            "{between:?}"
        );
        assert_eq!(texts(&between)[0], "0");
        let bars = Scale::around([97.0, 99.0].into_iter(), false, true);
        assert!(matches!(bars, Scale::Linear { low: 0.0, .. }));
    }

    #[test]
    fn logarithmic_axes_pass_over_what_they_cannot_show() {
        let scale = Scale::around([0.07, -1.0, 0.0, 185.0].into_iter(), true, false);
        assert_eq!(
            scale,
            Scale::Log {
                low: 0.05,
                high: 200.0
            }
        );
        assert_eq!(texts(&scale), ["0.1", "1", "10", "100"]);
        assert!(scale.part(-1.0).is_none() && scale.part(0.0).is_none());
        let stages = Scale::around([1.0, 1e7].into_iter(), true, false);
        assert_eq!(stages.part(1e7), Some(1.0));
        assert_eq!(texts(&stages), ["1", "100", "10k", "1M"]);
        let few = Scale::around([20.0, 90.0].into_iter(), true, false);
        assert_eq!(texts(&few), ["20", "50", "100"]);
    }

    #[test]
    fn one_value_and_none_have_an_axis_too() {
        for log in [false, true] {
            for values in [vec![], vec![3.0], vec![1.0]] {
                let scale = Scale::around(values.iter().copied(), log, false);
                for value in values {
                    let part = scale.part(value).unwrap();
                    assert!((0.0..=1.0).contains(&part), "{scale:?} {part}");
                }
                assert!(scale.ticks(6).len() >= 2, "{scale:?}");
            }
        }
    }

    #[test]
    fn words_stand_in_the_middle_of_their_places() {
        let scale = Scale::Words(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(scale.part(0.0), Some(0.25));
        assert_eq!(scale.part(1.0), Some(0.75));
    }
}
