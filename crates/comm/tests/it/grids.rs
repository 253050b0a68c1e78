//! Grids, graphs and exchanges with neighbours.

use crate::network::processes;
use crate::worlds::{Outcome, everywhere, on, with_ranks, worlds_of};
use motet_comm::{CommError, Communicator, Local, World, dims_create};
use motet_testkit::{Dropped, Drops, patience, within};
use proptest::prelude::*;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

/// Numbers of ranks that make grids.
const GRIDS: [usize; 7] = [1, 2, 3, 4, 6, 8, 12];

#[test]
fn sem_g95_a_grid_brings_what_each_neighbour_has_sent_to_this_side() {
    with_ranks(
        &GRIDS,
        async |comm| {
            for periodic in [true, false] {
                let dims = dims_create(comm.size(), &[0, 0])?;
                let grid = comm
                    .cartesian(&dims, &[periodic; 2])
                    .await?
                    .expect("all are in it");
                let me = grid.coords(grid.rank())?;
                assert_eq!(me, [grid.rank() / dims[1], grid.rank() % dims[1]]);
                let sides = ["up", "down", "left", "right"];
                let opposite = ["down", "up", "right", "left"];
                for round in 0..3 {
                    let values = sides
                        .map(|side| (grid.rank(), side.to_owned(), round))
                        .to_vec();
                    let came = if round == 1 {
                        grid.neighbour_alltoall(values).start().wait().await?
                    } else {
                        grid.neighbour_alltoall(values).await?
                    };
                    for (side, source) in grid.sources().enumerate() {
                        let expected =
                            source.map(|source| (source, opposite[side].to_owned(), round));
                        assert_eq!(came[side], expected, "{dims:?} {periodic}");
                    }
                }
                let ranks = grid.neighbour_allgather(grid.rank()).await?;
                assert_eq!(ranks, grid.sources().collect::<Vec<_>>());
                let started = grid.neighbour_allgather(grid.rank()).start().wait().await?;
                assert_eq!(started, ranks);
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g95_numbers_of_neighbours_arrive_where_they_shall() {
    with_ranks(
        &GRIDS,
        async |comm| {
            let line = comm
                .cartesian(&[comm.size()], &[false])
                .await?
                .expect("all are in it");
            let rank = line.rank() as f64;
            let mut came = [-1.0; 6];
            let mine = [rank, rank, rank, -rank, -rank, -rank];
            line.neighbour_alltoall_into(&mine, &mut came).await?;
            Ok(came)
        },
        |rank, size| {
            let left = if rank > 0 { -(rank as f64 - 1.0) } else { -1.0 };
            let right = if rank + 1 < size {
                rank as f64 + 1.0
            } else {
                -1.0
            };
            [left, left, left, right, right, right]
        },
    );
}

#[test]
fn grids_know_their_places_and_their_parts() {
    with_ranks(
        &[12, 13],
        async |comm| {
            let made = comm.cartesian(&[3, 2, 2], &[true, false, false]).await?;
            let Some(grid) = made else { return Ok(None) };
            assert_eq!(
                (grid.dims(), grid.periodic()),
                (&[3, 2, 2][..], &[true, false, false][..])
            );
            let (rank, size) = (12, 12);
            assert_eq!(grid.coords(12), Err(CommError::NoSuchRank { rank, size }));
            for rank in 0..12 {
                let coords: Vec<isize> = grid
                    .coords(rank)?
                    .into_iter()
                    .map(usize::cast_signed)
                    .collect();
                assert_eq!(grid.rank_at(&coords), Some(rank));
            }
            assert_eq!(grid.rank_at(&[-1, 0, 0]), Some(8));
            assert_eq!(grid.rank_at(&[0, 2, 0]), None);
            let (source, dest) = grid.cart_shift(0, 2);
            assert!(source.is_some() && dest.is_some(), "it goes round");
            let plane = grid.sub(&[false, true, true]).await?;
            assert_eq!((plane.dims(), plane.size()), (&[2, 2][..], 4));
            let sum = plane.allreduce(grid.rank(), |a, b| a + b).await?;
            assert!(grid.sub(&[true]).await.is_err());
            Ok(Some(sum))
        },
        |rank, _| (rank < 12).then_some(4 * (rank / 4 * 4) + 6),
    );
}

#[test]
fn grids_that_cannot_be() {
    everywhere(
        async |comm| {
            let size = comm.size();
            for (dims, periodic) in [(vec![size + 1], vec![true]), (vec![0], vec![true])] {
                assert!(comm.cartesian(&dims, &periodic).await.is_err());
            }
            let text = comm.cartesian(&[size], &[]).await.unwrap_err().to_string();
            assert_eq!(
                text,
                format!("a grid of [{size}], periodic [], among {size} ranks")
            );
            assert!(comm.graph(&[size], &[]).await.is_err());
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g95_a_graph_may_have_the_same_edge_twice() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
            let graph = comm.graph(&[last, last], &[next, next]).await?;
            let came = graph
                .neighbour_alltoall(vec![(rank, 'a'), (rank, 'b')])
                .await?;
            assert_eq!(came, [Some((last, 'a')), Some((last, 'b'))]);
            let wrong = graph.neighbour_alltoall(vec![1]).await;
            assert!(
                matches!(wrong, Err(CommError::Arguments { .. })),
                "{wrong:?}"
            );
            graph.neighbour_allgather(rank).await
        },
        |rank, size| vec![Some((rank + size - 1) % size); 2],
    );
}

#[test]
fn sem_g95_a_dropped_exchange_is_told_at_the_next_one() {
    with_ranks(
        &[2],
        async |comm| {
            let graph = comm.graph(&[1 - comm.rank()], &[1 - comm.rank()]).await?;
            if comm.rank() == 0 {
                {
                    let exchange = pin!(graph.neighbour_allgather(1));
                    let poll = exchange.poll(&mut Context::from_waker(Waker::noop()));
                    assert!(poll.is_pending());
                }
                let out = graph.neighbour_allgather(1).await;
                let operation = "neighbour_allgather";
                assert_eq!(out, Err(CommError::OutOfStep { operation }));
                comm.send(1, 0, ()).await?;
            } else {
                comm.recv::<()>(0, 0).await?;
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g95_exchanges_may_be_started_and_are_waited_for_in_any_order() {
    with_ranks(
        &[3],
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
            let graph = comm.graph(&[last], &[next]).await?;
            // One rank after the other, so that nothing has come yet when rank 0 starts.
            if rank > 0 {
                comm.recv::<()>(last, 0).await?;
            }
            let [a, b, c] =
                ['a', 'b', 'c'].map(|c| graph.neighbour_alltoall(vec![(rank, c)]).start());
            if rank + 1 < size {
                comm.send(next, 0, ()).await?;
            }
            let came = [c.wait().await?, a.wait().await?, b.wait().await?];
            assert_eq!(came, ['c', 'a', 'b'].map(|c| vec![Some((last, c))]));
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g89_a_started_exchange_that_is_dropped_takes_place() {
    with_ranks(
        &[2],
        async |comm| {
            let (rank, peer) = (comm.rank(), 1 - comm.rank());
            let graph = comm.graph(&[peer], &[peer]).await?;
            // Rank 0 gives up before anything has come, rank 1 after it.
            if rank == 1 {
                comm.recv::<()>(0, 0).await?;
            }
            let [a, b, c] =
                ['a', 'b', 'c'].map(|c| graph.neighbour_alltoall(vec![(rank, c)]).start());
            drop(a);
            assert!(!b.cancel(), "it takes place all the same");
            let d = graph.neighbour_allgather((rank, 'd')).start();
            {
                let wait = pin!(d.wait());
                let poll = wait.poll(&mut Context::from_waker(Waker::noop()));
                assert_eq!(poll.is_pending(), rank == 0);
            }
            if rank == 0 {
                comm.send(1, 0, ()).await?;
            }
            assert_eq!(c.wait().await?, [Some((peer, 'c'))]);
            for round in 0..3 {
                let came = graph.neighbour_allgather((rank, round)).await?;
                assert_eq!(came, [Some((peer, round))]);
            }
            // One that nobody waits for ends with its topology.
            drop(graph.neighbour_allgather(rank).start());
            drop(graph);
            let again = comm.graph(&[peer], &[peer]).await?;
            again.neighbour_allgather(rank).await
        },
        |rank, _| vec![Some(1 - rank)],
    );
}

#[test]
fn sem_g97_what_comes_when_its_topology_is_gone_is_dropped() {
    on(
        worlds_of(2),
        async |comm| {
            type Token = Local<Option<Arc<Dropped>>>;
            let (rank, peer, drops) = (comm.rank(), 1 - comm.rank(), Drops::new());
            for polled in [false, true] {
                let graph = comm.graph(&[peer], &[peer]).await?;
                if rank == 0 {
                    // Rank 1 has not sent anything yet, and has not got anything when it does.
                    if polled {
                        let exchange = pin!(graph.neighbour_allgather::<Token>(Local(None)));
                        let poll = exchange.poll(&mut Context::from_waker(Waker::noop()));
                        assert!(poll.is_pending());
                    } else {
                        drop(graph.neighbour_allgather::<Token>(Local(None)).start());
                    }
                    drop(graph);
                    comm.send(1, 0, ()).await?;
                } else {
                    comm.recv::<()>(0, 0).await?;
                    let token = Local(Some(Arc::new(drops.make())));
                    let came = graph.neighbour_allgather(token).await?;
                    assert!(matches!(came[..], [Some(Local(None))]));
                }
                // The other one sends once more than this one receives.
                let graph = comm.graph(&[peer], &[peer]).await?;
                if rank == 1 {
                    let token = Local(Some(Arc::new(drops.make())));
                    drop(graph.neighbour_allgather(token).start());
                }
                comm.barrier().await?;
                drop(graph);
                comm.barrier().await?;
                assert_eq!(drops.dropped(), drops.made(), "{polled}");
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g95_an_exchange_of_another_type_leaves_the_rank_out_of_step() {
    with_ranks(
        &[2],
        async |comm| {
            let peer = 1 - comm.rank();
            let graph = comm.graph(&[peer], &[peer]).await?;
            let came = if comm.rank() == 0 {
                graph.neighbour_allgather(1_i32).await.map(drop)
            } else {
                graph
                    .neighbour_allgather("one".to_owned())
                    .start()
                    .wait()
                    .await
                    .map(drop)
            };
            assert!(matches!(came, Err(CommError::WrongType { .. })), "{came:?}");
            let out = graph
                .neighbour_allgather(1_i32)
                .await
                .expect_err("it is out");
            let text = "neighbour_allgather is not possible: an earlier collective call of this rank was \
                        dropped before it ended, or has failed";
            assert_eq!(out.to_string(), text);
            Ok(())
        },
        |_, _| (),
    );
}

/// An exchange must end so.
fn unportable<R>(ended: Result<R, CommError>) {
    match ended.map(drop) {
        Err(CommError::Unportable { .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn sem_g95_sem_g96_an_exchange_that_cannot_be_written_leaves_the_rank_out_of_step() {
    within(patience(), || {
        for started in [true, false] {
            processes(2, move |end| {
                let world = World::over(end, 2);
                let ended = world.run(async |comm: Communicator| -> Outcome<()> {
                    let (rank, size) = (comm.rank(), comm.size());
                    // The first one is in this process and gets its value, the second is not.
                    let others = [rank ^ 1, (rank + 2) % size];
                    let graph = comm.graph(&others, &others).await?;
                    let values = vec![Local(rank); 2];
                    if started {
                        unportable(graph.neighbour_alltoall(values).start().wait().await);
                    } else {
                        unportable(graph.neighbour_alltoall(values).await);
                    }
                    for round in 0..3 {
                        let operation = "neighbour_allgather";
                        let next = graph.neighbour_allgather(Local(round)).await;
                        assert_eq!(next.map(drop), Err(CommError::OutOfStep { operation }));
                        let operation = "neighbour_allgather";
                        let next = graph.neighbour_allgather(Local(round)).start().wait().await;
                        assert_eq!(next.map(drop), Err(CommError::OutOfStep { operation }));
                    }
                    // Another topology of the same ranks is not concerned.
                    let graph = comm.graph(&others, &others).await?;
                    let came = graph.neighbour_allgather(rank).await?;
                    assert_eq!(came, others.map(Some));
                    Ok(())
                });
                ended.unwrap();
            });
        }
    });
}

#[test]
fn numbers_that_do_not_fit_the_neighbours_are_refused() {
    with_ranks(
        &[3],
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let others = [(rank + 1) % size, (rank + 2) % size];
            let graph = comm.graph(&others, &others).await?;
            let refused = async |numbers: &[i32], room: usize| {
                let outcome = graph
                    .neighbour_alltoall_into(numbers, &mut vec![0; room])
                    .await;
                match outcome {
                    Err(CommError::Arguments { problem }) => problem,
                    other => panic!("{numbers:?}, {room}: {other:?}"),
                }
            };
            let name = "neighbour_alltoall_into";
            let uneven = format!("{name} of 3 elements cannot be cut into 2 equal parts");
            assert_eq!(refused(&[1, 2, 3], 4).await, uneven);
            let uneven = format!("{name} into 5 elements cannot be cut into 2 equal parts");
            assert_eq!(refused(&[1, 2, 3, 4], 5).await, uneven);
            // What comes is seen only when it has come: everyone is in step.
            let short = format!("{name} brings 2 elements, and there is room for 0");
            assert_eq!(refused(&[1, 2, 3, 4], 0).await, short);
            refused(&[1, 2, 3, 4], 2).await;
            let lonely = comm.graph(&[], &[]).await?;
            let outcome = lonely.neighbour_alltoall_into(&[1], &mut []).await;
            assert!(
                matches!(outcome, Err(CommError::Arguments { .. })),
                "{outcome:?}"
            );
            let outcome = lonely.neighbour_alltoall_into(&[], &mut [1]).await;
            assert!(
                matches!(outcome, Err(CommError::Arguments { .. })),
                "{outcome:?}"
            );
            lonely.neighbour_alltoall_into::<i32>(&[], &mut []).await?;
            let mut came = [0; 4];
            let mine = [rank; 4];
            graph.neighbour_alltoall_into(&mine, &mut came).await?;
            Ok(came)
        },
        |rank, size| [1, 1, 2, 2].map(|by| (rank + by) % size),
    );
}

#[test]
fn dimensions_of_many_ranks_are_found_by_small_divisors() {
    // A prime: one by one, each number below it would be tried.
    let prime = 2_147_483_647;
    assert_eq!(dims_create(prime, &[0, 0]).unwrap(), [prime, 1]);
    for ranks in 1..=200 {
        let dims = dims_create(ranks, &[0, 0]).unwrap();
        let low = (1..=ranks).filter(|it| *it * *it <= ranks && ranks.is_multiple_of(*it));
        let low = low.max().unwrap();
        assert_eq!(dims, [ranks / low, low]);
        let dims = dims_create(ranks, &[0, 0, 0]).unwrap();
        assert_eq!(dims.iter().product::<usize>(), ranks);
        assert!(dims.is_sorted_by(|one, next| one >= next), "{dims:?}");
    }
}

#[test]
fn numbers_beyond_all_grids_are_refused_and_shifts_beyond_all_ends_meet_nobody() {
    let half = 1_usize << (usize::BITS / 2);
    // Multiplied without a check these are 0, and 1.
    for dims in [[half, half], [usize::MAX, usize::MAX]] {
        assert!(dims_create(1, &dims).is_err(), "{dims:?}");
    }
    with_ranks(
        &[3],
        async move |comm| {
            let wrong = comm.cartesian(&[usize::MAX, usize::MAX], &[true; 2]).await;
            assert!(
                matches!(wrong, Err(CommError::Arguments { .. })),
                "{wrong:?}"
            );
            let rank = comm.rank();
            for periodic in [false, true] {
                let line = comm.cartesian(&[3], &[periodic]).await?;
                let line = line.expect("all are in it");
                for by in [isize::MIN, isize::MIN + 1, isize::MAX - 1, isize::MAX] {
                    let far = |by: i128| {
                        let there = (rank as i128 + by).rem_euclid(3);
                        periodic.then_some(there as usize)
                    };
                    let expected = (far(-(by as i128)), far(by as i128));
                    assert_eq!(line.cart_shift(0, by), expected, "{rank} by {by}");
                }
            }
            Ok(())
        },
        |_, _| (),
    );
}

proptest! {
    #[test]
    fn dims_are_factors_that_fall_and_are_as_close_as_can_be(
        ranks in 1_usize..400,
        count in 1_usize..5,
    ) {
        let dims = dims_create(ranks, &vec![0; count]).unwrap();
        prop_assert_eq!(dims.iter().product::<usize>(), ranks);
        prop_assert!(dims.is_sorted_by(|a, b| a >= b));
        // No cut into as many factors has a smaller largest one.
        fn largest(number: usize, count: usize) -> usize {
            if count == 1 {
                return number;
            }
            let cuts = (1..=number).filter(|cut| number.is_multiple_of(*cut));
            cuts.map(|cut| cut.max(largest(number / cut, count - 1))).min().unwrap()
        }
        prop_assert_eq!(dims[0], largest(ranks, count));
    }
}
