//! Long slices between processes: what comes is right, and no process sends more than the operation
//! needs.

use crate::network::processes;
use crate::worlds::Outcome;
use motet_comm::{CommError, Communicator, RunError, Transport, World};
use motet_testkit::{patience, within};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

/// Bytes of each rank, for one operation.
const BYTES: usize = 240_000;

#[derive(Clone, Copy, Debug)]
enum WaitOperation {
    ToAll,
    Gather,
    Broadcast,
    Reduce,
    ToAllByCounts,
    GatherToAllByCounts,
    GatherToOne,
    GatherToOneByCounts,
    Scatter,
    ScatterByCounts,
    ReduceToOne,
    ReduceScatter,
}

/// The most bytes of numbers that one of so many processes has to send, with `ranks` ranks each.
fn needed(operation: WaitOperation, count: usize, ranks: usize) -> usize {
    let size = count * ranks;
    let others = size - ranks;
    match operation {
        WaitOperation::ToAll | WaitOperation::ToAllByCounts => BYTES / size * ranks * others,
        WaitOperation::Gather | WaitOperation::GatherToAllByCounts => BYTES * ranks * others,
        WaitOperation::GatherToOne | WaitOperation::GatherToOneByCounts => BYTES * ranks,
        WaitOperation::Scatter | WaitOperation::ScatterByCounts => BYTES * others,
        WaitOperation::ReduceToOne | WaitOperation::ReduceScatter => BYTES,
        // The ranks of a process get their shares apart.
        WaitOperation::Broadcast => BYTES * (1 + ranks),
        WaitOperation::Reduce => 2 * BYTES,
    }
}

async fn take_part(operation: WaitOperation, comm: &Communicator) -> Result<(), CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let mine: Vec<u64> = (0..BYTES / 8).map(|i| (rank * 1000 + i) as u64).collect();
    let mut room = mine.clone();
    match operation {
        WaitOperation::ToAll => {
            comm.alltoall_into(&mine, &mut room).await?;
            let each = mine.len() / size;
            for (i, came) in room.iter().enumerate() {
                let from = i / each;
                assert_eq!(*came as usize, from * 1000 + rank * each + i % each);
            }
        }
        WaitOperation::Gather => {
            let mut all = vec![0; size * mine.len()];
            comm.allgather_into(&mine, &mut all).await?;
            for (i, came) in all.iter().enumerate() {
                let (from, at) = (i / mine.len(), i % mine.len());
                assert_eq!(*came as usize, from * 1000 + at);
            }
        }
        WaitOperation::Broadcast => {
            comm.broadcast_into(1, &mut room).await?;
            let right = |(i, came): (usize, &u64)| *came as usize == 1000 + i;
            assert!(room.iter().enumerate().all(right));
        }
        WaitOperation::Reduce => {
            comm.allreduce_into(&mine, &mut room, |a, b| a + b).await?;
            let ranks = size * (size - 1) / 2 * 1000;
            let right = |(i, total): (usize, &u64)| *total as usize == ranks + size * i;
            assert!(room.iter().enumerate().all(right));
        }
        WaitOperation::ToAllByCounts
        | WaitOperation::GatherToAllByCounts
        | WaitOperation::GatherToOneByCounts => {
            return take_part_by_counts(operation, comm, &mine).await;
        }
        _ => return take_part_with_root(operation, comm, &mine).await,
    }
    Ok(())
}

/// Of a rank, what is at this place.
fn at(rank: usize, place: usize) -> u64 {
    (rank * 1000 + place) as u64
}

/// The same of ranks that have different numbers of elements.
async fn take_part_by_counts(
    operation: WaitOperation,
    comm: &Communicator,
    mine: &[u64],
) -> Result<(), CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let (root, is_root) = (size - 1, rank == size - 1);
    let each = mine.len() / size;
    // The second rank brings little, and the first one nothing to the last.
    let count = |of: usize, to: usize| match (of, to) {
        (1, _) => 3,
        (0, to) if to == root => 0,
        _ => each - to,
    };
    let brought = |of: usize| if of == 1 { 5 } else { mine.len() - of };
    match operation {
        WaitOperation::ToAllByCounts => {
            let counts: Vec<usize> = (0..size).map(|to| count(rank, to)).collect();
            let all = counts.iter().sum();
            let mut room = vec![0; (0..size).map(|of| count(of, rank)).sum()];
            let came = comm
                .alltoallv_into(&mine[..all], &counts, &mut room)
                .await?;
            let right: Vec<u64> = (0..size)
                .flat_map(|of| {
                    let begin = (0..rank).map(|to| count(of, to)).sum::<usize>();
                    (begin..begin + count(of, rank)).map(move |place| at(of, place))
                })
                .collect();
            assert!(room == right);
            assert!((0..size).all(|of| came[of] == count(of, rank)));
        }
        WaitOperation::GatherToAllByCounts | WaitOperation::GatherToOneByCounts => {
            let right: Vec<u64> = (0..size)
                .flat_map(|of| (0..brought(of)).map(move |place| at(of, place)))
                .collect();
            let mut room = vec![0; right.len()];
            let mine = &mine[..brought(rank)];
            let came = if let WaitOperation::GatherToAllByCounts = operation {
                comm.allgatherv_into(mine, &mut room).await?
            } else {
                comm.gatherv_into(root, mine, &mut room).await?
            };
            let is_given = is_root || matches!(operation, WaitOperation::GatherToAllByCounts);
            assert!(!is_given || room == right);
            assert!((0..size).all(|of| came[of] == brought(of)));
        }
        _ => unreachable!("these have counts"),
    }
    Ok(())
}

/// The same of operations with a root, and of a reduction to parts.
async fn take_part_with_root(
    operation: WaitOperation,
    comm: &Communicator,
    mine: &[u64],
) -> Result<(), CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let (root, is_root) = (size - 1, rank == size - 1);
    let each = mine.len() / size;
    match operation {
        WaitOperation::GatherToOne => {
            let mut room = vec![0; if is_root { size * mine.len() } else { 3 }];
            comm.gather_into(root, mine, &mut room).await?;
            let right = |(i, came): (usize, &u64)| *came == at(i / mine.len(), i % mine.len());
            assert!(!is_root || room.iter().enumerate().all(right));
        }
        WaitOperation::Scatter => {
            let all: Vec<u64> = (0..size).flat_map(|_| mine.to_vec()).collect();
            let mut part = vec![0; mine.len()];
            let all = if is_root { &all[..] } else { &[] };
            comm.scatter_into(root, all, &mut part).await?;
            assert!((0..part.len()).all(|place| part[place] == at(root, place)));
        }
        WaitOperation::ScatterByCounts => {
            let counts: Vec<usize> = (0..size).map(|to| mine.len() - to).collect();
            let all: Vec<u64> = (0..size).flat_map(|to| mine[to..].to_vec()).collect();
            let (all, counts) = if is_root {
                (&all[..], &counts[..])
            } else {
                (&[][..], &[][..])
            };
            let mut part = vec![0; mine.len() - rank];
            comm.scatterv_into(root, all, counts, &mut part).await?;
            assert!((0..part.len()).all(|place| part[place] == at(root, rank + place)));
        }
        WaitOperation::ReduceToOne => {
            let mut room = vec![0; if is_root { mine.len() } else { 0 }];
            comm.reduce_into(root, mine, &mut room, |a, b| a + b)
                .await?;
            let ranks = size * (size - 1) / 2 * 1000;
            let right = |(i, total): (usize, &u64)| *total as usize == ranks + size * i;
            assert!(room.iter().enumerate().all(right));
        }
        WaitOperation::ReduceScatter => {
            let mut counts = vec![each; size];
            counts[0] = mine.len() - each * (size - 1);
            let begin = counts[..rank].iter().sum::<usize>();
            let mut part = vec![0; counts[rank]];
            let add = |a, b| a + b;
            comm.reduce_scatter_into(mine, &counts, &mut part, add)
                .await?;
            let ranks = size * (size - 1) / 2 * 1000;
            let right = |(i, total): (usize, &u64)| *total as usize == ranks + size * (begin + i);
            assert!(part.iter().enumerate().all(right));
        }
        _ => unreachable!("the others are done above"),
    }
    Ok(())
}

fn sends_what_is_needed(operation: WaitOperation, count: usize, ranks: usize) {
    let sent = within(patience(), move || {
        processes(count, move |end| {
            let world = World::over(end.clone(), ranks);
            let ended =
                world.run(async move |comm| -> Outcome<()> { take_part(operation, &comm).await });
            ended.unwrap();
            (end.bytes_sent(), end.longest_sent())
        })
    });
    // Shares are rounded up; what else goes is short.
    let most = needed(operation, count, ranks) * 21 / 20 + 20_000;
    let worst = sent.iter().map(|(bytes, _)| *bytes).max();
    let worst = worst.unwrap_or_default();
    // Nothing is copied as a whole for the time that a rank sleeps.
    assert!(sent.iter().all(|(_, longest)| *longest <= 33 * 1024));
    assert!(
        worst <= most,
        "{operation:?}, {count} processes of {ranks}: {worst} bytes, {most} are enough"
    );
}

#[test]
fn sem_g312_a_process_sends_what_the_operation_needs() {
    use WaitOperation::*;
    let by_place = [
        ToAll,
        Gather,
        Broadcast,
        ToAllByCounts,
        GatherToAllByCounts,
        GatherToOne,
        GatherToOneByCounts,
        Scatter,
        ScatterByCounts,
    ];
    for count in [2, 3, 4, 5] {
        for operation in by_place
            .into_iter()
            .chain([Reduce, ReduceToOne, ReduceScatter])
        {
            sends_what_is_needed(operation, count, 1);
        }
    }
    for operation in by_place {
        sends_what_is_needed(operation, 3, 2);
    }
}

/// Elements of 24 bytes: pieces end within one.
#[test]
fn sem_g312_pieces_may_cut_elements() {
    within(patience(), || {
        processes(3, |end| {
            let ended = World::over(end, 1).run(async |comm| -> Outcome<()> {
                let mine = vec![[comm.rank() as f64 + 1.0; 3]; 3001];
                let mut totals = vec![[0.0; 3]; 3001];
                let op = |a: [f64; 3], b: [f64; 3]| [a[0] + b[0], a[1] * b[1], a[2].max(b[2])];
                comm.allreduce_into(&mine, &mut totals, op).await?;
                assert!(totals.iter().all(|total| *total == [6.0, 6.0, 3.0]));
                let mut all = vec![[0.0; 3]; 9003];
                comm.allgather_into(&mine, &mut all).await?;
                let right = |(i, came): (usize, &[f64; 3])| *came == [(i / 3001 + 1) as f64; 3];
                assert!(all.iter().enumerate().all(right));
                Ok(())
            });
            ended.unwrap();
        });
    });
}

/// A rank that goes to sleep just when it is told that it may send goes on when there is room.
#[test]
fn sem_g312_who_sleeps_while_the_ranks_agree_sends_the_rest() {
    for _ in 0..30 {
        sends_what_is_needed(WaitOperation::GatherToOneByCounts, 3, 2);
    }
}

/// More elements than may lie between two ranks of a process.
const LONG: usize = 100_000;

#[test]
fn sem_g75_a_rank_whose_room_is_wrong_holds_up_none_of_its_process() {
    within(patience(), || {
        processes(2, |end| {
            let ended = World::over(end, 2).run(async |comm| -> Outcome<()> {
                let (rank, size) = (comm.rank(), comm.size());
                let count = |of, to| if (of, to) == (1, 0) { LONG } else { 8 };
                let counts: Vec<usize> = (0..size).map(|to| count(rank, to)).collect();
                let comes: usize = (0..size).map(|of| count(of, rank)).sum();
                for round in [1_u64, 2] {
                    let is_wrong = round == 1 && rank == 0;
                    let mine = vec![round; counts.iter().sum()];
                    let mut room = vec![0; comes - usize::from(is_wrong)];
                    let came = comm.alltoallv_into(&mine, &counts, &mut room).await;
                    if is_wrong {
                        assert!(matches!(came, Err(CommError::Arguments { .. })), "{came:?}");
                    } else {
                        came?;
                        assert!(room.iter().all(|came| *came == round));
                    }
                    comm.barrier().await?;
                }
                Ok(())
            });
            ended.unwrap();
        });
    });
}

/// Rank 1 begins a broadcast before all others, and gives it up. They go on then.
async fn gives_up(comm: &Communicator) -> Outcome<()> {
    let mut room = vec![0_u64; 4000];
    let call = pin!(comm.broadcast_into(0, &mut room));
    let poll = call.poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending(), "nobody else has come");
    for other in [0, 2, 3] {
        comm.send(other, 0, ()).await?;
    }
    Ok(())
}

#[test]
fn sem_g75_who_waits_for_the_share_of_a_rank_that_has_left_is_told() {
    within(patience(), || {
        processes(2, |end| {
            let ended = World::over(end, 2).run(async |comm| -> Outcome<()> {
                let rank = comm.rank();
                if rank == 1 {
                    gives_up(&comm).await?;
                    // Come only when they have been told.
                    for other in [2, 3] {
                        comm.recv::<()>(other, 0).await?;
                    }
                    return Ok(());
                }
                comm.recv::<()>(1, 0).await?;
                let mut room = vec![rank as u64; 4000];
                let told = comm.broadcast_into(0, &mut room).await;
                if rank == 0 {
                    return told;
                }
                let operation = "broadcast_into";
                assert_eq!(told, Err(CommError::Left { peer: 1, operation }));
                let told = comm.barrier().await;
                assert!(matches!(told, Err(CommError::OutOfStep { .. })), "{told:?}");
                comm.send(1, 0, ()).await
            });
            ended.unwrap();
        });
    });
}

#[test]
fn sem_g107_the_error_of_who_leaves_a_long_exchange_goes_first() {
    within(patience(), || {
        for _ in 0..20 {
            processes(2, |end| {
                let world = World::over(end.clone(), 2);
                let ended = world.run(async |comm| -> Outcome<()> {
                    if comm.rank() == 1 {
                        gives_up(&comm).await?;
                        return comm.send(9, 0, ()).await;
                    }
                    comm.recv::<()>(1, 0).await?;
                    let mut room = vec![0_u64; 4000];
                    comm.broadcast_into(0, &mut room).await?;
                    comm.recv::<()>(1, 1).await
                });
                match ended {
                    Err(RunError::Rank { rank, error }) if end.process() == 0 => {
                        let right = CommError::NoSuchRank { rank: 9, size: 4 };
                        assert_eq!((rank, error), (1, right));
                    }
                    Err(RunError::Elsewhere { process: 0, .. }) => {}
                    other => panic!("{other:?}"),
                }
            });
        }
    });
}
