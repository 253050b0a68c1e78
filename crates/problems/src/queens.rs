//! N queens.

use motet_search::Tree;
use serde::{Deserialize, Serialize};

/// Queens on the first rows of a board, none of which attacks another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queens {
    /// Rows and columns of the board, at most 32.
    pub size: u32,
}

/// Some rows with a queen each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueenRows {
    /// Columns with a queen.
    columns: u32,
    /// Columns of the next row that a queen attacks along a diagonal.
    left: u32,
    right: u32,
}

impl Queens {
    /// Whether there is a queen in each row.
    #[must_use]
    #[inline]
    pub fn is_solution(self, rows: &QueenRows) -> bool {
        rows.count() == self.size
    }

    #[inline]
    fn all(self) -> u32 {
        // No shift is by all bits of the word: a board may have no rows, or 32.
        ((1_u64 << self.size) - 1) as u32
    }

    /// The solutions and nodes below `rows`, by plain recursion: what a search is measured against.
    #[must_use]
    pub fn plain(self, rows: QueenRows) -> [u64; 2] {
        let mut sum = [u64::from(self.is_solution(&rows)), 1];
        let mut free = self.all() & !(rows.columns | rows.left | rows.right);
        while free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            let below = self.plain(rows.with(queen));
            sum = [sum[0] + below[0], sum[1] + below[1]];
        }
        sum
    }
}

impl QueenRows {
    /// How many they are.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u32 {
        self.columns.count_ones()
    }

    #[inline]
    fn with(self, queen: u32) -> QueenRows {
        QueenRows {
            columns: self.columns | queen,
            left: (self.left | queen) << 1,
            right: (self.right | queen) >> 1,
        }
    }
}

impl Tree for Queens {
    type Node = QueenRows;

    fn root(&self) -> QueenRows {
        QueenRows {
            columns: 0,
            left: 0,
            right: 0,
        }
    }

    #[inline]
    fn children(&self, rows: &QueenRows, out: &mut Vec<QueenRows>) {
        let mut free = self.all() & !(rows.columns | rows.left | rows.right);
        while free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            out.push(rows.with(queen));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_without_rows_has_one_solution() {
        let queens = Queens { size: 0 };
        assert_eq!(queens.plain(queens.root()), [1, 1]);
        let sizes = [1, 8, 32].map(|size| Queens { size }.all());
        assert_eq!(sizes, [1, 255, u32::MAX]);
    }
}
