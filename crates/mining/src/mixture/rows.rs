//! The rows of a block in lanes, and the room for what is made of them.

use crate::lanes::{F64x8, LANES};

/// Rows of a block at most.
pub(super) const ROWS: usize = 512;

/// Rows of a block, eight side by side: for each eight, one lane per column.
#[derive(Debug)]
pub(super) struct Tiles {
    pub(super) dim: usize,
    /// Rows of a tile that are not there have weight 0.
    pub(super) weights: Vec<F64x8>,
    pub(super) columns: Vec<F64x8>,
}

impl Tiles {
    pub(super) fn new(dim: usize, rows: &[f64], weights: &[f64]) -> Tiles {
        let mut tiles = Tiles {
            dim,
            weights: Vec::new(),
            columns: Vec::new(),
        };
        for (number, (row, weight)) in rows.chunks_exact(dim).zip(weights).enumerate() {
            let lane = number % LANES;
            if lane == 0 {
                tiles.weights.push(F64x8::default());
                tiles
                    .columns
                    .resize(tiles.columns.len() + dim, F64x8::default());
            }
            let tile = tiles.weights.len() - 1;
            tiles.weights[tile][lane] = *weight;
            for (column, value) in tiles.columns[tile * dim..].iter_mut().zip(row) {
                column[lane] = *value;
            }
        }
        tiles
    }
}

/// Room that is kept between blocks.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Per component and tile the terms, then the shares.
    pub(super) shares: Vec<F64x8>,
    /// Per tile log₂ p of its rows.
    pub(super) logs: Vec<F64x8>,
    pub(super) products: Vec<F64x8>,
    /// Distances from a mean, and their products with the shares: per column, or per column
    /// and tile.
    pub(super) z: Vec<F64x8>,
    pub(super) weighted: Vec<F64x8>,
}

impl Scratch {
    /// The component with the largest share in a row, the first of equals.
    pub(super) fn largest(&self, components: usize, row: usize) -> usize {
        let count = self.logs.len();
        let share = |k: usize| self.shares[k * count + row / LANES][row % LANES];
        (1..components).fold(0, |best, k| if share(k) > share(best) { k } else { best })
    }
}
