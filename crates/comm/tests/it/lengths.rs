//! Numbers of which ranks bring more or fewer than the others, or than they say.

use crate::network::processes;
use crate::worlds::everywhere;
use motet_comm::{CommError, World};
use motet_testkit::{patience, within};

#[test]
fn sem_g90_every_collective_of_numbers_tells_different_lengths() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            if size == 1 {
                return Ok(());
            }
            let (last, add) = (size - 1, |a: f64, b: f64| a + b);
            // The last rank brings one more for each rank.
            let each = if rank == last { 3 } else { 2 };
            let (mine, all) = (vec![1.0; each], vec![1.0; each * size]);
            let mut room = mine.clone();
            let mut long = all.clone();
            let counts = vec![each; size];
            let outcomes = [
                comm.reduce_into(0, &mine, &mut room, add).await,
                comm.reduce_into(last, &mine, &mut room, add).await,
                comm.exscan_into(&mine, &mut room, add).await,
                comm.gather_into(0, &mine, &mut long).await,
                comm.allgather_into(&mine, &mut long).await,
                comm.scatter_into(0, &all, &mut room).await,
                comm.alltoall_into(&all, &mut long).await,
                comm.reduce_scatter_into(&all, &counts, &mut room, add)
                    .await,
                comm.reproducible_sum_into(&mine, &mut room).await,
            ];
            for (at, outcome) in outcomes.into_iter().enumerate() {
                let Err(CommError::Mismatch { one, other }) = outcome else {
                    panic!("{at}: no mismatch: {outcome:?}");
                };
                let one_is = one.starts_with("rank 0 calls ") && one.ends_with(" elements");
                assert!(one_is, "{at}: {one}");
                let start = format!("rank {last} calls ");
                let other_is = other.starts_with(&start) && other.ends_with(" elements");
                assert!(other_is, "{at}: {other}");
            }
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g90_parts_of_other_lengths_are_told_also_if_they_make_up_as_many() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            if size == 1 {
                return Ok(());
            }
            for each in [1, 3000] {
                let mut counts = vec![each; size];
                if rank + 1 == size {
                    (counts[0], counts[rank]) = (each + 1, each - 1);
                }
                let all = vec![1.0; each * size];
                let mut part = vec![0.0; counts[rank]];
                let sum = comm.reduce_scatter_into(&all, &counts, &mut part, |a, b| a + b);
                let outcome = sum.await;
                let Err(CommError::Mismatch { one, other }) = outcome else {
                    panic!("no mismatch: {outcome:?}");
                };
                for (told, of) in [(one, 0), (other, size - 1)] {
                    let start = format!("rank {of} calls reduce_scatter_into at ");
                    let is_told = told.starts_with(&start) && told.ends_with(" of other lengths");
                    assert!(is_told, "{told}");
                }
            }
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn lengths_that_cannot_be_added_up_are_refused() {
    everywhere(
        async |comm| {
            let size = comm.size();
            if size == 1 {
                return Ok(());
            }
            // Added up without a check they are 1.
            let mut counts = vec![0; size];
            counts[..2].copy_from_slice(&[usize::MAX, 2]);
            let sent = comm.alltoallv_into(&[1], &counts, &mut [0; 1]).await;
            let Err(CommError::Arguments { problem }) = sent else {
                panic!("{sent:?}");
            };
            let expected = format!(
                "alltoallv_into of 1 elements, in {size} parts that hold too many, among {size} ranks"
            );
            assert_eq!(problem, expected);
            let mut part = [0];
            let sum = comm.reduce_scatter_into(&[1], &counts, &mut part, |a, b| a + b);
            assert!(matches!(sum.await, Err(CommError::Arguments { .. })));
            if comm.rank() == 0 {
                let sent = comm.scatterv_into(0, &[1], &counts, &mut [0]).await;
                assert!(matches!(sent, Err(CommError::Root { .. })), "{sent:?}");
            }
            comm.barrier().await
        },
        |_, _| (),
    );
}

/// Numbers of other processes are combined where they have come: of any length, in rank order, also
/// where ranks of one process are no neighbours.
#[test]
fn sem_g310_vectors_of_any_length_are_combined_in_rank_order_between_processes() {
    within(patience(), || {
        for (count, ranks) in [(2, 1), (3, 1), (4, 1), (2, 2)] {
            processes(count, move |end| {
                let world = World::over(end, ranks);
                let combined = world.run(async move |comm| -> Result<_, CommError> {
                    let key = isize::try_from(comm.rank() % ranks).expect("it is small");
                    let turned = comm.split(Some(0), key).await?.expect("it has a colour");
                    for comm in [&comm, &turned] {
                        // Two linear functions, one after the other: they do not commute.
                        let op = |a: u64, b: u64| {
                            let [(f, d), (g, e)] = [a, b].map(|it| (it >> 32, it & 0xffff_ffff));
                            (f * g % 997) << 32 | ((d * g + e) % 997)
                        };
                        let function = |rank: usize| (rank as u64 + 2) << 32 | (rank as u64 + 5);
                        for length in [0, 1, 2, 63, 1025, 40_001] {
                            let numbers = vec![function(comm.rank()); length];
                            let (mut all, mut one) = (vec![0; length], vec![0; length]);
                            comm.allreduce_into(&numbers, &mut all, op).await?;
                            comm.reduce_into(0, &numbers, &mut one, op).await?;
                            let total = (0..comm.size()).map(function).reduce(op);
                            let total = total.expect("there is a rank");
                            assert_eq!(all, vec![total; length]);
                            let at_root = if comm.rank() == 0 { total } else { 0 };
                            assert_eq!(one, vec![at_root; length]);
                        }
                    }
                    Ok(())
                });
                combined.unwrap();
            });
        }
    });
}
