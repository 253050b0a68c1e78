//! Vectors that ranks combine in shares, and numbers that others read while their rank has gone on.

use crate::network::processes;
use crate::worlds::{Outcome, TREES, everywhere, on, with_ranks, worlds_of};
use motet_comm::{CommError, Communicator, World};
use motet_sync::thread;
use motet_testkit::{patience, within};
use std::array;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

fn trees() -> Vec<World> {
    let some = |size| worlds_of(size).into_iter().take(2);
    TREES.into_iter().flat_map(some).collect()
}

fn number(rank: usize, i: usize) -> f64 {
    0.1 * ((rank * 7 + i) as f64 + 1.0).sqrt()
}

#[test]
fn sem_g73_long_vectors_have_the_bits_of_single_values() {
    on(
        trees(),
        async |comm| -> Outcome<()> {
            let (rank, size) = (comm.rank(), comm.size());
            // Shares of whole cache lines, the last ones shorter or empty.
            for length in [64 * size, 64 * size + 1, 91 * size + 5] {
                let mine: Vec<f64> = (0..length).map(|i| number(rank, i)).collect();
                let mut totals = vec![0.0; length];
                comm.allreduce_into(&mine, &mut totals, |a, b| a + b)
                    .await?;
                let mut exact = vec![0.0; length];
                comm.reproducible_sum_into(&mine, &mut exact).await?;
                for i in (0..length).step_by(length / 5) {
                    let single = comm.allreduce(mine[i], |a, b| a + b).await?;
                    assert_eq!(totals[i].to_bits(), single.to_bits(), "{i} of {length}");
                    let single = comm.reproducible_sum(&mine[i..=i]).await?;
                    assert_eq!(exact[i].to_bits(), single.to_bits(), "{i} of {length}");
                }
            }
            Ok(())
        },
        |_, _| (),
    );
}

/// Of each kind that is added up in another way: whole numbers, any, a tie that what is far below
/// it breaks, and infinity.
fn of_kind(kind: usize, rank: usize, i: usize) -> f64 {
    match (kind, i % 3, rank) {
        (0, ..) => (rank * 3 + i) as f64,
        (1, ..) | (_, 0, _) => number(rank, i),
        (2, _, 0..3) => [1.0, 2f64.powi(-53), 2f64.powi(-300)][rank],
        (3, _, 1) => f64::INFINITY,
        _ => 0.0,
    }
}

#[test]
fn sem_g98_long_vectors_are_added_up_as_single_numbers() {
    with_ranks(
        &[2, 3, 5, 8, 12],
        async |comm| -> Outcome<()> {
            let rank = comm.rank();
            for (kind, length) in [(0, 64), (1, 600), (2, 403), (0, 130), (3, 600), (1, 64)] {
                let mine: Vec<f64> = (0..length).map(|i| of_kind(kind, rank, i)).collect();
                let mut exact = vec![0.0; length];
                for _ in 0..3 {
                    comm.reproducible_sum_into(&mine, &mut exact).await?;
                }
                let narrow: Vec<f32> = mine.iter().map(|number| *number as f32).collect();
                let mut narrow_exact = vec![0.0; length];
                comm.reproducible_sum_into(&narrow, &mut narrow_exact)
                    .await?;
                for i in (0..length).step_by(7) {
                    let single = comm.reproducible_sum(&mine[i..=i]).await?;
                    assert_eq!(exact[i].to_bits(), single.to_bits(), "{kind}: {i}");
                    let single = comm.reproducible_sum(&narrow[i..=i]).await?;
                    assert_eq!(narrow_exact[i].to_bits(), single.to_bits(), "{kind}: {i}");
                }
            }
            Ok(())
        },
        |_, _| (),
    );
}

/// The slow twin: neighbours in pairs, then pairs of pairs.
fn in_pairs(mut numbers: Vec<f64>, op: impl Fn(f64, f64) -> f64) -> f64 {
    while numbers.len() > 1 {
        let pairs = numbers.chunks(2);
        numbers = pairs
            .map(|pair| pair.iter().copied().reduce(&op).expect("it is not empty"))
            .collect();
    }
    numbers[0]
}

#[test]
fn sem_g73_ranks_are_combined_in_pairs_wherever_they_live() {
    // Neither commutes nor is associative: whatever is combined in another order has other bits.
    fn op(a: f64, b: f64) -> f64 {
        a - b * 0.7
    }
    fn expected(size: usize, i: usize) -> u64 {
        in_pairs((0..size).map(|rank| number(rank, i)).collect(), op).to_bits()
    }
    with_ranks(
        &[2, 3, 4, 5, 6, 7, 8, 12],
        async |comm| -> Outcome<()> {
            let (rank, size) = (comm.rank(), comm.size());
            // Short ones, such as are combined in the tree, and such as are combined in shares.
            for length in [1, 63, 64, 600, 64 * size + 7, 2000] {
                let mine: Vec<f64> = (0..length).map(|i| number(rank, i)).collect();
                let bits = |totals: &[f64]| totals.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
                let right: Vec<u64> = (0..length).map(|i| expected(size, i)).collect();
                for _ in 0..3 {
                    let mut totals = vec![0.0; length];
                    comm.allreduce_into(&mine, &mut totals, op).await?;
                    assert!(bits(&totals) == right, "{length}");
                }
                let mut totals = vec![0.0; length];
                let started = comm.allreduce_into(&mine, &mut totals, op).start();
                started.wait().await?;
                assert!(bits(&totals) == right, "started, {length}");
                comm.reduce_into(size - 1, &mine, &mut totals, op).await?;
                assert!(rank + 1 < size || bits(&totals) == right, "one, {length}");
                let single = comm.allreduce(mine[0], op).await?;
                assert_eq!(single.to_bits(), right[0]);
                // A part of the ranks, numbered anew and backwards, so that a thread's are no
                // neighbours.
                let (colour, key) = (rank % 2, size - rank);
                let part = comm.split(Some(colour), key as isize).await?;
                let part = part.expect("it has a colour");
                part.allreduce_into(&mine, &mut totals, op).await?;
                let ranks = (0..size).rev().filter(|other| other % 2 == colour);
                let first = in_pairs(ranks.map(|rank| number(rank, 0)).collect(), op);
                assert_eq!(totals[0].to_bits(), first.to_bits(), "a part, {length}");
            }
            Ok(())
        },
        |_, _| (),
    );
}

/// Types and lengths that change from one call to the next, while ranks of the same thread still
/// read.
#[test]
fn sem_g88_numbers_of_one_call_are_not_those_of_another() {
    everywhere(
        async |comm| -> Outcome<()> {
            let (rank, size) = (comm.rank(), comm.size());
            for round in 0..30 {
                let length = [400, 64, 1000][round % 3];
                let mine = vec![(rank + round) as u64; length];
                let mut totals = vec![0; length];
                comm.allreduce_into(&mine, &mut totals, |a, b| a + b)
                    .await?;
                let sum: u64 = (0..size).map(|rank| (rank + round) as u64).sum();
                assert!(totals.iter().all(|total| *total == sum));
                let mine = vec![(rank * 7 + round) as u16; 2 * length];
                let mut most = vec![0; 2 * length];
                comm.allreduce_into(&mine, &mut most, u16::max).await?;
                assert!(most.iter().all(|n| *n == ((size - 1) * 7 + round) as u16));
            }
            // Longer than what is kept.
            let mine = vec![rank as u64 + 1; 140_000];
            let mut totals = vec![0; 140_000];
            for _ in 0..2 {
                comm.allreduce_into(&mine, &mut totals, |a, b| a + b)
                    .await?;
                assert!(totals.iter().all(|n| *n == (size * (size + 1) / 2) as u64));
            }
            Ok(())
        },
        |_, _| (),
    );
}

/// The room that numbers go in is filled again and again, by one rank or another.
#[test]
fn sem_g88_long_parts_and_broadcasts_round_after_round() {
    everywhere(
        async |comm| -> Outcome<()> {
            let (rank, size) = (comm.rank(), comm.size());
            for round in 0..6 {
                // Parts of 512 bytes and more, then of fewer.
                let each = [100, 64, 130, 7, 64, 101][round];
                let of = |from: usize, to: usize| ((from * size + to) * 10 + round) as u64;
                let parts = (0..size).map(|to| vec![of(rank, to); each]);
                let (mine, mut came) = (parts.collect::<Vec<_>>().concat(), vec![0; each * size]);
                comm.alltoall_into(&mine, &mut came).await?;
                let expected = (0..size).map(|from| vec![of(from, rank); each]);
                assert_eq!(came, expected.collect::<Vec<_>>().concat(), "round {round}");
                let root = round / 2 % size;
                let mut told = vec![of(rank, round); 3000];
                comm.broadcast_into(root, &mut told).await?;
                assert!(told == [of(root, round); 3000], "round {round}");
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g74_ranks_that_combine_in_shares_and_others_are_told() {
    everywhere(
        async |comm| {
            if comm.size() == 1 {
                return Ok(());
            }
            let last = comm.rank() == comm.size() - 1;
            let outcome = if last {
                let (mine, mut totals) = (vec![1_u64; 4000], vec![0; 4000]);
                comm.allreduce_into(&mine, &mut totals, |a, b| a + b).await
            } else {
                let (mine, mut totals) = (vec![1.0; 4000], vec![0.0; 4000]);
                comm.allreduce_into(&mine, &mut totals, |a, b| a + b).await
            };
            let Err(CommError::Mismatch { one, other }) = outcome else {
                panic!("no mismatch: {outcome:?}");
            };
            assert!(
                one.contains("f64") && other.contains("u64"),
                "{one} {other}"
            );
            let (mine, mut totals) = (vec![1.0; 4000], vec![0.0; 4000]);
            let outcome = if last {
                comm.barrier().await
            } else {
                comm.allreduce_into(&mine, &mut totals, |a, b| a + b).await
            };
            let Err(CommError::Mismatch { one, other }) = outcome else {
                panic!("no mismatch: {outcome:?}");
            };
            assert!(one.contains("allreduce_into") && other.contains("barrier"));
            // One goes piece by piece, and the other is short.
            let length = if last { 10 } else { 2000 };
            let (mine, mut totals) = (vec![1.0; length], vec![0.0; length]);
            let outcome = comm.allreduce_into(&mine, &mut totals, |a, b| a + b).await;
            assert!(matches!(outcome, Err(CommError::Mismatch { .. })));
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g75_a_dropped_vector_is_told_at_the_next_one() {
    everywhere(
        async |comm| {
            if comm.rank() == 0 && comm.size() > 1 {
                let (mine, mut totals) = (vec![1.0; 4000], vec![0.0; 4000]);
                {
                    let call = pin!(comm.allreduce_into(&mine, &mut totals, |a, b| a + b));
                    let poll = call.poll(&mut Context::from_waker(Waker::noop()));
                    assert!(poll.is_pending(), "the call waits");
                }
                let told = comm.broadcast_into(0, &mut totals).await;
                assert!(matches!(told, Err(CommError::OutOfStep { .. })), "{told:?}");
            }
            Ok(())
        },
        |_, _| (),
    );
}

/// The root's numbers are copied when it calls: what it does with them after it has gone on is not
/// seen.
#[test]
fn numbers_are_read_as_they_were_when_their_rank_came() {
    everywhere(
        async |comm| -> Outcome<Vec<u32>> {
            let mut came = vec![7; 3000];
            if comm.rank() == 0 && comm.size() > 1 {
                {
                    let call = pin!(comm.broadcast_into(0, &mut came));
                    let poll = call.poll(&mut Context::from_waker(Waker::noop()));
                    assert!(poll.is_pending(), "the call waits");
                }
                came.fill(9);
                drop(came);
                for dest in 1..comm.size() {
                    comm.send(dest, 0, ()).await?;
                }
                return Ok(vec![7; 3000]);
            }
            if comm.size() > 1 {
                comm.recv::<()>(0, 0).await?;
                came.fill(0);
            }
            comm.broadcast_into(0, &mut came).await?;
            Ok(came)
        },
        |_, _| vec![7; 3000],
    );
}

/// Ranks of one thread have laid down what they bring when the others find the lengths wrong; the
/// next call finds none of it.
#[test]
fn sem_g90_long_parts_for_all_of_different_lengths() {
    everywhere(
        async |comm| -> Outcome<()> {
            let (rank, size) = (comm.rank(), comm.size());
            // Longer and shorter, and so short that they would go another way.
            for each in [100, 130, 64, 7] {
                let each = if rank + 1 == size { each } else { 100 };
                let outcome = comm
                    .alltoall_into(&vec![1_u64; each * size], &mut vec![0; each * size])
                    .await;
                let last = comm.allreduce(each, usize::min).await?;
                let first = comm.allreduce(each, usize::max).await?;
                match outcome {
                    Ok(()) => assert_eq!(last, first, "rank {rank}"),
                    Err(CommError::Mismatch { .. }) => assert_ne!(last, first, "rank {rank}"),
                    Err(other) => panic!("{other}"),
                }
                // One that has no room for what comes is told so, and no other.
                let mut came = vec![0; 100 * size - usize::from(rank == 0)];
                let outcome = comm
                    .alltoall_into(&vec![rank as u64; 100 * size], &mut came)
                    .await;
                match outcome {
                    Err(CommError::Arguments { .. }) => assert_eq!(rank, 0),
                    outcome => {
                        outcome?;
                        let mut parts = came.chunks(100).enumerate();
                        assert!(parts.all(|(of, part)| part == [of as u64; 100]));
                    }
                }
            }
            Ok(())
        },
        |_, _| (),
    );
}

/// What a rank has for another: so long that it goes when all know how much comes from where.
const EACH: usize = 3000;

/// Each rank gets long parts from the others, by the call with this number. Rank 0 may have one
/// place too few. What has come.
async fn parts_of_others(comm: &Communicator, call: usize, few: bool) -> Outcome<Vec<u64>> {
    let (rank, size) = (comm.rank(), comm.size());
    let mine = vec![rank as u64; EACH * size];
    let comes = match call {
        0 | 1 => EACH * size,
        2 if rank == 0 => EACH * size,
        2 => 0,
        _ => EACH,
    };
    let mut room = vec![0; comes - usize::from(few && rank == 0)];
    let counts = vec![EACH; size];
    match call {
        0 => drop(comm.alltoallv_into(&mine, &counts, &mut room).await?),
        1 => drop(comm.allgatherv_into(&mine[..EACH], &mut room).await?),
        2 => drop(comm.gatherv_into(0, &mine[..EACH], &mut room).await?),
        _ if rank == 1 => comm.scatterv_into(1, &mine, &counts, &mut room).await?,
        _ => comm.scatterv_into(1, &[], &[], &mut room).await?,
    }
    Ok(room)
}

#[test]
fn a_room_that_is_wrong_for_long_parts_is_told_to_its_rank_and_no_other() {
    within(patience(), || {
        for count in [2, 3] {
            processes(count, |end| {
                let ended = World::over(end, 1).run(async |comm| -> Outcome<()> {
                    for (call, few) in (0..4).flat_map(|call| [(call, true), (call, false)]) {
                        let came = parts_of_others(&comm, call, few).await;
                        if few && comm.rank() == 0 {
                            let told = came.unwrap_err();
                            assert!(matches!(told, CommError::Arguments { .. }), "{told}");
                        } else {
                            let came = came?;
                            let from = |at: usize| if call == 3 { 1 } else { at / EACH };
                            let mut all = came.iter().enumerate();
                            assert!(all.all(|(at, n)| *n == from(at) as u64), "call {call}");
                        }
                        comm.barrier().await?;
                    }
                    Ok(())
                });
                ended.unwrap();
            });
        }
    });
}

/// Roots that run ahead of their readers, and types that change: the room that is lent again is
/// nobody else's.
#[test]
fn room_that_is_lent_again_is_read_by_nobody() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            for round in 0..40 {
                let root = round % size;
                let mut numbers = vec![(rank * 1000 + round) as f64; 700];
                comm.broadcast_into(root, &mut numbers).await?;
                assert!(numbers.iter().all(|n| *n == (root * 1000 + round) as f64));
                let mine: Vec<u16> = (0..64 * size)
                    .map(|i| (rank + i / 64 + round) as u16)
                    .collect();
                let mut came = vec![0; 64 * size];
                comm.alltoall_into(&mine, &mut came).await?;
                let from = |i: usize| (i / 64 + rank + round) as u16;
                assert!(came.iter().enumerate().all(|(i, n)| *n == from(i)));
                let mine = vec![(rank + round) as u64; 300 * size];
                let mut totals = vec![0; 300 * size];
                comm.allreduce_into(&mine, &mut totals, |a, b| a + b)
                    .await?;
                let sum: u64 = (0..size).map(|rank| (rank + round) as u64).sum();
                assert!(totals.iter().all(|n| *n == sum));
            }
            Ok(())
        },
        |_, _| (),
    );
}

/// Of two ranks in a process each the numbers go piece by piece, beside the collective.
#[test]
fn sem_g73_vectors_that_come_in_pieces_are_combined_in_rank_order() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            for length in [1, 1023, 1024, 1025, 5003] {
                let mine: Vec<f64> = (0..length).map(|i| number(rank, i)).collect();
                let mut totals = vec![0.0; length];
                // Does not commute.
                let op = |a: f64, b: f64| a + b * 0.5;
                comm.allreduce_into(&mine, &mut totals, op).await?;
                if size == 2 {
                    for (i, total) in totals.iter().enumerate() {
                        let expected = op(number(0, i), number(1, i));
                        assert_eq!(total.to_bits(), expected.to_bits(), "{i} of {length}");
                    }
                }
                let bytes = vec![rank as u8; 8 * length];
                let mut sums = vec![0; 8 * length];
                comm.allreduce_into(&bytes, &mut sums, |a, b| a + b).await?;
                assert!(
                    sums.iter()
                        .all(|sum| usize::from(*sum) == size * (size - 1) / 2)
                );
            }
            Ok(())
        },
        |_, _| (),
    );
}

/// Who sleeps, computes or has dropped its call keeps nobody: what it gives goes on without it.
#[test]
fn sem_g75_pieces_of_who_sleeps_or_has_left_go_on_without_it() {
    within(patience(), || {
        let outcomes = processes(2, |end| {
            let world = World::over(end, 1);
            let ended = world.run(async |comm| -> Outcome<bool> {
                let mine = vec![comm.rank() + 1; 4000];
                let mut totals = vec![0; 4000];
                for late in [0, 1] {
                    if comm.rank() == late {
                        thread::park_timeout(Duration::from_millis(60));
                    }
                    totals.fill(0);
                    comm.allreduce_into(&mine, &mut totals, |a, b| a + b)
                        .await?;
                    assert_eq!(totals, [3; 4000]);
                }
                if comm.rank() == 0 {
                    {
                        let call = pin!(comm.alltoall_into(&mine, &mut totals));
                        let poll = call.poll(&mut Context::from_waker(Waker::noop()));
                        assert!(poll.is_pending(), "the call waits");
                    }
                    comm.send(1, 0, ()).await?;
                    let told = comm.barrier().await;
                    return Ok(matches!(told, Err(CommError::OutOfStep { .. })));
                }
                comm.recv::<()>(0, 0).await?;
                comm.alltoall_into(&mine, &mut totals).await?;
                Ok(totals == [[1; 2000], [2; 2000]].concat())
            });
            ended.unwrap()
        });
        assert_eq!(outcomes, [[true], [true]]);
    });
}

fn add_matrices(a: [[u64; 6]; 6], b: [[u64; 6]; 6]) -> [[u64; 6]; 6] {
    array::from_fn(|row| array::from_fn(|column| a[row][column] + b[row][column]))
}

/// A share is longer than what a rank has room for of each row at once.
#[test]
fn long_vectors_of_large_elements_are_combined_between_processes() {
    within(patience(), || {
        let ended = processes(2, |end| {
            World::over(end, 1).run(async |comm| -> Outcome<_> {
                let mine = vec![[[comm.rank() as u64 + 1; 6]; 6]; 1200];
                let mut totals = vec![[[0; 6]; 6]; mine.len()];
                comm.allreduce_into(&mine, &mut totals, add_matrices)
                    .await?;
                Ok(totals.iter().all(|total| *total == [[3; 6]; 6]))
            })
        });
        for ended in ended {
            assert_eq!(ended.unwrap(), [true]);
        }
    });
}
