//! Connect four, and tic-tac-toe: three or four in a row on a small board.

use motet_search::{Game, Tree};
use serde::{Deserialize, Serialize};

/// A board on which stones fall to the lowest free square of a column; four in a row win.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectFour {
    /// Columns.
    pub width: u32,
    /// Rows; columns times (rows + 1) is at most 64.
    pub height: u32,
}

/// A board on which stones go anywhere; three in a row win.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicTacToe;

/// The stones of both. Each column has a bit more than rows, which stays 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stones {
    /// Of the one who is to move.
    own: u64,
    others: u64,
}

impl ConnectFour {
    fn column(self, column: u32) -> u64 {
        ((1 << self.height) - 1) << (column * (self.height + 1))
    }

    /// Whether four of the stones are in a row.
    fn wins(self, stones: u64) -> bool {
        let up = self.height + 1;
        let four = |step: u32| {
            let pairs = stones & stones >> step;
            pairs & pairs >> (2 * step) != 0
        };
        // Steps between the columns of a narrow, high board may be wider than a word.
        four(1) || self.width >= 4 && [up, up - 1, up + 1].into_iter().any(four)
    }
}

impl Tree for ConnectFour {
    type Node = Stones;

    fn root(&self) -> Stones {
        Stones { own: 0, others: 0 }
    }

    /// The middle columns first.
    fn children(&self, stones: &Stones, out: &mut Vec<Stones>) {
        let mut columns: Vec<u32> = (0..self.width).collect();
        columns.sort_by_key(|column| (2 * column + 1).abs_diff(self.width));
        let taken = stones.own | stones.others;
        for column in columns {
            let all = self.column(column);
            if taken & all != all {
                let lowest = 1 << (column * (self.height + 1));
                let stone = ((taken & all) + lowest) & all;
                out.push(Stones {
                    own: stones.others,
                    others: stones.own | stone,
                });
            }
        }
    }
}

impl Game for ConnectFour {
    fn leaf(&self, stones: &Stones, depth: u32) -> Option<i32> {
        if self.wins(stones.others) {
            return Some(-1);
        }
        let full = (stones.own | stones.others).count_ones() == self.width * self.height;
        (full || depth == 0).then_some(0)
    }

    fn key(&self, stones: &Stones) -> u64 {
        // The stones of the one who moves, and a stone on top of each column, tell the position.
        let bottom: u64 = (0..self.width)
            .map(|column| 1 << (column * (self.height + 1)))
            .sum();
        stones.own + (stones.own | stones.others) + bottom
    }
}

impl Tree for TicTacToe {
    type Node = Stones;

    fn root(&self) -> Stones {
        Stones { own: 0, others: 0 }
    }

    fn children(&self, stones: &Stones, out: &mut Vec<Stones>) {
        if three(stones.others) {
            return;
        }
        let squares = (0..9).map(|square| 1 << square);
        let free = squares.filter(|square| (stones.own | stones.others) & square == 0);
        out.extend(free.map(|square| Stones {
            own: stones.others,
            others: stones.own | square,
        }));
    }
}

impl Game for TicTacToe {
    fn leaf(&self, stones: &Stones, depth: u32) -> Option<i32> {
        if three(stones.others) {
            return Some(-1);
        }
        (stones.own | stones.others == 0x1ff || depth == 0).then_some(0)
    }

    fn key(&self, stones: &Stones) -> u64 {
        stones.own << 9 | stones.others
    }
}

fn three(stones: u64) -> bool {
    [0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124]
        .iter()
        .any(|row| stones & row == *row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_narrow_boards_only_four_above_each_other_win() {
        for (width, height) in [(1, 63), (2, 31), (3, 20)] {
            let board = ConnectFour { width, height };
            let bottom = (0..width).map(|column| 1_u64 << (column * (height + 1)));
            let bottom: u64 = bottom.sum();
            assert!(!board.wins(bottom | bottom << 1), "{board:?}");
            assert!(board.wins(bottom | 0b1111), "{board:?}");
        }
    }
}
