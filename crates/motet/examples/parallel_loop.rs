//! The papers' parallel loop: each rank holds an array of blocks, and threads take one block after
//! the other.
//!
//! ```text
//!  rank 0: blocks ─► loop on the queue ─► its part ─┐
//!  rank 1: blocks ─► loop on the queue ─► its part ─┴─ allreduce ─► the total, on each rank
//! ```
//!
//! A rank awaits its loop and holds no thread meanwhile. The split is dynamic: a thread that is
//! done early takes more. The blocks here differ in what they cost, which a static split would not
//! know.

use motet::{CommError, Dispatcher, ParallelLoop, QueueConfig, Schedule, World, wait_blocking};

const BLOCKS: usize = 400;
const RANKS: usize = 2;

fn main() {
    let dispatcher = Dispatcher::new(0);
    let queue = dispatcher.queue(QueueConfig::named("loop"));
    let parallel = ParallelLoop::new(&queue).schedule(Schedule::Dynamic { chunk: 4 });

    // On a thread of the program: each block's number of steps, in the order of the blocks.
    let steps_of = wait_blocking(parallel.map(0..BLOCKS, steps))
        .expect("this is no handler")
        .expect("no body panics");
    assert!(steps_of.iter().copied().eq((0..BLOCKS).map(steps)));
    let longest = (0..BLOCKS).max_by_key(|&block| steps_of[block]);
    println!("of the numbers below {BLOCKS} the one with the most steps to 1: {longest:?}");
    assert_eq!(longest, Some(327));

    // On ranks: each loops over its share of the blocks.
    let totals = World::threads(RANKS)
        .run(async |comm| -> Result<f64, CommError> {
            let mine = (comm.rank()..BLOCKS).step_by(comm.size());
            let sum = parallel.reduce(mine, |block| f64::from(steps(block)).sqrt(), |a, b| a + b);
            let sum = sum.await.expect("no body panics").unwrap_or(0.0);
            comm.allreduce(sum, |a, b| a + b).await
        })
        .expect("no rank fails");
    let known: f64 = steps_of.iter().map(|&steps| f64::from(steps).sqrt()).sum();
    println!("the sum of their roots: {totals:?}");
    assert!(totals.iter().all(|total| (total - known).abs() < 1e-9));
}

/// Collatz's steps from a number to 1.
fn steps(from: usize) -> u32 {
    let next = |n: &usize| {
        (*n > 1).then(|| {
            if n.is_multiple_of(2) {
                n / 2
            } else {
                3 * n + 1
            }
        })
    };
    std::iter::successors(Some(from), next).skip(1).count() as u32
}
