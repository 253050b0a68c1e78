//! Places of new rows among those that have places.
//!
//! Source: S. Bae, J. Y. Choi, J. Qiu and G. Fox, Dimension reduction and visualization of large
//! high-dimensional data via interpolation, HPDC (2010).

use super::Scaled;
use crate::DataError;
use crate::power::power_of_two_above;

/// Steps at most.
const STEPS: usize = 100;
/// A step below this share of the largest distance is the last.
const STILL: f64 = 1e-9;

impl Scaled {
    /// Places of new rows: `distances` has those of each to all rows that have places, row after
    /// row. Each is placed by itself among its `neighbours` nearest ones. NaN is not known.
    ///
    /// # Errors
    ///
    /// [`DataError::Ragged`]; [`DataError::NotFinite`] or [`DataError::NegativePair`] with the
    /// first bad row and column; [`DataError::NoKnownPair`].
    ///
    /// # Examples
    ///
    /// ```
    /// use motet_comm::World;
    /// use motet_mining::{Control, Dissimilarities, Scaling};
    ///
    /// let at = [0.0_f64, 1.0, 2.0, 3.0];
    /// let pairs = at.iter().flat_map(|x| at.iter().map(move |y| (x - y).abs()));
    /// let pairs = Dissimilarities::new(pairs.collect(), 4)?;
    /// let method = Scaling { dim: 1, ..Scaling::default() };
    /// let found = World::solo()
    ///     .run(async |comm| method.fit(&comm, &pairs, &Control::default()).await)
    ///     .unwrap()
    ///     .remove(0);
    /// let new = found.interpolate(&[1.5, 0.5, 0.5, 1.5], 4)?;
    /// assert!(new[0].abs() < 0.01, "in the middle: {new:?}");
    /// # Ok::<(), motet_mining::DataError>(())
    /// ```
    pub fn interpolate(&self, distances: &[f64], neighbours: usize) -> Result<Vec<f64>, DataError> {
        let placed = self.places.len() / self.dim;
        if !distances.len().is_multiple_of(placed) {
            return Err(DataError::Ragged {
                values: distances.len(),
                dim: placed,
            });
        }
        let mut found = Vec::with_capacity(distances.len() / placed * self.dim);
        for (row, line) in distances.chunks_exact(placed).enumerate() {
            let mut near = Vec::new();
            for (column, &value) in line.iter().enumerate() {
                if value.is_infinite() {
                    return Err(DataError::NotFinite { row, column, value });
                }
                if value < 0.0 {
                    return Err(DataError::NegativePair { row, column, value });
                }
                if !value.is_nan() {
                    near.push((value, column));
                }
            }
            if near.is_empty() {
                return Err(DataError::NoKnownPair { row });
            }
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(neighbours.max(1));
            found.extend(self.between(&near));
        }
        Ok(found)
    }

    /// The place at some distances from some rows.
    fn between(&self, near: &[(f64, usize)]) -> Vec<f64> {
        let reach = near.iter().map(|(value, _)| *value).fold(0.0, f64::max);
        let numbers = near.iter().flat_map(|(_, row)| self.place(*row));
        // All is counted in a power of two, which changes no bit: so squares stay in range.
        let unit = power_of_two_above(numbers.fold(reach, |most, y| most.max(y.abs())));
        let inner = |(wanted, row): &(f64, usize)| {
            let place = self.place(*row).iter().map(|y| y / unit);
            (wanted / unit, place.collect())
        };
        let near: Vec<(f64, Vec<f64>)> = near.iter().map(inner).collect();
        let mut place = between(&near, self.dim, reach / unit);
        place.iter_mut().for_each(|x| *x *= unit);
        place
    }
}

/// The place at some distances, of which `reach` is the largest, from some places.
fn between(near: &[(f64, Vec<f64>)], dim: usize, reach: f64) -> Vec<f64> {
    let count = near.len() as f64;
    let mut mean = vec![0.0; dim];
    for (_, other) in near {
        let pairs = mean.iter_mut().zip(other);
        pairs.for_each(|(mean, y)| *mean += y / count);
    }
    // Steps never leave the flat through the place and its neighbours.
    let mut place = mean.clone();
    place[0] += 1e-3 * reach;
    for _ in 0..STEPS {
        let mut new = mean.clone();
        for (wanted, other) in near {
            let pairs = place.iter().zip(other);
            let square: f64 = pairs.clone().map(|(x, y)| (x - y) * (x - y)).sum();
            if square > 0.0 {
                let ratio = wanted / square.sqrt() / count;
                for (new, (x, y)) in new.iter_mut().zip(pairs) {
                    *new += ratio * (x - y);
                }
            }
        }
        let pairs = new.iter().zip(&place);
        let moved = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        place = new;
        if moved <= STILL * reach {
            break;
        }
    }
    place
}
