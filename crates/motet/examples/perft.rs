//! Chess positions after some moves, counted: a move generator that is not ours, and a tree nobody
//! can split in advance.
//!
//! The counts are those that chess programmers compare theirs by. `motet run -t 2 -m 2 -- perft`
//! counts on processes.

use cozy_chess::Board;
use motet::search::{Search, SearchError, Tree};
use motet::{Current, World};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Positions by name, depth and known count.
const POSITIONS: [(&str, u32, u64); 3] = [
    (
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        4,
        197_281,
    ),
    ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 4, 43_238),
    ("n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1", 4, 182_838),
];

/// A position, and how many moves are left.
#[derive(Clone, Serialize, Deserialize)]
struct Position {
    board: Portable,
    left: u32,
}

/// A board, which goes to another process as text.
#[derive(Clone)]
struct Portable(Board);

impl Serialize for Portable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        format!("{:#}", self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Portable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let board = Board::from_fen(&text, true).map_err(serde::de::Error::custom)?;
        Ok(Portable(board))
    }
}

/// The positions that can be reached from one.
struct Moves {
    board: Board,
    depth: u32,
}

impl Tree for Moves {
    type Node = Position;

    fn root(&self) -> Position {
        Position {
            board: Portable(self.board.clone()),
            left: self.depth,
        }
    }

    /// The last moves are counted, not made.
    fn children(&self, position: &Position, out: &mut Vec<Position>) {
        if position.left < 2 {
            return;
        }
        position.board.0.generate_moves(|moves| {
            out.extend(moves.into_iter().map(|chosen| {
                let mut board = position.board.0.clone();
                board.play_unchecked(chosen);
                Position {
                    board: Portable(board),
                    left: position.left - 1,
                }
            }));
            false
        });
    }
}

fn last_moves(sum: &mut u64, position: &Position) {
    if position.left == 1 {
        position.board.0.generate_moves(|moves| {
            *sum += moves.len() as u64;
            false
        });
    }
}

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let counts = world
        .run(async |comm| -> Result<_, SearchError> {
            let (search, mut counts) = (Search::default(), Vec::new());
            for (text, depth, _) in POSITIONS {
                let board = text.parse().expect("a position");
                let tree = Moves { board, depth };
                let add = |a, b| a + b;
                let count = search.fold(&comm, &tree, || 0, last_moves, add);
                counts.push(count.await?.result);
            }
            Ok(counts)
        })
        .expect("every count comes to its end");
    let known = POSITIONS.map(|(_, _, known)| known);
    assert!(counts.iter().all(|counts| *counts == known), "{counts:?}");
    if world.process().0 == 0 {
        println!("perft: {known:?} positions");
    }
}
