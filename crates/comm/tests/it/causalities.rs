//! Ranks under causalities: what carries messages takes no part in them.

use crate::worlds::{Outcome, everywhere, worlds};
use motet_comm::{ANY_SOURCE, Communicator};
use motet_dispatch::Causality;
use motet_testkit::{patience, within};
use std::slice;

/// One under which tasks that have not started do not run any more.
fn cancelled() -> Causality {
    let gone = Causality::new("gone").skipping_unstarted();
    gone.cancel("nobody wants it");
    gone
}

/// Every way in which ranks meet.
async fn meet(comm: &Communicator) -> Outcome<usize> {
    let (rank, size) = (comm.rank(), comm.size());
    let next = (rank + 1) % size;
    // Posted before the message comes, and after.
    let early = comm.irecv::<usize>(ANY_SOURCE, 1);
    comm.barrier().await?;
    comm.send(next, 1, rank).await?;
    comm.send(next, 2, rank).await?;
    let late = comm.recv::<usize>(ANY_SOURCE, 2).await?;
    assert_eq!(early.wait().await?, late);
    // One that comes back.
    comm.send(rank, 3, late).await?;
    comm.recv::<String>(rank, 3)
        .await
        .expect_err("it is a number");
    let last = comm.recv::<usize>(rank, 3).await?;
    let dup = comm.dup().await?;
    let sum = dup.allreduce(last, |a, b| a + b).start();
    assert_eq!(comm.ring().await?.shift_right(rank).await?, last);
    sum.wait().await
}

#[test]
fn sem_g65_messages_of_a_cancelled_causality_arrive() {
    everywhere(
        async |comm| cancelled().wrap(meet(&comm)).await,
        |_, size| size * (size - 1) / 2,
    );
}

#[test]
fn sem_g65_a_world_runs_inside_a_cancelled_causality() {
    within(patience(), || {
        for world in worlds() {
            let (gone, size) = (cancelled(), world.size());
            let sums = gone.run(|| {
                world.run(async |comm| {
                    // The ranks go on where the caller is.
                    assert_eq!(Causality::active(), slice::from_ref(&gone));
                    let sum = meet(&comm).await;
                    assert_eq!(Causality::active(), slice::from_ref(&gone));
                    sum
                })
            });
            let sums = sums.unwrap_or_else(|error| panic!("{world:?}: {error}"));
            assert_eq!(sums, vec![size * (size - 1) / 2; size], "{world:?}");
        }
    });
}
