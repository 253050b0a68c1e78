//! Rows cut into fixed blocks, of which a rank holds its share as tiles.

use crate::MiningError;
use crate::team::Team;
use crate::tiles::{TILE, Tiles};
use std::ops::Range;

/// From this many rows on, a block has eight tiles instead of one.
const MANY: usize = 16_384;

/// This rank's share of some rows.
///
/// The cut depends on the number of rows alone, never on the number of ranks.
#[derive(Debug)]
pub(crate) struct Blocks {
    tiles: Tiles,
    /// The number of rows of all ranks.
    rows: usize,
    /// The number of blocks of all ranks.
    count: usize,
    /// The first block of this rank.
    first: usize,
    tiles_per_block: usize,
}

impl Blocks {
    /// Copies this rank's share of `rows` rows.
    pub(crate) fn new<'r>(
        team: &Team<'_>,
        dim: usize,
        rows: usize,
        row: impl Fn(usize) -> (&'r [f64], f64),
    ) -> Blocks {
        let tiles_per_block = if rows < MANY { 1 } else { 8 };
        let size = tiles_per_block * TILE;
        let count = rows.div_ceil(size);
        let share = team.share(count);
        let mine = share.start * size..rows.min(share.end * size);
        Blocks {
            tiles: Tiles::new(dim, mine.map(row)),
            count,
            first: share.start,
            rows,
            tiles_per_block,
        }
    }

    /// Combines one value per block over all ranks; `value` gets this rank's tiles and which of
    /// them make up the block.
    pub(crate) async fn reduce<T: Clone + Send + Sync + 'static>(
        &self,
        team: &Team<'_>,
        mut value: impl FnMut(&Tiles, Range<usize>) -> T,
        combine: fn(T, T) -> T,
    ) -> Result<Option<T>, MiningError> {
        team.reduce(
            self.count,
            |block| value(&self.tiles, self.tiles_of(block)),
            combine,
        )
        .await
    }

    /// Adds up one value per block over all ranks, element by element.
    pub(crate) async fn sum(
        &self,
        team: &Team<'_>,
        mut value: impl FnMut(&Tiles, Range<usize>) -> Vec<f64>,
    ) -> Result<Vec<f64>, MiningError> {
        team.sum(self.count, |block| value(&self.tiles, self.tiles_of(block)))
            .await
    }

    /// The number of rows of all ranks.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of the first row of some of this rank's tiles.
    pub(crate) fn first_row(&self, tiles: &Range<usize>) -> usize {
        (self.first * self.tiles_per_block + tiles.start) * TILE
    }

    fn tiles_of(&self, block: usize) -> Range<usize> {
        let start = (block - self.first) * self.tiles_per_block;
        start..self.tiles.len().min(start + self.tiles_per_block)
    }
}
