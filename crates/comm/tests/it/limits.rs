//! Limits to what one rank may send to another before it is received.

use crate::network::processes;
use crate::worlds::worlds_of;
use motet_comm::{
    CommError, Communicator, Layout, RankState, RunError, SendOverflow, WaitOperation, World,
};
use motet_dispatch::Replay;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_testkit::{patience, within};
use std::fmt::Display;
use std::sync::Arc;

const LIMIT: usize = 3;

/// How many messages of rank 0 have gone to ranks 1 and 2.
type Sent = [AtomicUsize; 3];

/// Runs a body of three ranks or more, under a limit, wherever there are ranks.
fn everywhere<E, F>(overflow: SendOverflow, body: F)
where
    E: Send + Display + 'static,
    F: AsyncFn(Communicator, &Sent) -> Result<(), E> + Send + Sync + 'static,
{
    let body = Arc::new(body);
    within(patience(), move || {
        for world in worlds_of(3) {
            let sent = Sent::default();
            let ended = world.clone().limit(LIMIT, overflow);
            let ended = ended.run(async |comm| body(comm, &sent).await);
            ended.unwrap_or_else(|e| panic!("{world:?}: {e}"));
        }
        for seed in 0..5 {
            let world = World::threads(3).limit(LIMIT, overflow);
            let sent = Sent::default();
            let ended = world.replayed(&Replay::new(seed), async |comm| body(comm, &sent).await);
            ended.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        }
        for (count, ranks) in [(3, 1), (2, 2)] {
            let (body, sent) = (Arc::clone(&body), Arc::<Sent>::default());
            processes(count, move |end| {
                let world = World::over(end, ranks).limit(LIMIT, overflow);
                let ended = world.run(async |comm| body(comm, &sent).await);
                ended.unwrap_or_else(|e| panic!("{count} processes of {ranks}: {e}"));
            });
        }
    });
}

#[test]
fn sem_g115_a_send_over_the_limit_is_refused_until_messages_are_received() {
    everywhere(SendOverflow::Reject, async |comm, _| {
        let full = |dest| CommError::Full {
            dest,
            messages: LIMIT,
        };
        let part = comm.split(Some(0), 0).await?.expect("a part of all");
        if comm.rank() == 0 {
            for number in 0..LIMIT {
                comm.send(1, 0, number).await?;
            }
            assert_eq!(comm.send(1, 0, 9).await, Err(full(1)));
            assert_eq!(comm.isend(1, 0, 9).wait().await, Err(full(1)));
            assert_eq!(comm.send_slice(1, 0, &[9_u8; 3]).await, Err(full(1)));
            // All communicators of a rank share it; another receiver has room of its own.
            assert_eq!(part.send(1, 0, 9).await, Err(full(1)));
            comm.send(2, 0, 5).await?;
            // One that waits for its receipt is not refused.
            let last = comm.issend(1, 0, LIMIT);
            comm.barrier().await?;
            last.wait().await?;
            comm.recv::<()>(1, 1).await?;
            comm.send(1, 2, 7).await?;
        } else {
            comm.barrier().await?;
            if comm.rank() == 3 {
                return Ok(());
            }
            if comm.rank() == 1 {
                for number in 0..=LIMIT {
                    assert_eq!(comm.recv::<usize>(0, 0).await?, number);
                }
                comm.send(0, 1, ()).await?;
                comm.recv::<i32>(0, 2).await?;
            } else {
                assert_eq!(comm.recv::<i32>(0, 0).await?, 5);
            }
        }
        Ok::<(), CommError>(())
    });
}

#[test]
fn sem_g116_a_send_over_the_limit_waits_so_that_nobody_runs_away() {
    const MESSAGES: usize = 100;
    everywhere(SendOverflow::Wait, async |comm, sent| {
        for at in 0..MESSAGES {
            let number = at as u64;
            match comm.rank() {
                0 => {
                    for (dest, sent) in sent.iter().enumerate().skip(1) {
                        match at % 4 {
                            0 => comm.send(dest, 0, vec![number]).await?,
                            1 => comm.send_slice(dest, 0, &[number]).await?,
                            2 => {
                                let again = comm.send_init(dest, 0)?;
                                again.start(vec![number]).wait().await?;
                            }
                            _ => comm.isend(dest, 0, vec![number]).wait().await?,
                        }
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                }
                rank @ (1 | 2) => {
                    let ahead = sent[rank].load(Ordering::Relaxed).saturating_sub(at);
                    assert!(ahead <= LIMIT, "{ahead} messages wait");
                    assert_eq!(comm.recv::<Vec<u64>>(0, 0).await?, [number]);
                }
                _ => {}
            }
        }
        comm.barrier().await
    });
}

#[test]
fn sem_g116_a_send_that_waits_for_ever_is_reported() {
    let world = World::threads(2).limit(LIMIT, SendOverflow::Wait);
    let ended = world.run(async |comm| {
        while comm.rank() == 0 {
            comm.send(1, 4, ()).await?;
        }
        comm.recv::<()>(0, 5).await
    });
    let Err(RunError::Stuck(report)) = ended else {
        panic!("{ended:?}");
    };
    let RankState::Waiting(waits) = &report.ranks[0] else {
        panic!("{report}");
    };
    assert_eq!(waits[0].operation, WaitOperation::Send { dest: 1, tag: 4 });
    assert_eq!(report.unmatched.len(), LIMIT, "{report}");
}

#[test]
fn sem_g116_one_rank_alone_has_the_limit_too() {
    for overflow in [SendOverflow::Reject, SendOverflow::Wait] {
        let ended = World::solo().limit(1, overflow).run(async |comm| {
            for number in 0..5 {
                comm.send(0, 0, number).await?;
                assert_eq!(comm.recv::<i32>(0, 0).await?, number);
            }
            comm.send(0, 0, 1).await?;
            comm.send(0, 0, 2).await
        });
        match overflow {
            SendOverflow::Reject => assert!(matches!(
                ended,
                Err(RunError::Rank {
                    error: CommError::Full {
                        dest: 0,
                        messages: 1
                    },
                    ..
                })
            )),
            _ => assert!(matches!(ended, Err(RunError::Stuck(_)))),
        }
    }
}

#[test]
fn sem_g116_a_persistent_send_over_the_limit_ends_when_its_message_was_received() {
    let world = World::solo().limit(1, SendOverflow::Wait);
    let ended = world.run(async |comm| -> Result<(), CommError> {
        let again = comm.send_init::<i32>(0, 0)?;
        again.start(1).wait().await?;
        let second = again.start(2).test().expect_err("there is no room for it");
        assert_eq!(comm.recv::<i32>(0, 0).await?, 1);
        let second = second.test().expect_err("nobody has received it");
        assert_eq!(comm.recv::<i32>(0, 0).await?, 2);
        second.wait().await
    });
    ended.unwrap();
}

#[test]
fn sem_g116_the_request_of_a_slice_over_the_limit_ends_when_there_is_room_for_it() {
    let world = World::solo().limit(1, SendOverflow::Wait);
    let ended = world.run(async |comm| -> Result<(), CommError> {
        comm.isend_slice(0, 0, &[1_u8, 2]).wait().await?;
        let second = comm.isend_slice(0, 0, &[3_u8, 4, 5]);
        let second = second.test().expect_err("there is no room for it");
        assert_eq!(comm.recv::<Vec<u8>>(0, 0).await?, [1, 2]);
        second.wait().await?;
        // It was sent when it was called: it has the room.
        let third = comm.isend_slice(0, 0, &[6_u8]);
        assert_eq!(comm.recv::<Vec<u8>>(0, 0).await?, [3, 4, 5]);
        third.wait().await?;
        assert_eq!(comm.recv::<Vec<u8>>(0, 0).await?, [6]);
        Ok(())
    });
    ended.unwrap();
}

#[test]
fn sem_g116_the_request_of_a_slice_over_the_limit_ends_when_its_message_was_received() {
    let world = World::solo().limit(1, SendOverflow::Wait);
    let ended = world.run(async |comm| -> Result<(), CommError> {
        comm.isend_slice(0, 0, &[1_u8]).wait().await?;
        let [second, third] = [1, 2].map(|tag| comm.isend_slice(0, tag, &[2_u8]));
        let second = second.test().expect_err("there is no room for it");
        // The two others wait there still.
        assert_eq!(comm.recv::<Vec<u8>>(0, 1).await?, [2]);
        second.wait().await?;
        let third = third.test().expect_err("there is no room for it");
        assert_eq!(comm.recv::<Vec<u8>>(0, 0).await?, [1]);
        third.wait().await?;
        assert_eq!(comm.recv::<Vec<u8>>(0, 2).await?, [2]);
        Ok(())
    });
    ended.unwrap();
}

#[test]
fn sem_g116_who_waits_for_a_slice_over_the_limit_hears_that_it_was_received() {
    everywhere(SendOverflow::Wait, async |comm, _| {
        if comm.rank() == 0 {
            for _ in 0..LIMIT {
                comm.isend_slice(1, 0, &[1_u8]).wait().await?;
            }
            let beyond = comm.isend_slice(1, 1, &[2_u8]);
            let last = comm.isend_slice(1, 2, &[3_u8]);
            beyond.wait().await?;
            comm.ssend(1, 3, ()).await?;
            last.wait().await?;
        } else if comm.rank() == 1 {
            assert_eq!(comm.recv::<Vec<u8>>(0, 1).await?, [2]);
            // Of the others none is received before this.
            comm.recv::<()>(0, 3).await?;
            for _ in 0..LIMIT {
                assert_eq!(comm.recv::<Vec<u8>>(0, 0).await?, [1]);
            }
            assert_eq!(comm.recv::<Vec<u8>>(0, 2).await?, [3]);
        }
        comm.barrier().await
    });
}

#[test]
fn sem_g116_a_send_of_a_layout_that_waits_is_reported_where_it_was_called() {
    let world = World::threads(2).limit(LIMIT, SendOverflow::Wait);
    let ended = world.run(async |comm| {
        while comm.rank() == 0 {
            let pair = Layout::contiguous(2);
            comm.send_layout(1, 4, &[1_u8, 2], &pair).await?;
        }
        comm.recv::<()>(0, 5).await
    });
    let Err(RunError::Stuck(report)) = ended else {
        panic!("{ended:?}");
    };
    let RankState::Waiting(waits) = &report.ranks[0] else {
        panic!("{report}");
    };
    assert_eq!(waits[0].location.file(), file!(), "{report}");
}
