//! Conway's life on a torus that is cut into blocks: each rank has one, in a frame of its
//! neighbours' edge cells.
//!
//! ```text
//!        │ rank 0 │ rank 1 │        first the edge columns go east and west,
//!     ───┼────────┼────────┼───     then the edge rows, corners included, south and north:
//!        │ rank 2 │ rank 3 │        four messages bring the cells of eight neighbours
//! ```
//!
//! A glider is known to move by one cell down and to the right in four generations, across every
//! border. What becomes of a soup is compared with a program without ranks. The line that is
//! printed is the same for any number of ranks, on threads and on processes
//! (`motet run -t 2 -m 2 -- life`).

use motet::comm::{Cartesian, dims_create};
use motet::{CommError, Communicator, Current, World};
use motet_testkit::mark;
use std::ops::Range;

const ROWS: usize = 48;
const COLUMNS: usize = 64;
/// How far the glider goes: over both ends of the board.
const WAY: usize = 70;
const GENERATIONS: usize = 4 * WAY;

/// The whole board; a cell is 1 when it is alive.
type Board = Vec<Vec<u8>>;

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let (glider, soup) = (glider(0), soup());
    let mut after = soup.clone();
    for _ in 0..GENERATIONS {
        after = next_of_board(&after);
    }
    let results = world
        .run(async |comm| -> Result<_, CommError> {
            // No rank has less than a row or a column; more of them have nothing to do.
            let ranks = comm.size().min(ROWS);
            let dims = dims_create(ranks, &[0, 0])?;
            let Some(grid) = comm.cartesian(&dims, &[true, true]).await? else {
                return Ok(None);
            };
            let block = evolve(&grid, &glider).await?;
            let known = Block::of(&grid, &self::glider(WAY));
            assert!(
                block == known,
                "the glider is elsewhere: {:?}",
                block.alive()
            );
            let block = evolve(&grid, &soup).await?;
            let known = Block::of(&grid, &after);
            assert!(block == known, "other cells than without ranks");
            Ok(Some(block.told(&grid).await?))
        })
        .expect("no rank fails");
    if world.process().0 == 0 {
        let (alive, sum) = results[0].expect("rank 0 has a block");
        println!("life: {alive} of a soup live after {GENERATIONS} generations, {sum:016x}");
    }
}

/// A glider that has gone so far.
fn glider(way: usize) -> Board {
    let mut board = vec![vec![0; COLUMNS]; ROWS];
    for (row, column) in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
        board[(row + way) % ROWS][(column + way) % COLUMNS] = 1;
    }
    board
}

/// A board on which every third cell or so is alive.
fn soup() -> Board {
    let cell = |at| u8::from(mark(at, 0).is_multiple_of(3));
    let row = |row| (0..COLUMNS).map(move |column| cell(row * COLUMNS + column));
    (0..ROWS).map(|at| row(at).collect()).collect()
}

/// A generation without ranks, cell by cell.
fn next_of_board(board: &Board) -> Board {
    let alive = |row: usize, column: usize| board[row % ROWS][column % COLUMNS];
    let next = |row: usize, column: usize| {
        let mut around = 0;
        for south in [ROWS - 1, 0, 1] {
            for east in [COLUMNS - 1, 0, 1] {
                around += alive(row + south, column + east);
            }
        }
        u8::from(around == 3 || around - alive(row, column) == 3)
    };
    let row = |row| (0..COLUMNS).map(|column| next(row, column)).collect();
    (0..ROWS).map(row).collect()
}

/// A rank's part of the board.
#[derive(PartialEq)]
struct Block {
    rows: Range<usize>,
    columns: Range<usize>,
    /// Its rows, without the frame.
    cells: Vec<Vec<u8>>,
}

/// The block of this rank after all generations.
async fn evolve(grid: &Cartesian, board: &Board) -> Result<Block, CommError> {
    let mut block = Block::of(grid, board);
    for _ in 0..GENERATIONS {
        let framed = block.framed(grid).await?;
        for (row, three) in block.cells.iter_mut().zip(framed.windows(3)) {
            for (at, cell) in row.iter_mut().enumerate() {
                let around: u8 = three.iter().flat_map(|row| &row[at..at + 3]).sum();
                *cell = u8::from(around == 3 || around - *cell == 3);
            }
        }
    }
    Ok(block)
}

impl Block {
    fn of(grid: &Cartesian, board: &Board) -> Block {
        let coords = grid.coords(grid.rank()).expect("it is in its grid");
        let share = |cells: usize, at: usize| {
            cells * coords[at] / grid.dims()[at]..cells * (coords[at] + 1) / grid.dims()[at]
        };
        let (rows, columns) = (share(ROWS, 0), share(COLUMNS, 1));
        let cut = |row: &Vec<u8>| row[columns.clone()].to_vec();
        let cells = board[rows.clone()].iter().map(cut).collect();
        Block {
            rows,
            columns,
            cells,
        }
    }

    /// The cells with those around them.
    async fn framed(&self, grid: &Cartesian) -> Result<Vec<Vec<u8>>, CommError> {
        let (width, height) = (self.columns.len(), self.rows.len());
        let column = |at: usize| self.cells.iter().map(|row| row[at]).collect::<Vec<u8>>();
        let (west, east) = grid.cart_shift(1, 1);
        let before = grid.sendrecv(east, column(width - 1), west, 0).await?;
        let behind = grid.sendrecv(west, column(0), east, 1).await?;
        let mut framed = vec![Vec::new()];
        for ((row, before), behind) in self.cells.iter().zip(before).zip(behind) {
            framed.push([&[before], &row[..], &[behind]].concat());
        }
        let (north, south) = grid.cart_shift(0, 1);
        let last = framed[height].clone();
        framed[0] = grid.sendrecv(south, last, north, 2).await?;
        let first = framed[1].clone();
        framed.push(grid.sendrecv(north, first, south, 3).await?);
        Ok(framed)
    }

    /// Where the cells are that are alive.
    fn alive(&self) -> Vec<(usize, usize)> {
        let rows = self.rows.clone().zip(&self.cells);
        let cells = rows.flat_map(|(row, cells)| {
            let columns = self.columns.clone().zip(cells);
            columns.map(move |(column, &cell)| (row, column, cell))
        });
        let alive = cells.filter(|&(.., cell)| cell == 1);
        alive.map(|(row, column, _)| (row, column)).collect()
    }

    /// How many cells of the whole board are alive, and the sum of their marks.
    async fn told(&self, comm: &Communicator) -> Result<(usize, u64), CommError> {
        let alive = self.alive();
        let marks = alive
            .iter()
            .map(|(row, column)| mark(row * COLUMNS + column, 1));
        let sum = marks.fold(0, u64::wrapping_add);
        let both = |a: (usize, u64), b: (usize, u64)| (a.0 + b.0, a.1.wrapping_add(b.1));
        comm.allreduce((alive.len(), sum), both).await
    }
}
