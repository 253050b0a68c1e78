//! `docs/moving/heat.c`, a program in C with MPI, moved line by line as `docs/MOVING.md` tells. It
//! has ghost cells by started receives, a residual by allreduce, halves by split, the whole rod by
//! gather.
//!
//! It runs on the world that it was started in (`motet run -t 2 -m 2 -- moved_heat`), and on ranks
//! of its own.

use motet::comm::{Requests, Tag};
use motet::{CommError, Communicator, Current, World};
use std::slice;

const CELLS: usize = 60;
/// Steps between two looks at the residual.
const CHECK: usize = 100;
const TO_LEFT: Tag = 1;
const TO_RIGHT: Tag = 2;

/// What a rank found.
struct Found {
    steps: usize,
    /// Of its half, at the half's first rank.
    mean: Option<f64>,
    /// At rank 0 the whole rod.
    rod: Vec<f64>,
}

fn main() {
    let started = World::current().expect("an MPI library, if there are several processes");
    let alone = World::solo().run(heat).expect("one rank does not fail");
    check(&started, &alone[0]);
    // Where there are other processes it is their turn, and not that of ranks of each one's own.
    let own = if started.process().1 > 1 {
        &[][..]
    } else {
        &[2, 4, 5]
    };
    for &ranks in own {
        for world in [World::threads(ranks), World::ports(ranks)] {
            check(&world, &alone[0]);
        }
    }
    let (steps, rod) = (alone[0].steps, &alone[0].rod);
    // In the end the temperature falls evenly from one end to the other.
    for (i, cell) in rod.iter().enumerate() {
        let even = 1.0 - (i + 1) as f64 / (CELLS + 1) as f64;
        assert!((cell - even).abs() < 1e-4, "cell {i}: {cell}, not {even}");
    }
    if started.process().0 == 0 {
        let (first, last) = (rod[0], rod[CELLS - 1]);
        println!("moved_heat: {CELLS} cells after {steps} steps: {first:.6} … {last:.6}");
    }
    // What MPI_Abort ended is an error of the run.
    World::threads(7)
        .run(heat)
        .err()
        .expect("60 cells cannot be cut into 7");
}

/// Runs the program on a world, and compares what its ranks find with what one finds alone.
fn check(world: &World, alone: &Found) {
    let ranks = world.size() * world.process().1;
    let found = world.run(heat);
    if !CELLS.is_multiple_of(ranks) {
        return assert!(found.is_err(), "{CELLS} cells cannot be cut into {ranks}");
    }
    let first = world.size() * world.process().0;
    for (rank, found) in (first..).zip(found.expect("60 cells can be cut")) {
        // The same steps and the same bits, however the rod is cut.
        assert_eq!(found.steps, alone.steps);
        if rank == 0 {
            assert_eq!(found.rod, alone.rod);
        }
        let Some(mean) = found.mean else { continue };
        let (near, far) = alone.rod.split_at(ranks.div_ceil(2) * (CELLS / ranks));
        let half = if rank == 0 { near } else { far };
        let expected = half.iter().sum::<f64>() / half.len() as f64;
        // The sum was made in another order.
        assert!((mean - expected).abs() < 1e-12, "{mean}, not {expected}");
    }
}

/// What `main` of heat.c does between MPI_Init and MPI_Finalize.
async fn heat(comm: Communicator) -> Result<Found, CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    if !CELLS.is_multiple_of(size) {
        let problem = format!("{CELLS} cells cannot be cut into {size} equal pieces");
        return Err(CommError::Arguments { problem });
    }
    let n = CELLS / size;
    let mut cells = vec![0.0; n + 2];
    let mut next = vec![0.0; n];
    if rank == 0 {
        cells[0] = 1.0;
    }

    let mut residual = 1.0;
    let mut steps = 0;
    while residual > 1e-7 {
        exchange(&comm, &mut cells).await?;
        let mut change = 0.0_f64;
        for i in 1..=n {
            next[i - 1] = 0.5 * (cells[i - 1] + cells[i + 1]);
            change = change.max((next[i - 1] - cells[i]).abs());
        }
        cells[1..=n].copy_from_slice(&next);
        steps += 1;
        if steps % CHECK == 0 {
            residual = comm.allreduce(change, f64::max).await?;
        }
    }

    let color = usize::from(2 * rank >= size);
    let half = comm.split(Some(color), rank.cast_signed()).await?;
    let half = half.expect("every rank has a color");
    let mine: f64 = cells[1..=n].iter().sum();
    let sum = half.reduce(0, mine, |a, b| a + b).await?;
    let mean = sum.map(|sum| sum / (half.size() * n) as f64);

    let mut rod = vec![0.0; if rank == 0 { CELLS } else { 0 }];
    comm.gather_into(0, &cells[1..=n], &mut rod).await?;
    Ok(Found { steps, mean, rod })
}

/// Sends the outermost cells to the neighbours and receives theirs into the ghosts.
async fn exchange(comm: &Communicator, cells: &mut [f64]) -> Result<(), CommError> {
    let rank = comm.rank();
    let left = rank.checked_sub(1);
    let right = Some(rank + 1).filter(|&right| right < comm.size());
    let [before, own @ .., behind] = cells else {
        unreachable!("there are two ghosts")
    };
    let ghosts = Requests::from_iter([
        comm.irecv_into(slice::from_mut(before), left, TO_RIGHT),
        comm.irecv_into(slice::from_mut(behind), right, TO_LEFT),
    ]);
    comm.send_slice(left, TO_LEFT, &own[..1]).await?;
    comm.send_slice(right, TO_RIGHT, &own[own.len() - 1..])
        .await?;
    ghosts.wait_all().await?;
    Ok(())
}
