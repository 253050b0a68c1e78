//! Ranks: the same program on each, π together.
//!
//! By itself it runs on one rank per core; with `motet run -t 2 -m 2 -- hello_ranks` on two ranks
//! of each of two processes.
//!
//! ```text
//!  rank 0   rank 1   rank 2   rank 3      each sums every fourth term
//!     └────────┴─ allreduce ─┴──────┘     each gets the total
//! ```

use motet::{CommError, Current, World};

fn main() {
    const TERMS: usize = 1_000_000;
    let world = World::current().expect("an MPI library, if there are several processes");
    let pi = world
        .run(async |comm| -> Result<f64, CommError> {
            let x = |i: usize| (i as f64 + 0.5) / TERMS as f64;
            let mine: f64 = (comm.rank()..TERMS)
                .step_by(comm.size())
                .map(|i| 4.0 / (1.0 + x(i) * x(i)))
                .sum();
            comm.allreduce(mine / TERMS as f64, |a, b| a + b).await
        })
        .expect("no rank fails");
    let (process, processes) = world.process();
    println!(
        "process {process} of {processes}: π is about {}, on each of {} ranks",
        pi[0],
        pi.len()
    );
    assert_eq!(pi.len(), world.size());
    assert!(
        pi.iter()
            .all(|value| (value - std::f64::consts::PI).abs() < 1e-9)
    );
}
