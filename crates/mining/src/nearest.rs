//! Rows and the centres of a clustering: the nearest, and how far all are.

use crate::coordinate_map::CoordinateMap;
use crate::hard::{Centres, HardScratch};
use crate::lanes::Instructions;
use crate::tiles::Tiles;
use crate::{DataError, Points};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Inner coordinates up to this have squares and sums of squares that are numbers. Rows so far away
/// are as far from all centres.
const FARTHEST: f64 = 1e150;

/// Rows that are labelled at a time.
const ROWS: usize = 4096;

/// Centres in inner coordinates, and the way there: what labels are found by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InnerCentres {
    frame: CoordinateMap,
    centres: Vec<f64>,
}

impl InnerCentres {
    pub(crate) fn new(frame: CoordinateMap, centres: Vec<f64>) -> InnerCentres {
        InnerCentres { frame, centres }
    }

    /// The nearest centre of each of these rows, the first of equals.
    pub(crate) fn label(
        &self,
        points: &Points,
        rows: Range<usize>,
        instructions: Instructions,
        scratch: &mut HardScratch,
    ) -> Vec<u32> {
        let dim = points.dim();
        let mut inner = Vec::with_capacity(rows.len() * dim);
        for row in rows {
            self.frame.enter(points.row(row), &mut inner);
        }
        let far = inner.iter_mut().filter(|value| value.abs() > FARTHEST);
        far.for_each(|value| *value = FARTHEST.copysign(*value));
        let tiles = Tiles::new(dim, inner.chunks_exact(dim).map(|row| (row, 0.0)));
        let centres = Centres::new(dim, &self.centres);
        let all = 0..tiles.len();
        let found = centres.label::<false>(instructions, &tiles, all, scratch);
        found.labels
    }

    /// The distances of a row from all centres, in the units of the data.
    fn distances(&self, row: &[f64], inner: &mut Vec<f64>, to: &mut Vec<f64>) {
        inner.clear();
        self.frame.enter(row, inner);
        for centre in self.centres.chunks_exact(row.len()) {
            let sides = inner.iter().zip(centre).map(|(x, y)| x - y);
            let square: f64 = sides.clone().map(|side| side * side).sum();
            to.push(if square.is_normal() {
                self.frame.length(square.sqrt())
            } else if inner.iter().all(|x| x.is_finite()) {
                self.frame.length(length(sides))
            } else {
                let outer = self.frame.leave(centre);
                length(row.iter().zip(&outer).map(|(x, y)| x - y))
            });
        }
    }

    /// The nearest centre of each row.
    ///
    /// # Errors
    /// Other columns than the centres have.
    pub(crate) fn predict(&self, points: &Points) -> Result<Vec<u32>, DataError> {
        self.check(points)?;
        let (instructions, mut scratch) = (Instructions::best(), HardScratch::default());
        let mut labels = Vec::with_capacity(points.len());
        for begin in (0..points.len()).step_by(ROWS) {
            let rows = begin..points.len().min(begin + ROWS);
            labels.extend(self.label(points, rows, instructions, &mut scratch));
        }
        Ok(labels)
    }

    /// The distances of each row from all centres.
    ///
    /// # Errors
    /// As [`InnerCentres::predict`].
    pub(crate) fn transform(&self, points: &Points) -> Result<Vec<f64>, DataError> {
        self.check(points)?;
        let (mut distances, mut inner) = (Vec::new(), Vec::with_capacity(points.dim()));
        for row in 0..points.len() {
            self.distances(points.row(row), &mut inner, &mut distances);
        }
        Ok(distances)
    }

    fn check(&self, points: &Points) -> Result<(), DataError> {
        let (columns, fitted) = (points.dim(), self.frame.dim());
        match columns == fitted {
            true => Ok(()),
            false => Err(DataError::Columns { columns, fitted }),
        }
    }
}

/// The length of a vector whose squares may be less or more than any number.
pub(crate) fn length(sides: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = sides
        .clone()
        .fold(0.0, |most, side| f64::max(most, side.abs()));
    if most == 0.0 || most.is_infinite() {
        return most;
    }
    most * sides.map(|side| (side / most).powi(2)).sum::<f64>().sqrt()
}
