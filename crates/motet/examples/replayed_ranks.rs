//! A deadlock of ranks that shows in some orders only: a seed finds it, and brings it back.
//!
//! Three workers ask for a piece of work and rank 0 serves them; it believes that rank 1 asks
//! first.

use motet::comm::{ANY_SOURCE, CommError, Communicator, RunError};
use motet::{Replay, World};

async fn serve(comm: Communicator) -> Result<(), CommError> {
    if comm.rank() > 0 {
        comm.send(0, 0, comm.rank()).await?;
        return comm.recv(0, 1).await;
    }
    // The mistake: the first to ask is taken for rank 1.
    comm.recv::<usize>(ANY_SOURCE, 0).await?;
    comm.send(1, 1, ()).await?;
    for other in 2..comm.size() {
        comm.recv::<usize>(other, 0).await?;
        comm.send(other, 1, ()).await?;
    }
    Ok(())
}

fn main() {
    let run = |seed| World::threads(4).replayed(&Replay::new(seed), serve);
    let failed = |seed: &u64| run(*seed).is_err();
    let seed = (0..1000)
        .find(failed)
        .expect("another one is first sometimes");
    let Err(RunError::Stuck(report)) = run(seed) else {
        panic!("seed {seed} ends well the second time");
    };
    println!("seed {seed}: {report}");
    assert!((0..100).all(|_| failed(&seed)), "the seed brings it back");
}
