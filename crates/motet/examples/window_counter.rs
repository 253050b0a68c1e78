//! A counter that all ranks draw from: work of uneven length, shared by one-sided fetches.
//!
//! No rank gives work out: each takes the next number from a window of rank 0, which computes like
//! the others. The sums of what was done lie in a second window and are combined there.
//!
//! ```text
//!  rank 1 ── fetch_and_op ──► rank 0: counter ◄── fetch_and_op ── rank 2
//!  rank 1 ── accumulate ────► rank 0: sum     ◄── accumulate ──── rank 2
//! ```
//!
//! By itself it runs on one rank per core; with `motet run -t 2 -m 2 -- window_counter` on two
//! ranks of each of two processes.

use motet::window::{Op, Window, WindowError};
use motet::{Current, World};

/// Numbers to be tried.
const LIMIT: u64 = 3_000;

/// Steps of Collatz's sequence until 1: nobody knows how many before.
fn steps(start: u64) -> u64 {
    let mut number = start;
    let mut steps = 0;
    while number != 1 {
        number = if number.is_multiple_of(2) {
            number / 2
        } else {
            3 * number + 1
        };
        steps += 1;
    }
    steps
}

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let shares = world
        .run(async |comm| -> Result<_, WindowError> {
            let length = usize::from(comm.rank() == 0);
            let counter = Window::create(&comm, vec![0_u64; length]).await?;
            let sum = Window::create(&comm, vec![0_u64; length]).await?;
            let mut share = 0_u64;
            loop {
                let next = counter.fetch_and_op(0, 0, 1, Op::Sum).await? + 1;
                if next > LIMIT {
                    break;
                }
                sum.accumulate(0, 0, &[steps(next)], Op::Sum).await?;
                share += 1;
            }
            sum.fence().await?;
            let total = sum.get(0, 0, 1).await?[0];
            let drawn = comm.allreduce(share, |a, b| a + b).await?;
            sum.free().await?;
            counter.free().await?;
            Ok((share, drawn, total))
        })
        .expect("no rank fails");
    let total: u64 = (1..=LIMIT).map(steps).sum();
    assert!(
        shares
            .iter()
            .all(|&(_, drawn, found)| drawn == LIMIT && found == total)
    );
    if world.process().0 == 0 {
        println!("window_counter: {total} steps for the numbers up to {LIMIT}");
    }
}
