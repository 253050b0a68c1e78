//! Rows cut into fixed blocks, of which a rank holds its share as tiles.
//!
//! Rows come in an order in which neighbours are neighbours in space. What a block costs depends on
//! where it lies: far centres are left out. So runs of blocks are dealt out in bit-reversed order,
//! of which every stretch of several runs is spread over all rows. Runs are as short as it takes
//! for 16 ranks to get four each, if there are as many blocks. Ranks then have about the same to
//! do. Where a rank gets a single run, nothing is spread.

use crate::MiningError;
use crate::rank_view::RankView;
use crate::tiles::{TILE, Tiles};
use motet_comm::Value;
use std::ops::Range;

/// From this many rows on, a block has eight tiles instead of one.
const MANY: usize = 16_384;
/// Blocks in a row that stay neighbours, at most.
const RUN: usize = 8;
/// Runs are shorter where there would be fewer.
const RUNS: usize = 64;

/// This rank's share of some rows.
///
/// The cut and the order depend on the number of rows alone, never on the number of ranks.
#[derive(Debug)]
pub(crate) struct Blocks {
    tiles: Tiles,
    /// The number of rows of all ranks.
    rows: usize,
    /// The place in `order` of this rank's first block.
    first: usize,
    /// The blocks of all ranks as they are dealt out; a last one that is not full stays last.
    order: Vec<u32>,
    tiles_per_block: usize,
}

impl Blocks {
    /// Copies this rank's share of `rows` rows.
    pub(crate) fn new<'r>(
        team: &RankView<'_>,
        dim: usize,
        rows: usize,
        row: impl Fn(usize) -> (&'r [f64], f64),
    ) -> Blocks {
        let tiles_per_block = if rows < MANY { 1 } else { 8 };
        let size = tiles_per_block * TILE;
        let count = rows.div_ceil(size);
        let order = deal(rows / size, count);
        let share = team.share(count);
        let mine = order[share.clone()].iter().flat_map(|&block| {
            let start = block as usize * size;
            start..rows.min(start + size)
        });
        Blocks {
            tiles: Tiles::new(dim, mine.map(row)),
            first: share.start,
            order,
            rows,
            tiles_per_block,
        }
    }

    /// Combines one value per block over all ranks; `value` gets this rank's tiles and which of
    /// them make up the block.
    pub(crate) async fn reduce<T: Clone + Value + Sync>(
        &self,
        team: &RankView<'_>,
        mut value: impl FnMut(&Tiles, Range<usize>) -> T,
        combine: fn(T, T) -> T,
    ) -> Result<Option<T>, MiningError> {
        team.reduce(
            self.order.len(),
            |block| value(&self.tiles, self.tiles_of(block)),
            combine,
        )
        .await
    }

    /// Adds up one value per block over all ranks, element by element. `fill` gets the tiles of a
    /// block, and where to put its numbers.
    pub(crate) async fn sum(
        &self,
        team: &RankView<'_>,
        mut fill: impl FnMut(&Tiles, Range<usize>, &mut Vec<f64>),
    ) -> Result<Vec<f64>, MiningError> {
        team.sum_filled(self.order.len(), |block, numbers| {
            fill(&self.tiles, self.tiles_of(block), numbers);
        })
        .await
    }

    /// How many blocks this rank has.
    pub(crate) fn own(&self) -> usize {
        self.tiles.len().div_ceil(self.tiles_per_block)
    }

    /// This rank's tiles, and which of them make up one of its blocks, counted from 0.
    pub(crate) fn block(&self, at: usize) -> (&Tiles, Range<usize>) {
        (&self.tiles, self.tiles_of(self.first + at))
    }

    /// The number of rows of all ranks.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of the first row of one of this rank's blocks, given as its tiles.
    pub(crate) fn first_row(&self, tiles: &Range<usize>) -> usize {
        let place = self.first + tiles.start / self.tiles_per_block;
        self.order[place] as usize * self.tiles_per_block * TILE
    }

    fn tiles_of(&self, block: usize) -> Range<usize> {
        let start = (block - self.first) * self.tiles_per_block;
        start..self.tiles.len().min(start + self.tiles_per_block)
    }
}

/// The blocks as they are dealt out: runs of full ones in bit-reversed order, then the one that is
/// not full.
fn deal(full: usize, count: usize) -> Vec<u32> {
    let run_length = (full / RUNS).clamp(1, RUN);
    let runs = full.div_ceil(run_length);
    let bits = runs.next_power_of_two().trailing_zeros();
    let reversed =
        (0..1_u64 << bits).map(|place| (place.reverse_bits() >> 1 >> (63 - bits)) as usize);
    reversed
        .filter(|&run| run < runs)
        .flat_map(|run| run * run_length..full.min((run + 1) * run_length))
        .chain(full..count)
        .map(|block| block as u32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_dealt_once_and_what_is_not_full_comes_last() {
        for full in 0..300 {
            for count in [full, full + 1] {
                let dealt = deal(full, count);
                let mut sorted = dealt.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count as u32).collect::<Vec<u32>>(), "{full}");
                assert!(count == full || dealt[full] == full as u32, "{full}");
            }
        }
    }

    #[test]
    fn few_blocks_are_spread_over_many_ranks_too() {
        for (blocks, ranks) in [(64, 8), (60, 6), (100, 10), (160, 20), (200, 16), (512, 16)] {
            let dealt = deal(blocks, blocks);
            for share in dealt.chunks_exact(blocks / ranks) {
                let sum: usize = share.iter().map(|&block| block as usize).sum();
                let middle = sum as f64 / (share.len() * blocks) as f64;
                assert!(
                    (0.3..0.7).contains(&middle),
                    "{blocks} among {ranks}: {share:?}"
                );
            }
        }
    }

    #[test]
    fn a_share_is_spread_over_all_blocks() {
        let blocks = RUNS * RUN;
        let dealt = deal(blocks, blocks);
        for ranks in [2, 4, 8, 16] {
            for share in dealt.chunks_exact(blocks / ranks) {
                // As many in each stretch of `ranks` runs as there are.
                for stretch in 0..RUNS / ranks {
                    let inside = share
                        .iter()
                        .filter(|&&b| b as usize / (ranks * RUN) == stretch);
                    assert_eq!(inside.count(), RUN, "{ranks} ranks, stretch {stretch}");
                }
            }
        }
    }
}
