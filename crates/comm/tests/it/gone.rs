//! Rings and lines that one rank drops while others still use them.

use crate::worlds::{on, worlds_of};
use motet_comm::{CommError, RunError, World};
use motet_testkit::{patience, within};

const DONE: u32 = 7;

fn gone(peer: usize, operation: &'static str) -> CommError {
    CommError::Gone { peer, operation }
}

#[test]
fn sem_g106_who_waits_for_a_message_is_told() {
    on(
        worlds_of(2),
        async |comm| {
            let mut ring = comm.ring().await?;
            ring.exchange(1, 1).await?;
            if comm.rank() == 1 {
                drop(ring);
                // Comes only when the other has been told.
                return comm.recv::<()>(0, DONE).await.map(drop);
            }
            assert_eq!(ring.exchange(2, 2).await, Err(gone(1, "exchange")));
            let operation = "shift_right";
            assert_eq!(
                ring.shift_right(3).await,
                Err(CommError::OutOfStep { operation })
            );
            comm.send(1, DONE, ()).await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g106_who_waits_for_room_is_told() {
    on(
        worlds_of(2),
        async |comm| {
            let mut line = comm.line().await?;
            if comm.rank() == 1 {
                drop(line);
                return comm.recv::<()>(0, DONE).await.map(drop);
            }
            let mut sent = 0;
            let error = loop {
                match line.shift_right(sent).await {
                    Ok(_) => sent += 1,
                    Err(error) => break error,
                }
                assert!(sent < 100, "a ring has few slots");
            };
            assert_eq!(error, gone(1, "shift_right"));
            comm.send(1, DONE, ()).await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g106_messages_that_were_sent_come_first() {
    on(
        worlds_of(2),
        async |comm| {
            let mut line = comm.line().await?;
            if comm.rank() == 1 {
                for step in 0..3 {
                    line.shift_left(step).await?;
                }
                drop(line);
                return comm.recv::<()>(0, DONE).await.map(drop);
            }
            for step in 0..3 {
                assert_eq!(line.shift_left(9).await, Ok(Some(step)));
            }
            assert_eq!(line.shift_left(9).await, Err(gone(1, "shift_left")));
            comm.send(1, DONE, ()).await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g107_a_failing_ranks_error_goes_before_its_neighbours() {
    within(patience(), || {
        for round in 0..200 {
            let world = World::threads(3).workers(1 + round % 3);
            let outcome = world.run(async |comm| -> Result<(), CommError> {
                let mut ring = comm.ring().await?;
                ring.exchange(1, 1).await?;
                if comm.rank() == 1 {
                    // Fails, and drops its ring.
                    return comm.send(9, 0, ()).await;
                }
                ring.exchange(2, 2).await.map(drop)
            });
            let Err(RunError::Rank { rank, error }) = outcome else {
                panic!("{outcome:?}");
            };
            assert_eq!(
                (rank, error),
                (1, CommError::NoSuchRank { rank: 9, size: 3 })
            );
        }
    });
}
