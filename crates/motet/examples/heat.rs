//! Heat in a rod, the ends kept at 1 and 0. Each rank has a piece of the rod and exchanges its edge
//! cells with its neighbours (a line with fixed ends). More ranks than cores are fine.
//!
//! ```text
//!  1 ║ rank 0 ◄──► rank 1 ◄──► … ◄──► rank 7 ║ 0
//! ```

use motet::{CommError, Communicator, World};

const CELLS_PER_RANK: usize = 4;
const RANKS: usize = 8;
const STEPS: usize = 20_000;

fn main() {
    let pieces = World::threads(RANKS)
        .run(async |comm| rod(&comm).await)
        .expect("no rank fails");
    let rod: Vec<f64> = pieces.concat();
    let ends = (rod[0], rod[rod.len() - 1]);
    println!(
        "{} cells after {STEPS} steps: {:.3} … {:.3}",
        rod.len(),
        ends.0,
        ends.1
    );
    // In the end the temperature falls evenly from one end to the other.
    for (i, cell) in rod.iter().enumerate() {
        let even = 1.0 - (i + 1) as f64 / (rod.len() + 1) as f64;
        assert!((cell - even).abs() < 1e-3, "cell {i}: {cell}, not {even}");
    }
}

/// One rank's piece.
async fn rod(comm: &Communicator) -> Result<Vec<f64>, CommError> {
    let mut line = comm.line().await?;
    let mut cells = vec![0.0; CELLS_PER_RANK];
    for _ in 0..STEPS {
        let (left, right) = line.exchange(cells[0], cells[CELLS_PER_RANK - 1]).await?;
        // Beyond the ends of the rod it is 1 on the left and 0 on the right.
        let (mut before, after) = (left.unwrap_or(1.0), right.unwrap_or(0.0));
        for i in 0..CELLS_PER_RANK {
            let here = cells[i];
            let next = cells.get(i + 1).copied().unwrap_or(after);
            cells[i] = 0.25 * before + 0.5 * here + 0.25 * next;
            before = here;
        }
    }
    Ok(cells)
}
