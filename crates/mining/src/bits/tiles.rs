//! The lists that the kernels read: of each row its columns, of each column its rows.

use super::Bits;
use std::ops::Range;

/// Rows of a tile. Its shares add up to 2³⁰ at most.
pub(super) const ROWS: usize = 512;

/// Some rows.
#[derive(Debug)]
pub(super) struct Tile {
    /// The number of the first row.
    pub(super) first: usize,
    /// Where the columns of each row begin; one more at the end.
    starts: Vec<u32>,
    columns: Vec<u16>,
    /// Where the rows of each column begin; one more at the end.
    tops: Vec<u32>,
    rows: Vec<u16>,
}

impl Tile {
    pub(super) fn new(bits: &Bits, range: Range<usize>) -> Tile {
        let (mut starts, mut columns) = (vec![0], Vec::new());
        let mut tops = vec![0_u32; bits.width() + 1];
        for row in range.clone() {
            columns.extend(bits.columns(row).map(|column| column as u16));
            starts.push(columns.len() as u32);
        }
        columns
            .iter()
            .for_each(|column| tops[usize::from(*column) + 1] += 1);
        for column in 0..bits.width() {
            tops[column + 1] += tops[column];
        }
        let (mut next, mut rows) = (tops.clone(), vec![0; columns.len()]);
        for (row, ends) in starts.windows(2).enumerate() {
            for &column in &columns[ends[0] as usize..ends[1] as usize] {
                let place = &mut next[usize::from(column)];
                rows[*place as usize] = row as u16;
                *place += 1;
            }
        }
        Tile {
            first: range.start,
            starts,
            columns,
            tops,
            rows,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The set columns of a row, counted from the first of the tile.
    #[inline(always)]
    pub(super) fn columns(&self, row: usize) -> &[u16] {
        &self.columns[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// The rows in which a column is set, counted from the first of the tile.
    #[inline(always)]
    pub(super) fn rows(&self, column: usize) -> &[u16] {
        &self.rows[self.tops[column] as usize..self.tops[column + 1] as usize]
    }
}

/// The tiles of some rows.
pub(super) fn tiles(bits: &Bits, rows: Range<usize>) -> Vec<Tile> {
    let starts = rows.clone().step_by(ROWS);
    starts
        .map(|start| Tile::new(bits, start..rows.end.min(start + ROWS)))
        .collect()
}
