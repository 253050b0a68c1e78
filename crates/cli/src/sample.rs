//! `--sample`: some rows are clustered, the others are given to the clusters of these.

use motet_mining::{Clustering, DataError, Points, Sampling};
use serde::Serialize;

use crate::text::grouped;

/// A sample of the rows that is to be clustered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RowSample {
    /// How it is drawn.
    pub(crate) sampling: Sampling,
    /// How many are drawn; the best is kept.
    pub(crate) draws: usize,
}

/// What was clustered in place of all rows.
#[derive(Debug, Clone, Serialize)]
pub struct Sampled {
    /// The rows of the sample.
    pub rows: usize,
    /// All rows.
    pub of: usize,
    /// The seed of the draws.
    pub seed: u64,
    /// The samples that were drawn.
    pub draws: usize,
    /// The one that was kept, from 1.
    pub draw: usize,
    /// What clustering brought down: the cost, or the inertia, of the sample alone.
    pub cost: f64,
    /// The numbers of its rows, from 1.
    pub drawn: Vec<usize>,
}

impl Sampled {
    /// The sample of one draw, from 0, with these rows.
    pub(crate) fn new(
        sample: RowSample,
        draw: usize,
        of: usize,
        rows: &[usize],
        cost: f64,
    ) -> Sampled {
        Sampled {
            rows: rows.len(),
            of,
            seed: sample.sampling.seed,
            draws: sample.draws,
            draw: draw + 1,
            cost,
            drawn: rows.iter().map(|row| row + 1).collect(),
        }
    }

    /// What tables say of it.
    pub(crate) fn text(&self) -> String {
        let (rows, of) = (grouped(self.rows), grouped(self.of));
        let Sampled {
            draw, draws, seed, ..
        } = self;
        let which = match draws {
            1 => String::new(),
            _ => format!(", draw {draw} of {draws}"),
        };
        format!("{rows} of {of} rows were clustered, seed {seed}{which}; the others were given")
    }
}

/// The sample, unless it is all rows: these are clustered as they are.
pub(crate) fn smaller(sample: Option<RowSample>, rows: usize) -> Option<RowSample> {
    sample.filter(|sample| sample.sampling.size < rows)
}

/// Some of the points.
///
/// # Errors
/// Weights that are all zero.
pub(crate) fn some(points: &Points, rows: &[usize]) -> Result<Points, DataError> {
    let values = rows.iter().flat_map(|row| points.row(*row)).copied();
    let some = Points::new(values.collect(), points.dim())?;
    match points.weights() {
        Some(weights) => some.weighted(rows.iter().map(|row| weights[*row]).collect()),
        None => Ok(some),
    }
}

/// Gives all points to the clusters of a sample: to the nearest centres, which stay.
///
/// # Errors
/// Points with other columns.
pub(crate) fn give(found: &mut Clustering, points: &Points) -> Result<(), DataError> {
    let (clusters, dim) = (found.clusters(), found.dim);
    found.labels = found.predict(points)?;
    found.rows = 0..points.len();
    let (mut sizes, mut masses) = (vec![0; clusters], vec![0.0; clusters]);
    let mut squares = vec![0.0; clusters];
    for (row, &label) in found.labels.iter().enumerate() {
        let (label, weight) = (label as usize, points.weight(row));
        let pairs = points
            .row(row)
            .iter()
            .zip(&found.centres[label * dim..][..dim]);
        let square: f64 = pairs.map(|(x, y)| (x - y) * (x - y)).sum();
        sizes[label] += 1;
        masses[label] += weight;
        squares[label] += weight * square;
    }
    let spread = squares
        .iter()
        .zip(&masses)
        .map(|(square, mass)| match *mass > 0.0 {
            true => (square / mass).sqrt(),
            false => 0.0,
        });
    found.spread = spread.collect();
    found.inertia = squares.iter().sum();
    let total: f64 = masses.iter().sum();
    found.masses = masses.iter().map(|mass| mass / total).collect();
    found.sizes = sizes;
    found.constant_columns = points.constant_columns().to_vec();
    Ok(())
}
