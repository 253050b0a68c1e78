//! The inner coordinates: shifted to the middle of the data, scaled by a power of two.
//!
//! Shifting removes the offset that would cost digits in differences; scaling keeps squares away
//! from overflow. The scale is a power of two, so it changes no bit of a significand. Data scaled
//! by a power of two give the same run.

use crate::Points;
use crate::power::power_of_two_above;
use serde::{Deserialize, Serialize};

/// The map between the units of the data and the inner coordinates. Those of rows of positive
/// weight lie in [-1, 1] (in [-8, 8] for data at the very end of the range of numbers).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CoordinateMap {
    middle: Vec<f64>,
    scale: f64,
}

impl CoordinateMap {
    pub(crate) fn new(points: &Points) -> CoordinateMap {
        // A row without weight, far away, would leave the others no digits.
        let counts = |row: &usize| points.weight(*row) > 0.0;
        let mut rows = (0..points.len()).filter(counts).map(|row| points.row(row));
        let mut low = rows.next().unwrap_or_default().to_vec();
        let mut high = low.clone();
        for row in rows {
            for (j, &value) in row.iter().enumerate() {
                low[j] = low[j].min(value);
                high[j] = high[j].max(value);
            }
        }
        // Halves first: the difference of two finite numbers may be infinite.
        let middle = low
            .iter()
            .zip(&high)
            .map(|(l, h)| l / 2.0 + h / 2.0)
            .collect();
        let reach = low
            .iter()
            .zip(&high)
            .map(|(l, h)| h / 2.0 - l / 2.0)
            .fold(0.0, f64::max);
        CoordinateMap {
            middle,
            scale: 1.0 / power_of_two_above(reach),
        }
    }

    /// The number of columns.
    pub(crate) fn dim(&self) -> usize {
        self.middle.len()
    }

    /// Writes a row in inner coordinates.
    pub(crate) fn enter(&self, row: &[f64], inner: &mut Vec<f64>) {
        let shifted = row
            .iter()
            .zip(&self.middle)
            .map(|(v, m)| (v - m) * self.scale);
        // Adding zero turns -0 into 0: equal rows then have equal bits.
        inner.extend(shifted.map(|v| v + 0.0));
    }

    /// Rows of inner coordinates in the units of the data.
    pub(crate) fn leave(&self, inner: &[f64]) -> Vec<f64> {
        let rows = inner.chunks_exact(self.middle.len());
        rows.flat_map(|row| {
            row.iter()
                .zip(&self.middle)
                .map(|(v, m)| v / self.scale + m)
        })
        .collect()
    }

    /// An inner length in the units of the data.
    pub(crate) fn length(&self, inner: f64) -> f64 {
        inner / self.scale
    }

    /// An inner squared length, or temperature, in the units of the data squared.
    pub(crate) fn square(&self, inner: f64) -> f64 {
        inner / self.scale / self.scale
    }

    /// A squared length, or temperature, of the data in inner units.
    pub(crate) fn inner_square(&self, outer: f64) -> f64 {
        outer * self.scale * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn huge_and_tiny_data_fit() {
        for (values, most) in [
            ([-1.7e308, 1.7e308], 8.0),
            ([1e-300, 3e-300], 1.0),
            ([5.0, 5.0], 1.0),
            ([0.0, 5e-324], 1.0),
        ] {
            let points = Points::new(values.to_vec(), 1).unwrap();
            let mut inner = Vec::new();
            CoordinateMap::new(&points).enter(points.row(1), &mut inner);
            assert!(inner[0].abs() <= most, "{values:?} gives {inner:?}");
        }
    }

    proptest! {
        #[test]
        fn there_and_back(values in prop::collection::vec(-1e6_f64..1e6, 2..40)) {
            let points = Points::new(values.clone(), 1).unwrap();
            let frame = CoordinateMap::new(&points);
            let mut inner = Vec::new();
            points.values().iter().for_each(|value| frame.enter(&[*value], &mut inner));
            prop_assert!(inner.iter().all(|v| v.abs() <= 1.0));
            for (back, value) in frame.leave(&inner).iter().zip(&values) {
                prop_assert!((back - value).abs() < 1e-9);
            }
        }

        #[test]
        fn scaling_by_a_power_of_two_changes_nothing(
            values in prop::collection::vec(-1e3_f64..1e3, 2..40),
            power in -40_i32..40,
        ) {
            let inner = |factor: f64| {
                let points = Points::new(values.iter().map(|v| v * factor).collect(), 1).unwrap();
                let frame = CoordinateMap::new(&points);
                let mut inner = Vec::new();
                points.values().iter().for_each(|value| frame.enter(&[*value], &mut inner));
                inner
            };
            prop_assert_eq!(inner(1.0), inner(2.0_f64.powi(power)));
        }
    }
}
