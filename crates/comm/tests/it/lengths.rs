//! Numbers of which ranks bring more or fewer than the others, or than they say.

use crate::worlds::everywhere;
use motet_comm::CommError;

#[test]
fn sem_g310_every_collective_of_numbers_tells_different_lengths() {
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
                comm.scatter_into(0, (rank == 0).then_some(&all), &mut room)
                    .await,
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
                let sent = comm.scatterv_into(0, Some((&[1], &counts)), &mut [0]).await;
                assert!(matches!(sent, Err(CommError::Root { .. })), "{sent:?}");
            }
            comm.barrier().await
        },
        |_, _| (),
    );
}
