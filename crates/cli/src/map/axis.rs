//! Ticks: round numbers along an axis.

use crate::text::grouped;

/// What is marked along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TickScale {
    /// Plain numbers.
    Numbers,
    /// Degrees north and south.
    Latitude,
    /// Degrees east and west; values above 180 are west.
    Longitude,
    /// Nothing.
    Bare,
}

/// One axis of the picture.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// What it shows.
    pub(crate) title: String,
    /// How its ticks are written.
    pub(crate) scale: TickScale,
    /// The value at its low end.
    pub(crate) low: f64,
    /// The value at its high end.
    pub(crate) high: f64,
}

impl Axis {
    /// An axis over `low..high` with a margin beyond both; a single value gets room too.
    pub(crate) fn around(title: impl Into<String>, scale: TickScale, low: f64, high: f64) -> Axis {
        let span = high - low;
        let margin = if span > 0.0 {
            span * 0.02
        } else {
            (low.abs() * 0.05).max(0.5)
        };
        Axis {
            title: title.into(),
            scale,
            low: low - margin,
            high: high + margin,
        }
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end.
    pub(crate) fn part(&self, value: f64) -> f64 {
        ((value - self.low) / self.span()).clamp(0.0, 1.0)
    }

    /// The distance from the low to the high end.
    pub(crate) fn span(&self) -> f64 {
        self.high - self.low
    }

    /// About `count` round values within the axis, each with its text.
    pub(crate) fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        if self.scale == TickScale::Bare {
            return Vec::new();
        }
        let step = self.step(count.max(1));
        if !step.is_normal() {
            // Values that differ by next to nothing, or by more than all numbers.
            return Vec::new();
        }
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let values = (first..=last).map(|index| index as f64 * step);
        values
            .map(|value| (value, self.text(value, decimals)))
            .collect()
    }

    /// The least round step that gives no more than `count` ticks.
    fn step(&self, count: usize) -> f64 {
        const DEGREES: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 90.0];
        let least = self.span() / count as f64;
        if self.scale != TickScale::Numbers
            && least > 0.5
            && let Some(&step) = DEGREES.iter().find(|&&step| step >= least)
        {
            return step;
        }
        let unit = 10_f64.powf(least.log10().floor());
        let round = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .find(|&r| r * unit >= least);
        round.unwrap_or(10.0) * unit
    }

    fn text(&self, value: f64, decimals: usize) -> String {
        let half = |value: f64, plus: &str, minus: &str| match value {
            v if v.abs() < 1e-9 => "0°".to_owned(),
            v if v < 0.0 => format!("{:.decimals$}° {minus}", -v),
            v => format!("{v:.decimals$}° {plus}"),
        };
        match self.scale {
            TickScale::Latitude => half(value, "N", "S"),
            TickScale::Longitude if (value.abs() - 180.0).abs() < 1e-9 => "180°".to_owned(),
            TickScale::Longitude if value > 180.0 => half(value - 360.0, "E", "W"),
            TickScale::Longitude => half(value, "E", "W"),
            TickScale::Numbers | TickScale::Bare if decimals > 6 || value.abs() >= 1e9 => {
                format!("{value:.1e}").replace(".0e", "e")
            }
            TickScale::Numbers | TickScale::Bare if value.abs() >= 10_000.0 => {
                let sign = if value < 0.0 { "-" } else { "" };
                format!("{sign}{}", grouped(value.abs().round() as usize))
            }
            // Adding zero turns -0 into 0.
            TickScale::Numbers | TickScale::Bare => format!("{:.decimals$}", value + 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: TickScale, low: f64, high: f64, count: usize) -> Vec<String> {
        let axis = Axis {
            title: String::new(),
            scale,
            low,
            high,
        };
        axis.ticks(count)
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            texts(TickScale::Numbers, -0.3, 1.1, 4),
            ["0.0", "0.5", "1.0"]
        );
        assert_eq!(
            texts(TickScale::Numbers, 120.0, 990.0, 5),
            ["200", "400", "600", "800"]
        );
        assert_eq!(
            texts(TickScale::Numbers, -1e4, 2e4, 3),
            ["-10,000", "0", "10,000", "20,000"]
        );
        assert_eq!(
            texts(TickScale::Numbers, 0.0, 4e9, 4),
            ["0", "1e9", "2e9", "3e9", "4e9"]
        );
    }

    #[test]
    fn an_axis_that_no_step_divides_has_no_ticks() {
        for (low, high) in [(0.0, 5e-324), (-f64::MAX, f64::MAX), (0.0, 0.0)] {
            assert!(texts(TickScale::Numbers, low, high, 4).is_empty());
        }
    }

    #[test]
    fn degrees_name_their_half_of_the_globe() {
        let world = texts(TickScale::Longitude, -180.0, 180.0, 6);
        assert_eq!(
            world,
            ["180°", "120° W", "60° W", "0°", "60° E", "120° E", "180°"]
        );
        let pacific = texts(TickScale::Longitude, 165.0, 205.0, 4);
        assert_eq!(pacific, ["170° E", "180°", "170° W", "160° W"]);
        assert_eq!(
            texts(TickScale::Latitude, -1.2, 1.2, 3),
            ["1° S", "0°", "1° N"]
        );
    }

    #[test]
    fn a_single_value_gets_an_axis_of_some_length() {
        let axis = Axis::around("x", TickScale::Numbers, 3.0, 3.0);
        assert!(axis.span() > 0.0);
        assert_eq!(axis.part(3.0), 0.5);
    }
}
