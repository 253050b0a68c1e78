//! Every collective in all its forms, against a sequential fold.

use crate::worlds::{Outcome, everywhere, fails_everywhere, on, worlds_of};
use motet_comm::{CommError, Communicator, World};

/// The worlds that every form is tried on.
fn sizes() -> Vec<World> {
    let sized = |size| worlds_of(size).into_iter().step_by(3);
    [1, 2, 3, 4, 5, 7, 8, 16]
        .into_iter()
        .flat_map(sized)
        .chain([World::solo()])
        .collect()
}

const LENGTHS: [usize; 4] = [0, 1, 5, 3000];

/// Number `i` of rank `rank`.
fn number(rank: usize, i: usize) -> u64 {
    (rank as u64 + 3).wrapping_mul(i as u64 + 7)
}

fn numbers(rank: usize, length: usize) -> Vec<u64> {
    (0..length).map(|i| number(rank, i)).collect()
}

/// Associative, but it does not commute: affine maps modulo 2³², composed.
fn compose(f: u64, g: u64) -> u64 {
    let (a, b) = (f >> 32, f & 0xffff_ffff);
    let (c, d) = (g >> 32, g & 0xffff_ffff);
    let low = |x: u64| x & 0xffff_ffff;
    low(a.wrapping_mul(c)) << 32 | low(a.wrapping_mul(d).wrapping_add(b))
}

fn map(rank: usize, i: usize) -> u64 {
    (rank as u64 * 2 + 3) << 32 | (i as u64 + 1)
}

fn maps(rank: usize, length: usize) -> Vec<u64> {
    (0..length).map(|i| map(rank, i)).collect()
}

/// The maps of these ranks, composed in rank order.
fn fold(mut ranks: impl Iterator<Item = usize>, i: usize) -> u64 {
    let first = map(ranks.next().expect("there is a rank"), i);
    ranks.fold(first, |total, rank| compose(total, map(rank, i)))
}

fn folds(ranks: std::ops::Range<usize>, length: usize) -> Vec<u64> {
    (0..length).map(|i| fold(ranks.clone(), i)).collect()
}

fn roots(size: usize) -> [usize; 3] {
    [0, size / 2, size - 1]
}

#[test]
fn sem_g88_allreduce_and_reduce() {
    on(
        sizes(),
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            for length in LENGTHS {
                let (mine, all) = (maps(rank, length), folds(0..size, length));
                let mut totals = vec![0; length];
                comm.allreduce_into(&mine, &mut totals, compose).await?;
                assert_eq!(totals, all);
                let mut totals = vec![0; length];
                comm.allreduce_into(&mine, &mut totals, compose)
                    .start()
                    .wait()
                    .await?;
                assert_eq!(totals, all);
                for root in roots(size) {
                    let mut totals = vec![1; length];
                    comm.reduce_into(root, &mine, &mut totals, compose).await?;
                    let expected = if rank == root { &all } else { &vec![1; length] };
                    assert_eq!(&totals, expected);
                    let mut totals = vec![1; length];
                    let started = comm.reduce_into(root, &mine, &mut totals, compose).start();
                    started.wait().await?;
                    assert_eq!(&totals, expected);
                }
            }
            let one = fold(0..size, 1);
            assert_eq!(
                comm.allreduce(map(rank, 1), compose).start().wait().await?,
                one
            );
            for root in roots(size) {
                let total = comm
                    .reduce(root, map(rank, 1), compose)
                    .start()
                    .wait()
                    .await?;
                assert_eq!(total, (rank == root).then_some(one));
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g88_scan_and_exscan() {
    on(
        sizes(),
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let (upto, before) = (fold(0..rank + 1, 2), (rank > 0).then(|| fold(0..rank, 2)));
            assert_eq!(comm.scan(map(rank, 2), compose).await?, upto);
            assert_eq!(comm.scan(map(rank, 2), compose).start().wait().await?, upto);
            assert_eq!(comm.exscan(map(rank, 2), compose).await?, before);
            assert_eq!(
                comm.exscan(map(rank, 2), compose).start().wait().await?,
                before
            );
            for length in LENGTHS {
                let mine = maps(rank, length);
                let expected = folds(0..rank + 1, length);
                let mut totals = vec![0; length];
                comm.scan_into(&mine, &mut totals, compose).await?;
                assert_eq!(totals, expected, "{size}");
                totals.fill(0);
                comm.scan_into(&mine, &mut totals, compose)
                    .start()
                    .wait()
                    .await?;
                assert_eq!(totals, expected);
                let expected = if rank == 0 {
                    vec![9; length]
                } else {
                    folds(0..rank, length)
                };
                totals.fill(9);
                comm.exscan_into(&mine, &mut totals, compose).await?;
                assert_eq!(totals, expected);
                totals.fill(9);
                comm.exscan_into(&mine, &mut totals, compose)
                    .start()
                    .wait()
                    .await?;
                assert_eq!(totals, expected);
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g88_reduce_scatter() {
    on(
        sizes(),
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let mine = maps(rank, size);
            let expected = fold(0..size, rank);
            assert_eq!(comm.reduce_scatter(mine.clone(), compose).await?, expected);
            assert_eq!(
                comm.reduce_scatter(mine, compose).start().wait().await?,
                expected
            );
            // Rank r gets 2r elements.
            let counts: Vec<usize> = (0..size).map(|rank| 2 * rank).collect();
            let length = counts.iter().sum();
            let begin: usize = counts[..rank].iter().sum();
            let all = folds(0..size, length);
            let mut part = vec![0; counts[rank]];
            let mine = maps(rank, length);
            comm.reduce_scatter_into(&mine, &counts, &mut part, compose)
                .await?;
            assert_eq!(part, all[begin..begin + counts[rank]]);
            part.fill(0);
            comm.reduce_scatter_into(&mine, &counts, &mut part, compose)
                .start()
                .wait()
                .await?;
            assert_eq!(part, all[begin..begin + counts[rank]]);
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g88_sem_g105_broadcast_and_scatter() {
    on(
        sizes(),
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            for root in roots(size) {
                let told = comm
                    .broadcast(root, (rank == root).then_some(root + 5))
                    .start();
                assert_eq!(told.wait().await?, root + 5);
                let values = (rank == root).then(|| numbers(root, size));
                assert_eq!(
                    comm.scatter(root, values).start().wait().await?,
                    number(root, rank)
                );
                for length in LENGTHS {
                    let mut mine = numbers(rank, length);
                    comm.broadcast_into(root, &mut mine).await?;
                    assert_eq!(mine, numbers(root, length));
                    let mut mine = numbers(rank, length);
                    comm.broadcast_into(root, &mut mine).start().wait().await?;
                    assert_eq!(mine, numbers(root, length));
                    let all = numbers(root, length * size);
                    let given = if rank == root { &all[..] } else { &[] };
                    let mut part = vec![0; length];
                    comm.scatter_into(root, given, &mut part).await?;
                    assert_eq!(part, all[rank * length..][..length]);
                    part.fill(0);
                    comm.scatter_into(root, given, &mut part)
                        .start()
                        .wait()
                        .await?;
                    assert_eq!(part, all[rank * length..][..length]);
                }
                let counts: Vec<usize> = (0..size).map(|rank| 3 * (rank % 3)).collect();
                let all = numbers(root, counts.iter().sum());
                let (given, cuts) = match rank == root {
                    true => (&all[..], &counts[..]),
                    false => (&[][..], &[][..]),
                };
                let begin: usize = counts[..rank].iter().sum();
                let mut part = vec![0; counts[rank]];
                comm.scatterv_into(root, given, cuts, &mut part).await?;
                assert_eq!(part, all[begin..][..counts[rank]]);
                part.fill(0);
                comm.scatterv_into(root, given, cuts, &mut part)
                    .start()
                    .wait()
                    .await?;
                assert_eq!(part, all[begin..][..counts[rank]]);
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g88_gather_and_allgather() {
    on(
        sizes(),
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let everyone: Vec<usize> = (0..size).collect();
            assert_eq!(comm.allgather(rank).start().wait().await?, everyone);
            let counts: Vec<usize> = (0..size).map(|rank| rank % 3).collect();
            let ragged: Vec<u64> = (0..size).flat_map(|r| numbers(r, r % 3)).collect();
            let mut all = vec![0; ragged.len()];
            let mine = numbers(rank, rank % 3);
            assert_eq!(comm.allgatherv_into(&mine, &mut all).await?, counts);
            assert_eq!(all, ragged);
            all.fill(0);
            let came = comm.allgatherv_into(&mine, &mut all).start();
            assert_eq!(came.wait().await?, counts);
            assert_eq!(all, ragged);
            for root in roots(size) {
                let gathered = comm.gather(root, rank).start().wait().await?;
                assert_eq!(gathered, (rank == root).then(|| everyone.clone()));
                let mut all = vec![7; ragged.len()];
                assert_eq!(comm.gatherv_into(root, &mine, &mut all).await?, counts);
                let right = match rank == root {
                    true => ragged.clone(),
                    false => vec![7; ragged.len()],
                };
                assert_eq!(all, right);
                all.fill(7);
                let came = comm.gatherv_into(root, &mine, &mut all).start();
                assert_eq!(came.wait().await?, counts);
                assert_eq!(all, right);
            }
            for length in LENGTHS {
                let mine = numbers(rank, length);
                let even: Vec<u64> = (0..size).flat_map(|r| numbers(r, length)).collect();
                let mut all = vec![0; even.len()];
                comm.allgather_into(&mine, &mut all).await?;
                assert_eq!(all, even);
                all.fill(0);
                comm.allgather_into(&mine, &mut all).start().wait().await?;
                assert_eq!(all, even);
                for root in roots(size) {
                    let room = if rank == root { even.len() } else { 0 };
                    let mut all = vec![0; room];
                    comm.gather_into(root, &mine, &mut all).await?;
                    assert_eq!(all, even[..room]);
                    all.fill(0);
                    comm.gather_into(root, &mine, &mut all)
                        .start()
                        .wait()
                        .await?;
                    assert_eq!(all, even[..room]);
                }
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g88_alltoall() {
    on(
        sizes(),
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let row: Vec<_> = (0..size).map(|to| Box::new((rank, to))).collect();
            let column: Vec<_> = (0..size).map(|from| Box::new((from, rank))).collect();
            assert_eq!(comm.alltoall(row.clone()).await?, column);
            assert_eq!(comm.alltoall(row).start().wait().await?, column);
            for length in [0, 1, 5, 300] {
                let mine = numbers(rank, length * size);
                let part = |from| numbers(from, length * size)[rank * length..][..length].to_vec();
                let expected: Vec<u64> = (0..size).flat_map(part).collect();
                let mut came = vec![0; mine.len()];
                comm.alltoall_into(&mine, &mut came).await?;
                assert_eq!(came, expected);
                came.fill(0);
                comm.alltoall_into(&mine, &mut came).start().wait().await?;
                assert_eq!(came, expected);
            }
            // Rank r has (r + to) % 3 numbers for rank `to`.
            let counts =
                |from: usize| -> Vec<usize> { (0..size).map(|to| (from + to) % 3).collect() };
            let all = |from: usize| numbers(from, counts(from).iter().sum());
            let part = |from: usize| {
                let begin: usize = counts(from)[..rank].iter().sum();
                all(from)[begin..][..counts(from)[rank]].to_vec()
            };
            let expected: Vec<u64> = (0..size).flat_map(part).collect();
            let from_each: Vec<usize> = (0..size).map(|from| (from + rank) % 3).collect();
            let mut came = vec![0; expected.len()];
            let (mine, parts) = (all(rank), counts(rank));
            assert_eq!(
                comm.alltoallv_into(&mine, &parts, &mut came).await?,
                from_each
            );
            assert_eq!(came, expected);
            came.fill(0);
            let started = comm.alltoallv_into(&mine, &parts, &mut came).start();
            assert_eq!(started.wait().await?, from_each);
            assert_eq!(came, expected);
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g89_many_collectives_are_started_and_waited_for_in_any_order() {
    everywhere(
        async |comm| {
            let first = comm.barrier().start();
            let sums: Vec<_> = (0..20)
                .map(|n| comm.allreduce(n, |a, b| a + b).start())
                .collect();
            let all = comm.allgather(comm.rank()).start();
            comm.barrier().await?;
            let mut total = 0;
            for sum in sums.into_iter().rev() {
                total += sum.wait().await?;
            }
            first.wait().await?;
            Ok((total, all.wait().await?.len()))
        },
        |_, size| (190 * size, size),
    );
}

#[test]
fn sem_g89_a_started_collective_needs_its_rank_no_more() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let sum = comm.allreduce(rank, |a, b| a + b).start();
            if rank > 0 {
                // Rank 0 waits for the sum; nobody else looks at it before rank 0 has it.
                let told = comm.recv::<usize>(0, 0).await?;
                return Ok((told, sum.wait().await?));
            }
            let total = sum.wait().await?;
            for dest in 1..size {
                comm.send(dest, 0, total).await?;
            }
            Ok((total, total))
        },
        |_, size| (size * (size - 1) / 2, size * (size - 1) / 2),
    );
}

#[test]
fn sem_g89_a_started_collective_that_is_dropped_takes_place() {
    everywhere(
        async |comm| {
            let started = comm.allreduce(1, |a, b| a + b).start();
            let sum = if comm.rank() == 0 {
                Some(started.wait().await?)
            } else {
                drop(started);
                None
            };
            // And nobody is out of step.
            comm.barrier().await?;
            Ok(sum)
        },
        |rank, size| (rank == 0).then_some(size),
    );
}

#[test]
fn sem_g89_started_collectives_that_all_ranks_drop_leave_the_next_alone() {
    everywhere(
        async |comm| {
            let rank = comm.rank();
            drop(comm.allreduce(rank, |a, b| a.max(b)).start());
            assert!(
                !comm.allgather("dropped".to_owned()).start().cancel(),
                "it takes place"
            );
            let sum = comm.allreduce(rank, |a, b| a + b).start();
            drop(comm.barrier().start());
            let all = comm.allgather(rank).start();
            Ok((sum.wait().await?, all.wait().await?))
        },
        |_, size| (size * (size - 1) / 2, (0..size).collect()),
    );
}

#[test]
fn sem_g90_different_lengths_are_told_to_every_rank() {
    everywhere(
        async |comm| {
            if comm.size() == 1 {
                return Ok(());
            }
            let odd = comm.rank() + 1 == comm.size();
            let numbers = vec![1; if odd { 4 } else { 3 }];
            let mut totals = numbers.clone();
            let add = |a, b| a + b;
            let outcomes = [
                comm.allreduce_into(&numbers, &mut totals, add).await,
                comm.allreduce_into(&numbers, &mut totals, add)
                    .start()
                    .wait()
                    .await,
                comm.scan_into(&numbers, &mut totals, add).await,
                comm.broadcast_into(0, &mut totals).await,
            ];
            for outcome in outcomes {
                let Err(CommError::Mismatch { one, other }) = outcome else {
                    panic!("no mismatch: {outcome:?}");
                };
                assert!(one.starts_with("rank 0 calls "), "{one}");
                assert!(one.ends_with(" with 3 elements"), "{one}");
                let last = format!("rank {} calls ", comm.size() - 1);
                assert!(
                    other.starts_with(&last) && other.ends_with(" with 4 elements"),
                    "{other}"
                );
            }
            // What was wrong is over.
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g90_a_blocking_and_a_started_collective_do_not_meet() {
    fails_everywhere(
        2,
        async |comm: Communicator| -> Outcome<()> {
            if comm.rank() == 0 {
                comm.barrier().start().wait().await
            } else {
                comm.barrier().await
            }
        },
        |_, error| {
            let text = error.to_string();
            assert!(
                text.contains("rank 0: waits in started barrier at "),
                "{text}"
            );
            assert!(text.contains("rank 1: waits in barrier at "), "{text}");
        },
    );
}

#[test]
fn arguments_that_do_not_fit_are_told_before_anyone_is_met() {
    everywhere(
        async |comm| {
            let (size, add) = (comm.size(), |a: i32, b: i32| a + b);
            let problem = |outcome: Outcome<()>| match outcome {
                Err(CommError::Arguments { problem } | CommError::Root { problem }) => problem,
                other => panic!("{other:?}"),
            };
            let short = problem(comm.allreduce_into(&[1, 2], &mut [0], add).await);
            assert_eq!(
                short,
                "allreduce_into of 2 elements, and there is room for 1"
            );
            problem(comm.scan_into(&[1, 2], &mut [0], add).await);
            let many = problem(comm.alltoall(vec![1; size + 1]).await.map(drop));
            let expected = format!(
                "alltoall of {} values among {size} ranks: one each is needed",
                size + 1
            );
            assert_eq!(many, expected);
            problem(comm.reduce_scatter(vec![1; size + 1], add).await.map(drop));
            let counts = vec![2; size];
            problem(comm.reduce_scatter_into(&[1], &counts, &mut [0], add).await);
            problem(comm.alltoallv_into(&[1], &counts, &mut [0]).await.map(drop));
            if size > 1 {
                let uneven = vec![1; size + 1];
                problem(comm.alltoall_into(&uneven, &mut uneven.clone()).await);
            }
            if comm.rank() == 0 {
                let wrong = comm.scatterv_into(0, &[1, 2], &[1], &mut [0]).await;
                problem(wrong);
            }
            comm.barrier().await
        },
        |_, _| (),
    );
}

/// Numbers whose plain sum depends on its order in almost every bit.
fn wild(i: usize) -> f64 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let sign = if mixed & 1 == 0 { 1.0 } else { -1.0 };
    sign * (mixed >> 11) as f64 * 2f64.powi((mixed % 90) as i32 - 80)
}

#[test]
fn sem_g98_reproducible_sums_have_the_same_bits_on_every_world() {
    let all: Vec<f64> = (0..2000).map(wild).collect();
    let expected = all.iter().collect::<motet_comm::ExactSum>().value();
    let rows: Vec<Vec<f64>> = (0..300)
        .map(|i| (0..8).map(|r| wild(8 * i + r)).collect())
        .collect();
    let sum = |row: &Vec<f64>| row.iter().collect::<motet_comm::ExactSum>().value();
    let columns: Vec<f64> = rows.iter().map(sum).collect();
    on(
        sizes(),
        async move |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let mine: Vec<f64> = all.iter().skip(rank).step_by(size).copied().collect();
            let total = comm.reproducible_sum(&mine).await?;
            assert_eq!(
                comm.reproducible_sum(&mine).start().wait().await?.to_bits(),
                total.to_bits()
            );
            // Eight rows of numbers, of which each rank has one; where there are fewer ranks
            // nothing is compared, as each has one row only.
            let part = |row: &Vec<f64>| if rank < 8 { row[rank] } else { 0.0 };
            let mine: Vec<f64> = rows.iter().map(part).collect();
            let (mut totals, mut again) = (vec![1.0; 300], vec![1.0; 300]);
            comm.reproducible_sum_into(&mine, &mut totals).await?;
            comm.reproducible_sum_into(&mine, &mut again)
                .start()
                .wait()
                .await?;
            assert_eq!(totals, again);
            assert!(size < 8 || totals == columns, "{size}");
            Ok(total.to_bits())
        },
        move |_, _| expected.to_bits(),
    );
}
