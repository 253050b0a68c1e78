//! A rank that the calling thread is.

use crate::network::processes;
use motet_comm::{ANY_SOURCE, ANY_TAG, CommError, RunError, World};
use motet_sync::block_on;
use motet_testkit::{patience, within};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

#[test]
fn sem_g109_a_thread_that_enters_a_world_is_its_rank_until_it_finishes() {
    within(patience(), || {
        for world in [World::solo(), World::threads(1), World::ports(1)] {
            let here = world.enter().unwrap();
            let comm = here.communicator();
            let came = block_on(async {
                let posted = comm.irecv_with_status::<Vec<u8>>(ANY_SOURCE, ANY_TAG);
                comm.send(0, 7, vec![1_u8, 2]).await?;
                let other = comm.dup().await?;
                assert_eq!(other.allreduce(3, |a, b| a + b).await?, 3);
                posted.wait().await
            });
            let (bytes, status) = came.unwrap();
            assert_eq!((bytes, status.source, status.tag), (vec![1, 2], 0, 7));
            assert!(!here.is_over());
            drop(comm);
            here.finish(Ok(())).unwrap();
        }
        let refused = World::threads(2).enter().unwrap_err();
        assert!(refused.to_string().contains("2 ranks"), "{refused}");
    });
}

#[test]
fn sem_g109_ranks_that_enter_talk_between_processes() {
    within(patience(), || {
        let sums = processes(3, |end| {
            let here = World::over(end, 1).enter().unwrap();
            let comm = here.communicator();
            let (rank, size) = (comm.rank(), comm.size());
            let sum = block_on(async {
                comm.send((rank + 1) % size, 0, rank).await?;
                let came: usize = comm.recv((rank + size - 1) % size, 0).await?;
                comm.allreduce(came, |a, b| a + b).await
            });
            drop(comm);
            here.finish(Ok(())).unwrap();
            sum.unwrap()
        });
        assert_eq!(sums, [3, 3, 3]);
    });
}

#[test]
fn sem_g109_an_entered_rank_that_fails_ends_the_others() {
    within(patience(), || {
        let said = processes(2, |end| {
            let world = World::over(end, 1);
            if world.process().0 == 0 {
                let here = world.enter().unwrap();
                let ended = here.finish(Err("no more paper".to_owned())).unwrap_err();
                assert!(matches!(ended, RunError::Rank { rank: 0, .. }), "{ended}");
                return ended.to_string();
            }
            // One that runs, beside one that has entered.
            let ran = world.run(async |comm| comm.recv::<u32>(0, 0).await);
            ran.unwrap_err().to_string()
        });
        assert!(
            said.iter().all(|said| said.contains("no more paper")),
            "{said:?}"
        );
        let dropped = processes(1, |end| drop(World::over(end, 1).enter().unwrap()));
        assert_eq!(dropped.len(), 1);
    });
}

#[test]
fn sem_g75_who_waits_for_what_an_entered_rank_has_left_is_told_when_that_blocks() {
    within(patience(), || {
        processes(3, |end| {
            let here = World::over(end, 1).enter().unwrap();
            let comm = here.communicator();
            let rank = comm.rank();
            let mut room = vec![rank as u64; 4000];
            if rank == 1 {
                {
                    let call = pin!(comm.broadcast_into(0, &mut room));
                    let poll = call.poll(&mut Context::from_waker(Waker::noop()));
                    assert!(poll.is_pending(), "nobody else has come");
                }
                for other in [0, 2] {
                    block_on(async { comm.send(other, 0, ()).await }).unwrap();
                }
                let waits = here.blocked();
                // Comes only when rank 2 has been told.
                block_on(async { comm.recv::<()>(2, 0).await }).unwrap();
                drop(waits);
            } else {
                block_on(async { comm.recv::<()>(1, 0).await }).unwrap();
                let told = block_on(async { comm.broadcast_into(0, &mut room).await });
                if rank == 2 {
                    let operation = "broadcast_into";
                    assert_eq!(told, Err(CommError::Left { peer: 1, operation }));
                    block_on(async { comm.send(1, 0, ()).await }).unwrap();
                } else {
                    assert_eq!(told, Ok(()));
                }
            }
            drop(comm);
            here.finish(Ok(())).unwrap();
        });
    });
}
