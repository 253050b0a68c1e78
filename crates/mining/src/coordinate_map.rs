//! The inner coordinates: shifted to the middle of the data, scaled by a power of two.
//!
//! Shifting removes the offset that would cost digits in differences; scaling keeps squares away
//! from overflow. The scale is a power of two, so it changes no bit of a significand. Data scaled
//! by a power of two give the same run.
//!
//! Where a few values are so far from all others that these would lose their digits in the middle,
//! that end of the column is taken in its place, at which the others are.

use crate::Points;
use crate::power::power_of_two_above;
use serde::{Deserialize, Serialize};

/// Values that are nearer to an end of their column than this share of its width would keep less
/// than half of their digits in the middle.
const CROWDED: f64 = 1.0 / (1_u64 << 26) as f64;

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
        let counted = (0..points.len()).filter(counts).map(|row| points.row(row));
        let mut rows = counted.clone();
        let mut low = rows.next().unwrap_or_default().to_vec();
        let mut high = low.clone();
        for row in rows {
            for (j, &value) in row.iter().enumerate() {
                low[j] = low[j].min(value);
                high[j] = high[j].max(value);
            }
        }
        let crowded = crowded(counted, &low, &high);
        let (mut middle, mut reach) = (Vec::with_capacity(low.len()), 0.0_f64);
        for ((l, h), end) in low.iter().zip(&high).zip(crowded) {
            // Halves first: the difference of two finite numbers may be infinite.
            let (from, width) = match end {
                None => (l / 2.0 + h / 2.0, h / 2.0 - l / 2.0),
                Some(end) => (end, h - l),
            };
            middle.push(from);
            reach = reach.max(width);
        }
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

/// Of each column the end near which there are as many values as there are far from it. Values at
/// the end itself lose nothing and do not count.
fn crowded(
    rows: impl Iterator<Item = impl AsRef<[f64]>>,
    low: &[f64],
    high: &[f64],
) -> Vec<Option<f64>> {
    let ends = low.iter().zip(high);
    let near: Vec<f64> = ends.clone().map(|(l, h)| (h - l) * CROWDED).collect();
    // Of each end how many values are near it, and how many far from it.
    let mut counts = vec![[[0_u32; 2]; 2]; low.len()];
    for row in rows {
        for (j, value) in row.as_ref().iter().enumerate() {
            for (counts, apart) in counts[j].iter_mut().zip([value - low[j], high[j] - value]) {
                counts[usize::from(apart > near[j])] += u32::from(apart > 0.0);
            }
        }
    }
    let is_crowded = |[near, far]: [u32; 2]| near > 0 && near >= far;
    let columns = ends.zip(&near).zip(&counts);
    columns
        .map(|(((l, h), near), counts)| match counts.map(is_crowded) {
            [true, _] if near.is_finite() => Some(*l),
            [_, true] if near.is_finite() => Some(*h),
            _ => None,
        })
        .collect()
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

    #[test]
    fn what_crowds_at_one_end_keeps_its_digits() {
        let inner = |values: &[f64]| {
            let points = Points::new(values.to_vec(), 1).unwrap();
            let frame = CoordinateMap::new(&points);
            let mut inner = Vec::new();
            points
                .values()
                .iter()
                .for_each(|value| frame.enter(&[*value], &mut inner));
            assert!(inner.iter().all(|value| value.abs() <= 1.0), "{inner:?}");
            frame.leave(&inner)
        };
        for values in [
            [1.0, 2.0, 3.0, 1e17],
            [1.25, 2.5, 3.75, 9.97e36],
            [-1e20, 1.0, 2.0, 3.0],
            [0.0, 0.0, 1e-3, 1e9],
        ] {
            assert_eq!(inner(&values), values);
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
