//! Passes over all pairs, and the step of majorisation.

use super::kernel::{Images, known_part};
use crate::lanes::run;
use crate::power::power_of_two_above;
use crate::rank_view::RankView;
use crate::{DataError, Dissimilarities, MiningError};
use std::ops::Range;

/// The conjugate gradients end when the residual is below this share of the first.
const EXACT: f64 = 1e-14;

/// What all computations of one run share.
pub(super) struct Field<'a> {
    pub(super) team: &'a RankView<'a>,
    pub(super) data: &'a Dissimilarities,
    pub(super) dim: usize,
    /// The rows of this rank.
    pub(super) rows: Range<usize>,
    /// Distances, places and temperatures are counted in this, squares in its square. It is a power
    /// of two, so it changes no bit of a significand, and keeps squares of squares in range.
    pub(super) unit: f64,
}

/// What is known of the pairs, in units of the field.
pub(super) struct Known {
    /// The largest distance.
    pub(super) largest: f64,
    /// Σ D² over the pairs.
    pub(super) squares: f64,
    /// The share of the pairs that are not known.
    pub(super) unknown: f64,
    /// Per row the mean of the known D².
    pub(super) means: Vec<f64>,
}

/// B(Y) Y, and the stress of Y.
pub(super) struct Image {
    pub(super) rows: Vec<f64>,
    pub(super) stress: f64,
    /// Σ D² of the shortened distances.
    pub(super) whole: f64,
}

impl<'a> Field<'a> {
    pub(super) fn new(
        team: &'a RankView<'a>,
        data: &'a Dissimilarities,
        dim: usize,
    ) -> Result<Field<'a>, MiningError> {
        if data.has_gaps() {
            linked(data).map_err(MiningError::Data)?;
        }
        Ok(Field {
            team,
            data,
            dim,
            rows: team.share(data.len()),
            unit: 1.0,
        })
    }

    /// One row of distances in units of the field.
    pub(super) fn read(&self, row: usize, line: &mut [f64]) {
        self.data.read(row, line);
        let scale = 1.0 / self.unit;
        line.iter_mut().for_each(|value| *value *= scale);
    }

    /// A square in the units of the data.
    pub(super) fn square(&self, square: f64) -> f64 {
        square * self.unit * self.unit
    }

    /// Numbers of all rows, of which each rank has made those of its own.
    pub(super) async fn gather(&self, mine: Vec<f64>) -> Result<Vec<f64>, MiningError> {
        let cancelled = self.team.control.is_cancelled();
        self.team.gather(cancelled, mine).await
    }

    /// Finds the unit of the field, and what is known of the pairs.
    pub(super) async fn known(&mut self) -> Result<Known, MiningError> {
        let n = self.data.len();
        let mut line = vec![0.0; n];
        let mut mine = Vec::with_capacity(4 * self.rows.len());
        for row in self.rows.clone() {
            self.data.read(row, &mut line);
            let known = line.iter().filter(|value| !value.is_nan());
            // NaN is not larger than anything.
            let largest = line.iter().copied().fold(0.0, f64::max);
            let own = power_of_two_above(largest);
            let (mut count, mut squares) = (0, 0.0);
            for value in known {
                count += 1;
                squares += (value / own) * (value / own);
            }
            mine.extend([
                largest,
                squares,
                f64::from(count),
                squares / f64::from(count),
            ]);
        }
        let all = self.gather(mine).await?;
        let rows = all.as_chunks::<4>().0;
        let known: f64 = rows.iter().map(|row| row[2]).sum();
        let largest = rows.iter().map(|row| row[0]).fold(0.0, f64::max);
        self.unit = power_of_two_above(largest);
        // The squares of a row are in a unit of its own.
        let squared = |row: &[f64; 4]| match row[0] > 0.0 {
            true => (power_of_two_above(row[0]) / self.unit).powi(2),
            false => 0.0,
        };
        let squares = rows.iter().map(|row| row[1] * squared(row));
        Ok(Known {
            largest: largest / self.unit,
            squares: squares.sum::<f64>() / 2.0,
            unknown: 1.0 - known / (n * n) as f64,
            means: rows.iter().map(|row| row[3] * squared(row)).collect(),
        })
    }

    /// B(Y) Y with distances shortened by `short`, and the stress.
    pub(super) async fn image(&self, places: &[f64], short: f64) -> Result<Image, MiningError> {
        let task = Images {
            data: self.data,
            scale: 1.0 / self.unit,
            rows: self.rows.clone(),
            places,
            dim: self.dim,
            short,
        };
        let all = self.gather(run(self.team.instructions, task)).await?;
        let rows = all.chunks_exact(self.dim + 2);
        Ok(Image {
            stress: rows.clone().map(|row| row[0]).sum::<f64>() / 2.0,
            whole: rows.clone().map(|row| row[1]).sum::<f64>() / 2.0,
            rows: rows.flat_map(|row| &row[2..]).copied().collect(),
        })
    }

    pub(super) async fn stress(&self, places: &[f64]) -> Result<f64, MiningError> {
        Ok(self.image(places, 0.0).await?.stress)
    }

    /// The places after a step: V Y = B(Y) Y, with V the Laplacian of the known pairs.
    pub(super) async fn step(
        &self,
        places: &[f64],
        image: &Image,
    ) -> Result<Vec<f64>, MiningError> {
        let n = self.data.len() as f64;
        if !self.data.has_gaps() {
            return Ok(image.rows.iter().map(|value| value / n).collect());
        }
        // Conjugate gradients from the places so far, in the space of zero column sums.
        let mut found = places.to_vec();
        self.centre(&mut found);
        let product = self.laplacian(&found).await?;
        let mut rest: Vec<f64> = image
            .rows
            .iter()
            .zip(&product)
            .map(|(b, v)| b - v)
            .collect();
        self.centre(&mut rest);
        let mut along = rest.clone();
        let mut square = dot(&rest, &rest);
        let least = EXACT * EXACT * dot(&image.rows, &image.rows);
        for _ in 0..self.data.len() + 50 {
            if square <= least {
                break;
            }
            let product = self.laplacian(&along).await?;
            let step = square / dot(&along, &product);
            for (at, found) in found.iter_mut().enumerate() {
                *found += step * along[at];
                rest[at] -= step * product[at];
            }
            self.centre(&mut rest);
            let new = dot(&rest, &rest);
            let turn = new / square;
            square = new;
            along
                .iter_mut()
                .zip(&rest)
                .for_each(|(a, r)| *a = r + turn * *a);
        }
        Ok(found)
    }

    /// V X with V the Laplacian of the known pairs.
    async fn laplacian(&self, x: &[f64]) -> Result<Vec<f64>, MiningError> {
        let n = self.data.len();
        let mut line = vec![0.0; n];
        let mut mine = Vec::with_capacity(self.rows.len() * self.dim);
        for row in self.rows.clone() {
            self.data.read(row, &mut line);
            mine.extend(known_part(&line, row, x, self.dim));
        }
        self.gather(mine).await
    }

    /// Moves the mean of all rows to zero.
    pub(super) fn centre(&self, x: &mut [f64]) {
        let n = (x.len() / self.dim) as f64;
        for j in 0..self.dim {
            let column = x.iter().skip(j).step_by(self.dim);
            let mean = column.sum::<f64>() / n;
            x.iter_mut()
                .skip(j)
                .step_by(self.dim)
                .for_each(|value| *value -= mean);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Refuses pairs that do not link all rows.
fn linked(data: &Dissimilarities) -> Result<(), DataError> {
    let n = data.len();
    let (mut reached, mut next, mut line) = (vec![false; n], vec![0], vec![0.0; n]);
    reached[0] = true;
    while let Some(row) = next.pop() {
        data.read(row, &mut line);
        for (column, value) in line.iter().enumerate() {
            if !value.is_nan() && !reached[column] {
                reached[column] = true;
                next.push(column);
            }
        }
    }
    match reached.iter().position(|reached| !reached) {
        Some(row) => Err(DataError::NotLinked { row }),
        None => Ok(()),
    }
}
