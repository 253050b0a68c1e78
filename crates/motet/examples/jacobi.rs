//! Laplace's equation on a square by Jacobi's method. Each rank has some rows and gets the ones
//! next to them from its neighbours on a line.
//!
//! ```text
//!   ═══════════  edge, known          u ← the mean of the four around it,
//!     rank 0                          until nothing changes any more
//!   ─ ─ ─ ─ ─ ─  ▲ its last row
//!     rank 1     ▼ its first row
//!   ═══════════  edge, known
//! ```
//!
//! With the edges of x³ - 3xy² the solution is known: that polynomial is harmonic, on the grid too.
//! The bits are those of a program without ranks, for any number of ranks, on threads and on
//! processes (`motet run -t 2 -m 2 -- jacobi`).

use motet::{CommError, Communicator, Current, World};
use motet_testkit::mark;
use std::ops::Range;

/// Rows and columns inside the edges.
const INSIDE: usize = 24;
/// Sweeps from one look at the change to the next.
const SWEEPS: usize = 100;
const SMALL: f64 = 1e-12;

type Rows = Vec<Vec<f64>>;

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let alone = solve_alone();
    let results = world
        .run(async |comm| -> Result<_, CommError> {
            // Every rank has a row; more of them have nothing to do.
            let color = (comm.rank() < INSIDE).then_some(0);
            let Some(comm) = comm.split(color, 0).await? else {
                return Ok(None);
            };
            let mine = share(&comm);
            let (rows, sweeps) = solve(&comm).await?;
            for (row, cells) in mine.clone().zip(&rows) {
                assert_eq!(*cells, alone[row], "row {row}: other bits than alone");
                for (column, cell) in cells.iter().enumerate() {
                    let error = (cell - harmonic(row, column)).abs();
                    assert!(error < 1e-9, "{error} at {row}, {column}");
                }
            }
            let squares = squares(&comm, &rows).await?;
            let places =
                mine.flat_map(|row| (0..INSIDE + 2).map(move |at| row * (INSIDE + 2) + at));
            let marks = places.zip(rows.iter().flatten());
            let sum = marks.fold(0, |sum: u64, (at, cell)| {
                sum.wrapping_add(mark(at, cell.to_bits()))
            });
            let sum = comm.allreduce(sum, u64::wrapping_add).await?;
            Ok(Some((sweeps, squares, sum)))
        })
        .expect("no rank fails");
    if world.process().0 == 0 {
        let (sweeps, squares, sum) = results[0].expect("rank 0 has rows");
        println!("jacobi: {sweeps} sweeps, the squares of all cells are {squares}, {sum:016x}");
    }
}

/// The rows of this rank; row 0 is an edge.
fn share(comm: &Communicator) -> Range<usize> {
    let begin = |rank: usize| 1 + INSIDE * rank / comm.size();
    begin(comm.rank())..begin(comm.rank() + 1)
}

/// The solution, known on the edges.
fn harmonic(row: usize, column: usize) -> f64 {
    let at = |cell: usize| cell as f64 / (INSIDE + 1) as f64;
    let (x, y) = (at(column), at(row));
    x * x * x - 3.0 * x * y * y
}

/// A row before the first sweep.
fn start(row: usize) -> Vec<f64> {
    let is_edge = |at: usize| at == 0 || at == INSIDE + 1;
    let cell = |column| match is_edge(row) || is_edge(column) {
        true => harmonic(row, column),
        false => 0.0,
    };
    (0..INSIDE + 2).map(cell).collect()
}

/// The mean of the four cells around the one in this column of the middle row.
fn mean(three: &[Vec<f64>], column: usize) -> f64 {
    let row = &three[1];
    0.25 * ((three[0][column] + three[2][column]) + (row[column - 1] + row[column + 1]))
}

/// All rows but the first and the last after a sweep, and the largest change.
fn sweep(rows: &Rows) -> (Rows, f64) {
    let mut change = 0.0_f64;
    let next = rows.windows(3).map(|three| {
        let mut row = three[1].clone();
        for column in 1..=INSIDE {
            row[column] = mean(three, column);
            change = change.max((row[column] - three[1][column]).abs());
        }
        row
    });
    (next.collect(), change)
}

/// The rows of this rank when nothing changes any more, and the number of sweeps.
async fn solve(comm: &Communicator) -> Result<(Rows, usize), CommError> {
    let Range { start: first, end } = share(comm);
    let mut line = comm.line::<Vec<f64>>().await?;
    let mut rows: Rows = (first..end).map(start).collect();
    for sweeps in 1.. {
        let (above, below) = line
            .exchange(rows[0].clone(), rows[rows.len() - 1].clone())
            .await?;
        rows.insert(0, above.unwrap_or_else(|| start(0)));
        rows.push(below.unwrap_or_else(|| start(INSIDE + 1)));
        let (next, change) = sweep(&rows);
        rows = next;
        if sweeps % SWEEPS == 0 && comm.allreduce(change, f64::max).await? < SMALL {
            return Ok((rows, sweeps));
        }
    }
    unreachable!("every sweep makes the error smaller")
}

/// The sum of the squares of all cells inside. Such a sum depends on its order, unless it is exact:
/// this one has the same bits for any cut.
async fn squares(comm: &Communicator, rows: &Rows) -> Result<f64, CommError> {
    let inside = rows.iter().flat_map(|cells| &cells[1..=INSIDE]);
    let squares: Vec<f64> = inside.map(|cell| cell * cell).collect();
    comm.reproducible_sum(&squares).await
}

/// The whole square without ranks.
fn solve_alone() -> Rows {
    let mut rows: Rows = (0..INSIDE + 2).map(start).collect();
    for sweeps in 1.. {
        let (next, change) = sweep(&rows);
        rows[1..=INSIDE].clone_from_slice(&next);
        if sweeps % SWEEPS == 0 && change < SMALL {
            break;
        }
    }
    rows
}
