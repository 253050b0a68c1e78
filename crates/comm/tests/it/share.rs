//! Numbers that ranks of several processes use together.

use crate::network::{Endpoint, processes, sharing};
use motet_comm::{CommError, Communicator, World};
use motet_testkit::{patience, within};
use std::sync::Arc;

async fn adds(comm: Communicator) -> Result<bool, CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let given = vec![rank as u64; 3 + rank];
    let shared = match comm.share(given.clone()).await? {
        Ok(shared) => shared,
        Err(back) => {
            assert_eq!(back, given);
            return Ok(false);
        }
    };
    for _ in 0..500 {
        for numbers in &shared {
            numbers.with(|numbers| numbers[2] += 1);
        }
    }
    comm.barrier().await?;
    let all = shared[(rank + 1) % size].with(|numbers| numbers.to_vec());
    let of = (rank + 1) % size;
    let mut expected = vec![of as u64; 3 + of];
    expected[2] += 500 * size as u64;
    assert_eq!(all, Some(expected));
    comm.barrier().await?;
    if rank == 0 {
        assert!(shared[0].close().is_some());
    }
    comm.barrier().await?;
    assert_eq!(shared[0].with(|_| ()), None);
    Ok(true)
}

#[test]
fn sem_g519_numbers_of_ranks_lie_where_all_processes_use_them() {
    within(patience(), || {
        for (count, ranks) in [(2, 1), (2, 3), (3, 2)] {
            let life = move |end: Arc<Endpoint>| World::over(end, ranks).run(adds).unwrap();
            let told = sharing(count, life).concat();
            assert!(told.iter().all(|shared| *shared), "{told:?}");
        }
    });
}

#[test]
fn numbers_come_back_where_nothing_is_shared() {
    within(patience(), || {
        let life = |end: Arc<Endpoint>| World::over(end, 2).run(adds).unwrap();
        let mut told = processes(2, life).concat();
        // One process needs no such memory.
        told.extend(sharing(1, life).concat());
        told.extend(World::threads(3).run(adds).unwrap());
        told.extend(World::ports(2).run(adds).unwrap());
        assert!(told.iter().all(|shared| !*shared), "{told:?}");
    });
}

#[test]
fn where_a_process_would_map_too_much_nothing_is_shared() {
    within(patience(), || {
        // 46 ranks, of which 23 live in each process and would map the memory of all.
        for (ranks, shares) in [(22, true), (23, false)] {
            let life = move |end: Arc<Endpoint>| {
                let body = async |comm: Communicator| -> Result<bool, CommError> {
                    Ok(comm.share(vec![comm.rank()]).await?.is_ok())
                };
                World::over(end, ranks).run(body).unwrap()
            };
            let told = sharing(2, life).concat();
            assert!(told.iter().all(|shared| *shared == shares), "{told:?}");
        }
    });
}

/// Ranks of one process in a communicator of a world over several.
#[test]
fn a_communicator_within_a_process_shares_nothing_between_processes() {
    within(patience(), || {
        let told = sharing(2, |end: Arc<Endpoint>| {
            let body = async |comm: Communicator| adds(comm.split_by_process().await?).await;
            World::over(end, 2).run(body).unwrap()
        });
        assert!(told.concat().iter().all(|shared| !*shared), "{told:?}");
    });
}
