//! The layout that the kernels read: rows in tiles, columns of a tile as lanes.
//!
//! ```text
//!  block = 8 tiles = 512 rows          one entry of a dyadic sum
//!  tile  = 8 lane groups = 64 rows     column 0 (8 lanes × 8), column 1, …, weights
//! ```

use crate::lanes::{F64x8, LANES};

/// Lane groups per tile.
pub(crate) const GROUPS: usize = 8;
/// Rows per tile.
pub(crate) const TILE: usize = GROUPS * LANES;
/// Up to this many columns a tile has a bounding box, so that far centres can be left out.
pub(crate) const BOXED: usize = 8;

/// One column of one tile.
pub(crate) type Column = [F64x8; GROUPS];

/// Rows in tiles. The last tile is padded with copies of its first row that weigh nothing.
#[derive(Debug)]
pub(crate) struct Tiles {
    dim: usize,
    rows: usize,
    /// `dim` coordinate columns and one weight column per tile.
    columns: Vec<Column>,
    /// Lowest and highest corner per tile, `2 × dim`; empty above [`BOXED`] columns.
    corners: Vec<f64>,
}

impl Tiles {
    /// Copies rows into tiles; `rows` gives each row and its weight.
    pub(crate) fn new<R: AsRef<[f64]>>(dim: usize, rows: impl Iterator<Item = (R, f64)>) -> Tiles {
        let mut tiles = Tiles {
            dim,
            rows: 0,
            columns: Vec::new(),
            corners: Vec::new(),
        };
        for (row, weight) in rows {
            tiles.push(row.as_ref(), weight);
        }
        if dim <= BOXED {
            tiles.add_corners();
        }
        tiles
    }

    fn push(&mut self, row: &[f64], weight: f64) {
        let place = self.rows % TILE;
        if place == 0 {
            self.columns
                .extend(row.iter().map(|&value| [F64x8::splat(value); GROUPS]));
            self.columns.push([F64x8::splat(0.0); GROUPS]);
        }
        let (group, lane) = (place / LANES, place % LANES);
        let first = self.columns.len() - self.dim - 1;
        for (column, &value) in self.columns[first..]
            .iter_mut()
            .zip(row.iter().chain([&weight]))
        {
            column[group][lane] = value;
        }
        self.rows += 1;
    }

    fn add_corners(&mut self) {
        for tile in self.columns.chunks_exact(self.dim + 1) {
            let columns = tile[..self.dim].iter();
            let low = columns.clone().map(|column| extreme(column, |a, b| a < b));
            self.corners.extend(low);
            let high = columns.map(|column| extreme(column, |a, b| a > b));
            self.corners.extend(high);
        }
    }

    /// The number of tiles.
    pub(crate) fn len(&self) -> usize {
        self.rows.div_ceil(TILE)
    }

    /// The number of rows without padding.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The columns of one tile; the last is the weights.
    #[inline(always)]
    pub(crate) fn tile(&self, tile: usize) -> &[Column] {
        &self.columns[tile * (self.dim + 1)..][..self.dim + 1]
    }

    /// A copy of one row, counted from the first row of `tile`.
    pub(crate) fn row(&self, tile: usize, row: usize) -> Vec<f64> {
        let (tile, place) = (tile + row / TILE, row % TILE);
        self.tile(tile)[..self.dim]
            .iter()
            .map(|c| c[place / LANES][place % LANES])
            .collect()
    }

    /// The lowest and the highest corner of one tile, if tiles have boxes.
    #[inline(always)]
    pub(crate) fn corners(&self, tile: usize) -> Option<(&[f64], &[f64])> {
        let corners = self
            .corners
            .get(tile * 2 * self.dim..(tile + 1) * 2 * self.dim)?;
        Some(corners.split_at(self.dim))
    }

    /// The same tiles, from which no centre is left out.
    #[cfg(test)]
    pub(crate) fn without_boxes(&self) -> Tiles {
        let (dim, rows) = (self.dim, self.rows);
        Tiles {
            dim,
            rows,
            columns: self.columns.clone(),
            corners: Vec::new(),
        }
    }
}

/// The value that comes before all others. It is found lane by lane over the groups, so that the
/// compiler can take eight at a time, then over the lanes.
#[inline]
fn extreme(column: &Column, before: impl Fn(f64, f64) -> bool) -> f64 {
    let pick = |best: f64, value: f64| if before(value, best) { value } else { best };
    let mut lanes = column[0].0;
    for group in &column[1..] {
        for (best, &value) in lanes.iter_mut().zip(&group.0) {
            *best = pick(*best, value);
        }
    }
    lanes.into_iter().fold(column[0][0], pick)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn boxes_are_tight(values in prop::collection::vec(-1.0_f64..1.0, 2..400)) {
            let rows = values.chunks_exact(2);
            let tiles = Tiles::new(2, rows.clone().map(|row| (row, 1.0)));
            let rows: Vec<&[f64]> = rows.collect();
            for (tile, rows) in rows.chunks(TILE).enumerate() {
                let (low, high) = tiles.corners(tile).unwrap();
                for j in 0..2 {
                    let column = rows.iter().map(|row| row[j]);
                    prop_assert_eq!(low[j], column.clone().fold(f64::INFINITY, f64::min));
                    prop_assert_eq!(high[j], column.fold(f64::NEG_INFINITY, f64::max));
                }
            }
        }
    }
}
