//! Who waits for whom: rank 0 reads standard input to its end, all others wait for it, each for the
//! one before.
//!
//! Whoever asks learns it, though rank 0 helps nobody meanwhile. Ask by
//! `motet run -m 3 --why 2 -- why`, or by `kill -USR1` with the number of any of the processes.
//! Then end the input (Ctrl-D).
//!
//! ```text
//!  standard input ──► rank 0 ──► rank 1 ──► rank 2 ──► …      "go" goes from rank to rank
//! ```

use motet::comm::RankNow;
use motet::{CommError, Communicator, Current, World, timer};
use std::io::Read;
use std::time::Duration;

fn main() {
    let world = World::current().expect("an MPI library, if there are several processes");
    let watch = world.watch();
    // Rank 0 looks by itself first, until all others wait.
    let all_wait = async |size: usize| {
        loop {
            let now = watch.why().expect("it runs");
            let waits = |rank: &RankNow| matches!(rank, RankNow::Waiting { .. });
            if now.ranks[1..].iter().all(waits) {
                assert_eq!(now.holding_up(), if size > 1 { vec![0] } else { vec![] });
                assert!(now.stuck().is_empty(), "rank 0 will go on");
                return now.to_string();
            }
            timer::sleep(Duration::from_millis(1)).await;
        }
    };
    world
        .run(async |comm: Communicator| -> Result<(), CommError> {
            let (rank, size) = (comm.rank(), comm.size());
            if rank == 0 {
                println!("{}", all_wait(size).await);
                // A thread of its own would do this in a real program.
                let _ = std::io::stdin().read_to_end(&mut Vec::new());
            } else {
                comm.recv::<()>(rank - 1, 0).await?;
            }
            if rank + 1 < size {
                comm.send(rank + 1, 0, ()).await?;
            }
            comm.barrier().await
        })
        .expect("no rank fails");
}
