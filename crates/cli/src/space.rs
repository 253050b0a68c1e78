//! The space that points are clustered in, and the way back to the columns.

use motet_mining::{Clustering, Points, sphere};

use crate::error::CliError;
use crate::read::InputTable;

/// How the columns of a table become coordinates.
#[derive(Debug)]
pub(crate) enum Space {
    /// As they are.
    Columns,
    /// Each column less its mean, over its standard deviation.
    Standardised {
        /// The means of the columns.
        means: Vec<f64>,
        /// Their standard deviations; 1 for a constant column.
        deviations: Vec<f64>,
    },
    /// Latitude and longitude as unit vectors.
    Sphere,
}

/// A table whose points have been placed in a space.
#[derive(Debug)]
pub(crate) struct Placed {
    /// What messages call the file.
    pub(crate) file: String,
    /// The names of the columns.
    pub(crate) names: Vec<String>,
    /// The name of the column of weights.
    pub(crate) weight: Option<String>,
    /// The space.
    pub(crate) space: Space,
    /// The points in it, with their weights.
    pub(crate) points: Points,
    /// Numbers from 1 of the rows that are no points, because they lack a value.
    pub(crate) dropped: Vec<usize>,
    /// Cells that have the mean of their column.
    pub(crate) filled: usize,
    /// The names and the texts of the columns that are kept as they are.
    pub(crate) kept: Vec<(String, Vec<String>)>,
    /// The numbers as read, where the points hold others.
    read: Option<Vec<f64>>,
}

impl Placed {
    /// Places the rows of `table` on the globe (`geo`), scaled (`standardise`), or as they are.
    pub(crate) fn new(table: InputTable, geo: bool, standardise: bool) -> Result<Placed, CliError> {
        let InputTable {
            file,
            names,
            values,
            weights,
            kept,
            dropped,
            filled,
            ..
        } = table;
        let (weight, weights) = weights.unzip();
        let dim = names.len();
        let (space, points, read) = if geo {
            let points = sphere::points(values.as_chunks().0);
            (Space::Sphere, points, Some(values))
        } else if standardise {
            let (means, deviations) = moments(&values, dim, weights.as_deref());
            let scaled = values.iter().enumerate();
            // A row without weight may be farther away than any number.
            let scaled = scaled
                .map(|(i, v)| (v - means[i % dim]) / deviations[i % dim])
                .map(|value| value.clamp(f64::MIN, f64::MAX))
                .collect();
            let space = Space::Standardised { means, deviations };
            (space, Points::new(scaled, dim), Some(values))
        } else {
            (Space::Columns, Points::new(values, dim), None)
        };
        let points = points.and_then(|points| match weights {
            Some(weights) => points.weighted(weights),
            None => Ok(points),
        });
        let points = points.map_err(|error| CliError::Data(format!("{file}: {error}")))?;
        Ok(Placed {
            file,
            names,
            weight,
            dropped,
            filled,
            kept,
            space,
            points,
            read,
        })
    }

    /// The numbers as read, row after row.
    pub(crate) fn values(&self) -> &[f64] {
        self.read.as_deref().unwrap_or(self.points.values())
    }

    /// The unit of distance along each column.
    pub(crate) fn scale(&self) -> Vec<f64> {
        match &self.space {
            Space::Standardised { deviations, .. } => deviations.clone(),
            Space::Columns | Space::Sphere => vec![1.0; self.names.len()],
        }
    }
}

impl Space {
    /// A centre in the units of the columns.
    pub(crate) fn centre(&self, centre: &[f64]) -> Vec<f64> {
        match self {
            Space::Columns => centre.to_vec(),
            Space::Standardised { means, deviations } => {
                let parts = centre.iter().zip(means).zip(deviations);
                parts
                    .map(|((c, mean), deviation)| mean + c * deviation)
                    .collect()
            }
            Space::Sphere => sphere::place(centre).to_vec(),
        }
    }

    /// The spreads of the clusters in the unit that `spread_unit` names.
    pub(crate) fn spreads(&self, clustering: &Clustering) -> Vec<f64> {
        match self {
            Space::Columns | Space::Standardised { .. } => clustering.spread.clone(),
            Space::Sphere => sphere::spread_km(clustering),
        }
    }

    /// The unit of spreads; `None`: that of the columns.
    pub(crate) fn spread_unit(&self) -> Option<&'static str> {
        match self {
            Space::Columns => None,
            Space::Standardised { .. } => Some("sd"),
            Space::Sphere => Some("km"),
        }
    }

    /// The square of the user's unit of length in this space: what inertias, temperatures and free
    /// energies are to be multiplied by.
    pub(crate) fn square(&self) -> f64 {
        match self {
            Space::Columns | Space::Standardised { .. } => 1.0,
            Space::Sphere => sphere::RADIUS_KM * sphere::RADIUS_KM,
        }
    }

    /// The unit of squared lengths; `None`: the squared unit of the columns.
    pub(crate) fn square_unit(&self) -> Option<&'static str> {
        match self {
            Space::Columns => None,
            Space::Standardised { .. } => Some("sd²"),
            Space::Sphere => Some("km²"),
        }
    }

    /// Whether coordinates are those of points on the globe.
    pub(crate) fn is_sphere(&self) -> bool {
        matches!(self, Space::Sphere)
    }
}

/// Mean and standard deviation of each column, by weight. Two passes: the mean comes off before the
/// squares, which keeps the digits of columns far from zero. Differences are squared in units of
/// the largest of their column, so that no square overflows or vanishes. A column of equal values
/// has exactly that value as its mean: what a sum rounds would become its deviation. Rows of weight
/// 0 do not count, however far away they are.
fn moments(values: &[f64], dim: usize, weights: Option<&[f64]>) -> (Vec<f64>, Vec<f64>) {
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let rows = values.chunks_exact(dim);
    let total: f64 = (0..rows.len()).map(weight).sum();
    let average = |term: &dyn Fn(usize, f64) -> f64| -> Vec<f64> {
        let mut sums = vec![0.0; dim];
        let counted = rows
            .clone()
            .enumerate()
            .filter(|(row, _)| weight(*row) > 0.0);
        for (row, values) in counted {
            for (column, (sum, &value)) in sums.iter_mut().zip(values).enumerate() {
                *sum += weight(row) / total * term(column, value);
            }
        }
        sums
    };
    let mut means = average(&|_, value| value);
    for (column, mean) in means.iter_mut().enumerate() {
        let rows = rows.clone().enumerate();
        let counted = rows.filter(|(row, _)| weight(*row) > 0.0);
        let mut counted = counted.map(|(_, values)| values[column]);
        if let Some(first) = counted.next()
            && counted.all(|value| value == first)
        {
            *mean = first;
        }
    }
    let mut units = vec![0.0_f64; dim];
    for (_, row) in rows
        .clone()
        .enumerate()
        .filter(|(row, _)| weight(*row) > 0.0)
    {
        for ((unit, value), mean) in units.iter_mut().zip(row).zip(&means) {
            *unit = unit.max((value - mean).abs());
        }
    }
    units
        .iter_mut()
        .for_each(|unit| *unit = power_of_two_below(*unit));
    let variances = average(&|column, value| ((value - means[column]) / units[column]).powi(2));
    let deviation = |(variance, unit): (f64, f64)| match variance > 0.0 {
        true => variance.sqrt() * unit,
        false => 1.0,
    };
    let deviations = variances.into_iter().zip(units).map(deviation).collect();
    (means, deviations)
}

/// The greatest power of two that is not above `reach`, by which no digit of a number changes; one
/// for zero.
fn power_of_two_below(reach: f64) -> f64 {
    /// The exponent among the bits of a number.
    const EXPONENT: u64 = 0x7ff << 52;
    match reach == 0.0 {
        true => 1.0,
        false => f64::from_bits(reach.to_bits() & EXPONENT).max(f64::MIN_POSITIVE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(values: &[f64], weights: Option<&[f64]>) -> InputTable {
        InputTable {
            file: "in.csv".to_owned(),
            names: vec!["a".to_owned(), "b".to_owned()],
            values: values.to_vec(),
            weights: weights.map(|weights| ("w".to_owned(), weights.to_vec())),
            kept: Vec::new(),
            left_out: Vec::new(),
            dropped: Vec::new(),
            filled: 0,
        }
    }

    #[test]
    fn standardised_columns_have_mean_0_and_deviation_1_and_come_back() {
        let values = [1e9 + 1.0, 7.0, 1e9 + 3.0, 7.0, 1e9 + 5.0, 7.0];
        let placed = Placed::new(table(&values, None), false, true).unwrap();
        let first: Vec<f64> = placed.points.values().iter().copied().step_by(2).collect();
        assert!(first.iter().sum::<f64>().abs() < 1e-12);
        assert!((first.iter().map(|v| v * v).sum::<f64>() - 3.0).abs() < 1e-12);
        assert_eq!(placed.space.centre(placed.points.row(2)), [1e9 + 5.0, 7.0]);
        assert_eq!(placed.values(), values);
    }

    #[test]
    fn a_column_of_equal_values_has_deviation_1_also_where_its_mean_would_be_rounded() {
        let mut values: Vec<f64> = (0..10).flat_map(|row| [f64::from(row), 0.1]).collect();
        let mut weights = vec![0.3; 10];
        let plain = Placed::new(table(&values, None), false, true).unwrap();
        let equal = Placed::new(table(&values, Some(&weights)), false, true).unwrap();
        // What has no weight does not count.
        values.extend([10.0, 7.0]);
        weights.push(0.0);
        let beside = Placed::new(table(&values, Some(&weights)), false, true).unwrap();
        for placed in [plain, equal, beside] {
            let Space::Standardised { means, deviations } = &placed.space else {
                panic!("not standardised");
            };
            assert_eq!((means[1], deviations[1]), (0.1, 1.0));
            let second = placed.points.values().iter().skip(1).step_by(2).take(10);
            assert!(second.copied().all(|value| value == 0.0));
        }
    }

    #[test]
    fn columns_whose_squares_are_no_numbers_are_standardised() {
        for unit in [1e200, 1e-200, 1e300, f64::MIN_POSITIVE] {
            let values = [1.0, 0.0, 2.0, unit, 3.0, 3.0 * unit, 4.0, 4.0 * unit];
            let placed = Placed::new(table(&values, None), false, true).unwrap();
            let second: Vec<f64> = placed
                .points
                .values()
                .iter()
                .copied()
                .skip(1)
                .step_by(2)
                .collect();
            // The mean of 0, 1, 3 and 4 is 2, the variance 2.5.
            let wanted = [-2.0, -1.0, 1.0, 2.0].map(|away: f64| away / 2.5_f64.sqrt());
            for (found, wanted) in second.iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-12, "{unit}: {second:?}");
            }
        }
    }

    #[test]
    fn a_row_of_weight_0_takes_the_others_no_digits_when_columns_are_standardised() {
        for far in [1e200, -1.7e308] {
            let values = [0.0, 1e-160, 4.0, 3e-160, far, far];
            let placed = Placed::new(table(&values, Some(&[1.0, 1.0, 0.0])), false, true).unwrap();
            let near = [[-1.0, -1.0], [1.0, 1.0]].concat();
            for (found, wanted) in placed.points.values().iter().zip(near) {
                assert!((found - wanted).abs() < 1e-12, "{far}: {found}");
            }
        }
    }

    #[test]
    fn weights_count_when_columns_are_standardised() {
        let one = Placed::new(table(&[0.0, 0.0, 4.0, 1.0], Some(&[3.0, 1.0])), false, true);
        let copies = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 1.0];
        let four = Placed::new(table(&copies, None), false, true);
        let (Space::Standardised { means, deviations }, Space::Standardised { means: m, .. }) =
            (one.unwrap().space, four.unwrap().space)
        else {
            panic!("not standardised");
        };
        assert_eq!((means, m), (vec![1.0, 0.25], vec![1.0, 0.25]));
        assert!((deviations[0] - 3.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn places_on_the_globe_come_back_as_degrees() {
        let placed = Placed::new(table(&[48.4, 9.99, -33.9, 151.2], None), true, false).unwrap();
        assert_eq!(placed.points.dim(), 3);
        let back = placed.space.centre(placed.points.row(1));
        assert!((back[0] + 33.9).abs() < 1e-9 && (back[1] - 151.2).abs() < 1e-9);
        assert_eq!(placed.space.spread_unit(), Some("km"));
    }
}
