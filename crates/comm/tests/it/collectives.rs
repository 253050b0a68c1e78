//! Collectives against the sequential fold in rank order.

use crate::worlds::{TREES, on, worlds, worlds_of};
use motet_comm::{Communicator, Local, World};
use motet_testkit::{Drops, patience, within};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The worlds of [`everywhere`], and those whose tree of ranks has further levels.
fn all_sizes() -> Vec<World> {
    let trees = TREES.into_iter().flat_map(|size| {
        let world = World::threads(size);
        [world.clone().workers(1), world.clone().workers(2), world]
    });
    worlds().into_iter().chain(trees).collect()
}

/// A word that says whose it is: joining words does not commute.
fn word(rank: usize) -> String {
    format!("<{rank}>")
}

fn words(size: usize) -> String {
    (0..size).map(word).collect()
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "operators of collectives take values"
)]
fn join(left: String, right: String) -> String {
    left + &right
}

/// The roots to try: the ends and the middle.
fn roots(size: usize) -> [usize; 3] {
    [0, size / 2, size - 1]
}

type Matrix = [[u64; 2]; 2];

/// Multiplies with overflow: associative, but it does not commute.
fn multiply(a: Matrix, b: Matrix) -> Matrix {
    let entry = |row: usize, column: usize| {
        (0..2).fold(0u64, |sum, k| {
            sum.wrapping_add(a[row][k].wrapping_mul(b[k][column]))
        })
    };
    [[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]]
}

fn matrix(rank: usize) -> Matrix {
    let rank = rank as u64;
    [[rank + 1, 2], [3, rank * rank]]
}

fn product(size: usize) -> Matrix {
    (0..size)
        .map(matrix)
        .reduce(multiply)
        .expect("a world has a rank")
}

#[test]
fn sem_g73_allreduce_combines_in_rank_order() {
    on(
        all_sizes(),
        async |comm| {
            let words = comm.allreduce(word(comm.rank()), join).await?;
            Ok((words, comm.allreduce(matrix(comm.rank()), multiply).await?))
        },
        |_, size| (words(size), product(size)),
    );
}

#[test]
fn sem_g73_reduce_combines_in_rank_order_for_any_root() {
    on(
        all_sizes(),
        async |comm| {
            let mut totals = Vec::new();
            for root in roots(comm.size()) {
                totals.push(comm.reduce(root, word(comm.rank()), join).await?);
            }
            Ok(totals)
        },
        |rank, size| {
            let total = |root| (root == rank).then(|| words(size));
            roots(size).map(total).to_vec()
        },
    );
}

#[test]
fn sem_g73_floating_point_totals_have_the_same_bits_on_any_number_of_threads() {
    within(patience(), || {
        for size in [1, 2, 3, 4, 8, 17, 65] {
            let mut seen = Vec::new();
            for world in worlds_of(size) {
                let body = async |comm: Communicator| {
                    let mine = 0.1 * (comm.rank() as f64 + 1.0).sqrt();
                    comm.allreduce(mine, |a, b| a + b).await
                };
                let totals = world.run(body).expect("it ends well");
                seen.extend(totals.into_iter().map(f64::to_bits));
            }
            assert!(seen.iter().all(|bits| *bits == seen[0]), "{size} ranks");
        }
    });
}

#[test]
fn gather_and_allgather_bring_values_in_rank_order() {
    on(
        all_sizes(),
        async |comm| {
            let mut gathered = Vec::new();
            for root in roots(comm.size()) {
                gathered.push(comm.gather(root, Box::new(comm.rank())).await?);
            }
            Ok((gathered, comm.allgather(word(comm.rank())).await?))
        },
        |rank, size| {
            let all = |root| (root == rank).then(|| (0..size).map(Box::new).collect());
            (roots(size).map(all).to_vec(), (0..size).map(word).collect())
        },
    );
}

#[test]
fn scatter_gives_each_rank_its_own_value() {
    on(
        all_sizes(),
        async |comm| {
            let mut parts = Vec::new();
            for root in roots(comm.size()) {
                let all = || {
                    (0..comm.size())
                        .map(|rank| Box::new(rank * 10 + root))
                        .collect()
                };
                let part = comm.scatter(root, (comm.rank() == root).then(all)).await?;
                parts.push(*part);
            }
            Ok(parts)
        },
        |rank, size| roots(size).map(|root| rank * 10 + root).to_vec(),
    );
}

#[test]
fn broadcast_gives_everyone_the_value_of_the_root() {
    on(
        all_sizes(),
        async |comm| {
            let mut told = Vec::new();
            for root in roots(comm.size()) {
                let value = (comm.rank() == root).then(|| vec![word(root); 3]);
                told.push(comm.broadcast(root, value).await?);
            }
            Ok(told)
        },
        |_, size| roots(size).map(|root| vec![word(root); 3]).to_vec(),
    );
}

#[test]
fn a_barrier_waits_for_everyone() {
    within(patience(), || {
        for world in all_sizes() {
            let (here, size) = (AtomicUsize::new(0), world.size());
            let body = async |comm: Communicator| {
                for round in 1..=20 {
                    here.fetch_add(1, Ordering::Relaxed);
                    comm.barrier().await?;
                    assert_eq!(here.load(Ordering::Relaxed), round * size, "{size} ranks");
                    comm.barrier().await?;
                }
                Ok::<_, motet_comm::CommError>(())
            };
            world.run(body).expect("it ends well");
        }
    });
}

#[test]
fn collectives_of_all_kinds_and_types_follow_each_other() {
    on(
        all_sizes(),
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let mut sum = 0;
            for round in 0..30 {
                sum += comm.allreduce(rank + round, |a, b| a + b).await?;
                comm.barrier().await?;
                let root = round % size;
                let words = comm.reduce(root, word(rank), join).await?;
                assert_eq!(words.is_some(), rank == root);
                sum += comm.broadcast(root, words.map(|words| words.len())).await?;
                let large = comm.allreduce(Local([rank; 100]), std::cmp::max).await?;
                assert_eq!(large, Local([size - 1; 100]));
                let parts = comm.gather(root, Local([round; 40])).await?;
                assert_eq!(comm.scatter(root, parts).await?, Local([round; 40]));
            }
            Ok(sum)
        },
        |_, size| {
            let ranks: usize = (0..size).sum();
            let rounds: usize = (0..30).map(|round| ranks + round * size).sum();
            rounds + 30 * words(size).len()
        },
    );
}

#[test]
fn two_thousand_ranks_meet() {
    on(
        vec![World::threads(2_000)],
        async |comm| {
            comm.barrier().await?;
            let sum = comm.allreduce(comm.rank(), |a, b| a + b).await?;
            let shifted = comm.shift(comm.rank(), 999).await?;
            let all = comm.gather(1_234, word(comm.rank())).await?;
            Ok((sum, shifted, all.map(|all| all.concat())))
        },
        |rank, size| {
            let all = (rank == 1_234).then(|| words(size));
            (1_999 * 1_000, (rank + size - 999) % size, all)
        },
    );
}

#[test]
fn every_value_brought_to_a_collective_is_dropped_once() {
    let drops = Drops::new();
    let made = drops.clone();
    on(
        worlds(),
        async move |comm| {
            comm.reduce(0, Local(made.make()), |_, right| right).await?;
            comm.gather(comm.size() - 1, (Local(made.make()), [0u64; 30]))
                .await?;
            let parts =
                (comm.rank() == 0).then(|| (0..comm.size()).map(|_| Local(made.make())).collect());
            comm.scatter(0, parts).await?;
            Ok(())
        },
        |_, _| (),
    );
    let ranks: usize = worlds().iter().map(World::size).sum();
    assert_eq!((drops.made(), drops.dropped()), (3 * ranks, 3 * ranks));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any values on any number of ranks and threads, with an operator that does not commute.
    #[test]
    fn prop_collectives_equal_the_sequential_fold(
        values in prop::collection::vec("[a-z]{0,4}", 1..40),
        workers in 1usize..5,
        root in any::<prop::sample::Index>(),
    ) {
        let size = values.len();
        let root = root.index(size);
        let all = values.concat();
        let body = async |comm: Communicator| {
            let mine = &values[comm.rank()];
            let total = comm.allreduce(mine.clone(), join).await?;
            let reduced = comm.reduce(root, mine.clone(), join).await?;
            let gathered = comm.gather(root, mine.clone()).await?;
            let mine_again = comm.scatter(root, gathered).await?;
            assert_eq!(reduced.as_ref().unwrap_or(&all), &all);
            assert_eq!(reduced.is_some(), comm.rank() == root);
            let told = comm.broadcast(root, reduced).await?;
            assert_eq!(mine, &mine_again);
            Ok::<_, motet_comm::CommError>((total, told, comm.allgather(mine_again).await?))
        };
        let results = World::threads(size).workers(workers).run(body).expect("it ends well");
        prop_assert_eq!(results, vec![(all.clone(), all.clone(), values.clone()); size]);
    }
}
