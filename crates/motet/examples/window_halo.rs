//! Heat on a grid whose edges neighbours put into each other's windows; one file holds the result.
//!
//! Each rank has some rows of the grid, and a row more on each side for a copy of its neighbour's.
//! In each step it puts its outermost rows there, and a fence says that all are there. At the end
//! each rank writes its rows into one file, by a view, and reads a column back, which crosses all
//! ranks.
//!
//! ```text
//!  rank 0   rows …          a row of the neighbour
//!             └── put ──┐ ┌── put ──┘
//!  rank 1   a row of the neighbour   rows …
//! ```
//!
//! By itself it runs on one rank per core; with `motet run -t 2 -m 2 -- window_halo FILE` on two
//! ranks of each of two processes.

use motet::comm::Layout;
use motet::files::{Draft, Stored, View};
use motet::window::Window;
use motet::{Communicator, Current, World};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// Rows and columns of the grid; steps.
const SIDE: usize = 24;
const STEPS: usize = 50;

/// The grid at the beginning: one hot corner.
fn start(row: usize, column: usize) -> f64 {
    if row < SIDE / 3 && column < SIDE / 3 {
        100.0
    } else {
        0.0
    }
}

/// A row after a step, from it and those above and below, each of which may not be there.
fn stepped(above: Option<&[f64]>, row: &[f64], below: Option<&[f64]>) -> Vec<f64> {
    (0..SIDE)
        .map(|at| {
            let flow = |other: f64| 0.2 * (other - row[at]);
            let up = above.map_or(0.0, |above| flow(above[at]));
            let down = below.map_or(0.0, |below| flow(below[at]));
            let left = if at > 0 { flow(row[at - 1]) } else { 0.0 };
            let right = if at + 1 < SIDE {
                flow(row[at + 1])
            } else {
                0.0
            };
            row[at] + (up + down) + (left + right)
        })
        .collect()
}

/// The grid after all steps, by one thread.
fn alone() -> Vec<Vec<f64>> {
    let row = |row| (0..SIDE).map(|column| start(row, column)).collect();
    let mut rows: Vec<Vec<f64>> = (0..SIDE).map(row).collect();
    for _ in 0..STEPS {
        let row = |at: Option<usize>| at.and_then(|at| rows.get(at)).map(Vec::as_slice);
        let next = |at: usize| stepped(row(at.checked_sub(1)), &rows[at], row(Some(at + 1)));
        rows = (0..SIDE).map(next).collect();
    }
    rows
}

async fn heat(comm: &Communicator, path: &Path) -> Result<Vec<f64>, Box<dyn Error + Send + Sync>> {
    let (rank, size) = (comm.rank(), comm.size());
    let first = |rank: usize| rank * SIDE / size;
    let rows = first(rank + 1) - first(rank);
    // The copies lie before and behind the rows.
    let grid = (0..(rows + 2) * SIDE)
        .map(|at| start((first(rank) + at / SIDE).wrapping_sub(1), at % SIDE));
    let window = Window::create(comm, grid.collect()).await?;
    for _ in 0..STEPS {
        let (top, bottom) = window.with(|grid| {
            (
                grid[SIDE..2 * SIDE].to_vec(),
                grid[rows * SIDE..][..SIDE].to_vec(),
            )
        });
        if rank > 0 {
            let behind = window.length_of(rank - 1) - SIDE;
            window.put(rank - 1, behind, &top).await?;
        }
        if rank + 1 < size {
            window.put(rank + 1, 0, &bottom).await?;
        }
        window.fence().await?;
        window.with_mut(|grid| {
            let old: Vec<Vec<f64>> = grid.chunks(SIDE).map(<[f64]>::to_vec).collect();
            let there = |at: usize| {
                (first(rank) + at > 0 && first(rank) + at <= SIDE).then(|| &old[at][..])
            };
            for at in 1..=rows {
                let row = stepped(there(at - 1), &old[at], there(at + 1));
                grid[at * SIDE..][..SIDE].copy_from_slice(&row);
            }
        });
        // Nobody puts the next rows while one still computes with these.
        window.fence().await?;
    }
    let grid = window.free().await?;
    let rows = &grid[SIDE..][..rows * SIDE];
    // The processes agree on a file.
    let path = comm
        .broadcast(0, (rank == 0).then(|| path.to_owned()))
        .await?;
    let draft = Draft::create(comm, &path).await?;
    draft
        .write_at_all((first(rank) * SIDE) as u64, rows)
        .await?;
    // Nobody wants it after a failure of the machine.
    draft.commit_without_sync().await?;
    let mut file = Stored::open(comm, &path).await?;
    let column = Layout::vector(SIDE, 1, SIDE)?;
    file.set_view(View::new(2, column)?);
    let mut third = vec![0.0; SIDE];
    file.read_at_all(0, &mut third).await?;
    if rank == 0 && env::args_os().len() == 1 {
        fs::remove_file(&path)?;
    }
    Ok(third)
}

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let own = || env::temp_dir().join(format!("motet-halo-{}", process::id()));
    let path = env::args_os().nth(1).map_or_else(own, PathBuf::from);
    let thirds = world.run(async |comm| heat(&comm, &path).await);
    let thirds = thirds.expect("no rank fails");
    let expected = alone();
    for third in &thirds {
        // The same bits, on any number of ranks.
        let same = |(got, row): (&f64, &Vec<f64>)| got.to_bits() == row[2].to_bits();
        assert!(third.iter().zip(&expected).all(same));
    }
    let heat: f64 = expected.iter().flatten().sum();
    assert!((heat - 6400.0).abs() < 1e-6, "none is lost: {heat}");
    if world.process().0 == 0 {
        println!(
            "window_halo: the third column begins with {:?}",
            &thirds[0][..4]
        );
    }
}
