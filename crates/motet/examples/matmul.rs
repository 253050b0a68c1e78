//! The product of two matrices on a grid of ranks (SUMMA): each rank has a block of both factors
//! and of the product. Source: van de Geijn and Watts, *SUMMA: scalable universal matrix
//! multiplication algorithm*, 1997.
//!
//! ```text
//!             B   one panel of rows at a time,
//!                 down the columns of the grid
//!                 ┌────────┬────────┐
//!      A          │ rank 0 │ rank 1 │      each adds panel × panel
//!      one panel  ├────────┼────────┤      to its block of the product
//!      of columns │ rank 2 │ rank 3 │
//!      ─────────► └────────┴────────┘
//!      along the rows of the grid
//! ```
//!
//! The panels come in the order of a plain product, so the bits are those of one. This holds for
//! any grid, on threads and on processes (`motet run -t 2 -m 2 -- matmul`). The matrix is that of
//! the sine transform, which is known to be its own inverse.

use motet::comm::{Cartesian, dims_create};
use motet::{CommError, Current, World};
use motet_testkit::mark;
use std::f64::consts::PI;
use std::ops::Range;

const SIZE: usize = 96;
/// Columns of A, and rows of B, that are told at one time.
const PANEL: usize = 8;
const PANELS: usize = SIZE / PANEL;

/// Rows of a matrix or of a part of one.
type Matrix = Vec<Vec<f64>>;

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let plain = plain_product();
    let sums = world
        .run(async |comm| -> Result<_, CommError> {
            // Every rank has a panel of rows and one of columns; more of them have nothing to do.
            let dims = dims_create(comm.size().min(PANELS), &[0, 0])?;
            let Some(grid) = comm.cartesian(&dims, &[false, false]).await? else {
                return Ok(None);
            };
            let product = product(&grid).await?;
            let [rows, columns] = share(&grid);
            let mut sum = 0_u64;
            for (row, numbers) in rows.zip(&product) {
                for (column, number) in columns.clone().zip(numbers) {
                    let known = f64::from(u8::from(row == column));
                    assert!((number - known).abs() < 1e-13, "{row}, {column}: {number}");
                    assert_eq!(*number, plain[row][column], "other bits than alone");
                    sum = sum.wrapping_add(mark(row * SIZE + column, number.to_bits()));
                }
            }
            Ok(Some(grid.allreduce(sum, u64::wrapping_add).await?))
        })
        .expect("no rank fails");
    if world.process().0 == 0 {
        let sum = sums[0].expect("rank 0 has a block");
        println!("matmul: the sine transform of {SIZE} numbers is its own inverse, {sum:016x}");
    }
}

/// An element of both factors.
fn element(row: usize, column: usize) -> f64 {
    let size = (SIZE + 1) as f64;
    // Reduced, so that the angle is small and the sine is near.
    let turns = (row + 1) * (column + 1) % (2 * (SIZE + 1));
    (2.0 / size).sqrt() * (PI * turns as f64 / size).sin()
}

/// A part of a factor.
fn part(rows: Range<usize>, columns: Range<usize>) -> Matrix {
    let row = |row| columns.clone().map(move |column| element(row, column));
    rows.map(|at| row(at).collect()).collect()
}

/// The panels along a dimension of the grid that a place of it has.
fn panels(grid: &Cartesian, dimension: usize, place: usize) -> Range<usize> {
    let begin = |place: usize| (PANELS * place).div_ceil(grid.dims()[dimension]);
    begin(place)..begin(place + 1)
}

/// The place in a dimension of the grid that has this panel.
fn owner(grid: &Cartesian, dimension: usize, panel: usize) -> usize {
    panel * grid.dims()[dimension] / PANELS
}

/// The rows and columns of this rank's blocks.
fn share(grid: &Cartesian) -> [Range<usize>; 2] {
    let coords = grid.coords(grid.rank()).expect("it is in its grid");
    [0, 1].map(|dimension| {
        let panels = panels(grid, dimension, coords[dimension]);
        PANEL * panels.start..PANEL * panels.end
    })
}

/// This rank's block of the product of the matrix with itself.
async fn product(grid: &Cartesian) -> Result<Matrix, CommError> {
    let (row, column) = (
        grid.sub(&[false, true]).await?,
        grid.sub(&[true, false]).await?,
    );
    let [rows, columns] = share(grid);
    let (a, b) = (
        part(rows.clone(), columns.clone()),
        part(rows.clone(), columns.clone()),
    );
    let mut product = vec![vec![0.0; columns.len()]; rows.len()];
    for panel in 0..PANELS {
        let inner = PANEL * panel..PANEL * (panel + 1);
        let root = owner(grid, 1, panel);
        let mine = (row.rank() == root).then(|| {
            let inner = inner.start - columns.start..inner.end - columns.start;
            a.iter().map(|row| row[inner.clone()].to_vec()).collect()
        });
        let a: Matrix = row.broadcast(root, mine).await?;
        let root = owner(grid, 0, panel);
        let mine = (column.rank() == root)
            .then(|| b[inner.start - rows.start..inner.end - rows.start].to_vec());
        let b: Matrix = column.broadcast(root, mine).await?;
        add_product(&mut product, &a, &b);
    }
    Ok(product)
}

/// Adds a × b, one inner index after the other.
fn add_product(to: &mut Matrix, a: &Matrix, b: &Matrix) {
    for (to, a) in to.iter_mut().zip(a) {
        for (factor, b) in a.iter().zip(b) {
            for (to, number) in to.iter_mut().zip(b) {
                *to += factor * number;
            }
        }
    }
}

/// The whole product without ranks, element by element.
fn plain_product() -> Matrix {
    let factor = part(0..SIZE, 0..SIZE);
    let number = |row: usize, column: usize| {
        (0..SIZE).fold(0.0, |sum, at| sum + factor[row][at] * factor[at][column])
    };
    let row = |row| (0..SIZE).map(|column| number(row, column)).collect();
    (0..SIZE).map(row).collect()
}
