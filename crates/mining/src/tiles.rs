//! The layout that the kernels read: rows in tiles, columns of a tile as lanes.
//!
//! ```text
//!  block = 8 tiles = 512 rows          one entry of a dyadic sum
//!  tile  = 8 lane groups = 64 rows     column 0 (8 lanes × 8), column 1, …, weights
//! ```

use crate::lanes::{LANES, Lane};

/// Lane groups per tile.
pub(crate) const GROUPS: usize = 8;
/// Rows per tile.
pub(crate) const TILE: usize = GROUPS * LANES;
/// Up to this many columns a tile has a bounding box, so that far centres can be left out.
pub(crate) const BOXED: usize = 8;

/// One column of one tile.
pub(crate) type Column = [Lane; GROUPS];

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
            tiles.corners = (0..tiles.len())
                .flat_map(|tile| tiles.corners_of(tile))
                .collect();
        }
        tiles
    }

    fn push(&mut self, row: &[f64], weight: f64) {
        let place = self.rows % TILE;
        if place == 0 {
            self.columns
                .extend(row.iter().map(|&value| [Lane::splat(value); GROUPS]));
            self.columns.push([Lane::splat(0.0); GROUPS]);
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

    fn corners_of(&self, tile: usize) -> Vec<f64> {
        let columns = &self.tile(tile)[..self.dim];
        let fold = |start: f64, pick: fn(f64, f64) -> f64| {
            columns
                .iter()
                .map(move |c| c.iter().flat_map(|l| l.0).fold(start, pick))
        };
        fold(f64::INFINITY, f64::min)
            .chain(fold(f64::NEG_INFINITY, f64::max))
            .collect()
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
