//! The 15-puzzle, with the sum of distances as its bound (R. Korf, Depth-first iterative-deepening,
//! 1985).

use motet_search::{Bounded, Tree};
use serde::{Deserialize, Serialize};

/// A position to solve: the tile of each square, row by row, 0 for the gap. Solved they are in
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fifteen {
    /// The tiles.
    pub tiles: [u8; 16],
}

/// A position, and how it was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Four bits for each square.
    tiles: u64,
    gap: u8,
    /// The square of the gap before.
    before: u8,
    moves: u16,
    /// How far all tiles are from where they are to be.
    distance: u16,
}

impl Fifteen {
    /// Number 12 of Korf's hundred: 45 moves.
    pub const KORF_12: Fifteen = Fifteen {
        tiles: [14, 1, 9, 6, 4, 8, 12, 5, 7, 2, 3, 0, 10, 11, 13, 15],
    };
    /// Number 79 of Korf's hundred: 42 moves.
    pub const KORF_79: Fifteen = Fifteen {
        tiles: [0, 1, 9, 7, 11, 13, 5, 3, 14, 12, 4, 2, 8, 6, 10, 15],
    };
}

impl Tree for Fifteen {
    type Node = Position;

    fn root(&self) -> Position {
        let numbered = || self.tiles.iter().zip(0u8..);
        let tiles = numbered().map(|(tile, square)| u64::from(*tile) << (4 * square));
        let tiles_away = numbered().filter(|(tile, _)| **tile != 0);
        Position {
            tiles: tiles.sum(),
            gap: numbered()
                .find(|(tile, _)| **tile == 0)
                .map_or(0, |(_, square)| square),
            before: u8::MAX,
            moves: 0,
            distance: tiles_away.map(|(tile, square)| apart(*tile, square)).sum(),
        }
    }

    /// The gap goes up, left, right and down, but not back.
    fn children(&self, position: &Position, out: &mut Vec<Position>) {
        let (row, column) = (position.gap / 4, position.gap % 4);
        let squares = [
            (row > 0).then(|| position.gap - 4),
            (column > 0).then(|| position.gap - 1),
            (column < 3).then(|| position.gap + 1),
            (row < 3).then(|| position.gap + 4),
        ];
        let squares = squares.into_iter().flatten();
        out.extend(
            squares
                .filter(|square| *square != position.before)
                .map(|square| {
                    let tile = (position.tiles >> (4 * square) & 15) as u8;
                    let moved =
                        u64::from(tile) << (4 * position.gap) | u64::from(tile) << (4 * square);
                    Position {
                        tiles: position.tiles ^ moved,
                        gap: square,
                        before: position.gap,
                        moves: position.moves + 1,
                        distance: position.distance + apart(tile, position.gap)
                            - apart(tile, square),
                    }
                }),
        );
    }
}

impl Bounded for Fifteen {
    type Value = u16;

    fn value(&self, position: &Position) -> Option<u16> {
        (position.distance == 0).then_some(position.moves)
    }

    fn bound(&self, position: &Position) -> u16 {
        position.moves + position.distance
    }
}

fn apart(one: u8, other: u8) -> u16 {
    u16::from((one / 4).abs_diff(other / 4) + (one % 4).abs_diff(other % 4))
}
