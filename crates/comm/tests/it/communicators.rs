//! Communicators made of others: what keeps them apart, and who is in them.

use crate::worlds::{TREES, everywhere, on, worlds_of};
use motet_comm::{CommError, World};

#[test]
fn sem_g79_messages_of_different_communicators_never_meet() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let (one, two) = (comm.dup().await?, comm.dup().await?);
            assert!(one.number() != two.number() && one.number() > 0);
            let (dest, source) = ((rank + 1) % size, (rank + size - 1) % size);
            // The same tag three times; received in another order than sent.
            comm.send(dest, 3, "world".to_owned()).await?;
            one.send(dest, 3, "one".to_owned()).await?;
            two.send(dest, 3, "two".to_owned()).await?;
            let two = two.recv::<String>(source, 3).await?;
            let world = comm.recv::<String>(source, 3).await?;
            Ok([world, one.recv::<String>(source, 3).await?, two])
        },
        |_, _| ["world", "one", "two"].map(str::to_owned),
    );
}

#[test]
fn sem_g79_collectives_of_several_communicators_are_under_way_at_once() {
    everywhere(
        async |comm| {
            let other = comm.dup().await?;
            // Even ranks begin with one of them, odd ranks with the other.
            let first = comm.allreduce(1, |a, b| a + b).start();
            let sum = if comm.rank().is_multiple_of(2) {
                let second = other.allreduce(10, |a, b| a + b).start();
                first.wait().await? + second.wait().await?
            } else {
                other.allreduce(10, |a, b| a + b).start().wait().await? + first.wait().await?
            };
            let blocking = other.allreduce(100, |a, b| a + b).await?;
            Ok(sum + blocking)
        },
        |_, size| 111 * size,
    );
}

#[test]
fn sem_g80_split_orders_by_key_then_by_old_rank() {
    let worlds = TREES.into_iter().flat_map(worlds_of).collect();
    on(
        worlds,
        async |comm| {
            let rank = comm.rank();
            // Three colours; the last rank has none. Keys turn the order round, two ranks at a
            // time.
            let last = rank + 1 == comm.size();
            let key = -(rank.cast_signed() / 6);
            let Some(part) = comm.split((!last).then_some(rank % 3), key).await? else {
                return Ok(None);
            };
            let members = part.allgather(rank).await?;
            assert_eq!(members[part.rank()], rank);
            let words = part.reduce(0, format!("{rank},"), |a, b| a + &b).await?;
            assert_eq!(words.is_some(), part.rank() == 0);
            let ring = part.shift(part.rank(), 1).await?;
            assert_eq!(ring, (part.rank() + part.size() - 1) % part.size());
            Ok(Some(members))
        },
        |rank, size| {
            let mut members: Vec<usize> = (0..size - 1).filter(|r| r % 3 == rank % 3).collect();
            members.sort_by_key(|r| (-((r / 6).cast_signed()), *r));
            (rank + 1 < size).then_some(members)
        },
    );
}

#[test]
fn sem_g80_communicators_of_communicators() {
    everywhere(
        async |comm| {
            let half = comm
                .split(Some(comm.rank() / 2), 0)
                .await?
                .expect("a colour");
            let single = half.split(Some(half.rank()), 0).await?.expect("a colour");
            assert_eq!((single.rank(), single.size()), (0, 1));
            single.barrier().await?;
            let turned = half
                .split(Some(0), -half.rank().cast_signed())
                .await?
                .expect("a colour");
            let mut line = turned.line().await?;
            let (left, right) = line.exchange(comm.rank(), comm.rank()).await?;
            Ok((turned.group().ranks().to_vec(), left, right))
        },
        |rank, size| {
            let pair: Vec<usize> = [rank / 2 * 2 + 1, rank / 2 * 2]
                .into_iter()
                .filter(|r| *r < size)
                .collect();
            let at = pair.iter().position(|r| *r == rank).expect("it is in it");
            let left = at.checked_sub(1).map(|left| pair[left]);
            (pair.clone(), left, pair.get(at + 1).copied())
        },
    );
}

#[test]
fn groups_and_the_communicators_of_them() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let all = comm.group();
            let down: Vec<usize> = (0..size).rev().collect();
            let turned = all.incl(&down)?;
            assert!(turned.is_similar(&all) && (turned != all || size == 1));
            assert_eq!(all.excl(&down)?.size(), 0);
            assert_eq!(turned.translate(&[0, size], &all), [Some(size - 1), None]);
            assert_eq!(all.rank_of(size), None);
            let none = CommError::NoSuchRank { rank: size, size };
            assert_eq!(all.incl(&[size]), Err(none));
            let twice = all.excl(&[0, 0]).unwrap_err().to_string();
            assert_eq!(twice, "excl names rank 0 twice");
            let first = all.incl(&[0])?;
            assert_eq!(
                all.difference(&first).union(&first).rank_of(0),
                Some(size - 1)
            );
            assert_eq!(first.intersection(&turned), first);
            let part = comm.create(&all.difference(&first)).await?;
            assert_eq!(part.is_none(), rank == 0);
            let part = comm.create(&turned).await?.expect("all are in it");
            part.allgather(rank).await
        },
        |_, size| (0..size).rev().collect(),
    );
}

#[test]
fn a_rank_that_is_not_there_is_told_by_the_numbers_of_its_communicator() {
    everywhere(
        async |comm| {
            let alone = comm.split(Some(comm.rank()), 0).await?.expect("a colour");
            assert_eq!(
                alone.send(1, 0, ()).await,
                Err(CommError::NoSuchRank { rank: 1, size: 1 })
            );
            alone.send(0, 0, comm.rank()).await?;
            alone.recv::<usize>(0, 0).await
        },
        |rank, _| rank,
    );
}

#[test]
fn many_communicators_come_and_go() {
    let world = World::threads(4).workers(2);
    let rounds = world
        .run(async |comm| -> Result<_, CommError> {
            let mut sum = 0;
            for round in 0..200 {
                let part = comm
                    .split(Some((comm.rank() + round) % 2), 0)
                    .await?
                    .expect("a colour");
                sum += part.allreduce(1, |a, b| a + b).await?;
            }
            Ok(sum)
        })
        .expect("it ends well");
    assert_eq!(rounds, [400; 4]);
}

#[test]
fn a_group_with_others_is_refused_and_makes_no_smaller_communicator() {
    for world in [World::threads(3), World::threads(4), World::ports(3)] {
        let size = world
            .run(async |comm| -> Result<_, CommError> {
                let half = comm.split(Some(comm.rank() % 2), 0).await?;
                let half = half.expect("a colour");
                let refused = half.create(&comm.group()).await.unwrap_err().to_string();
                let told = format!(
                    "create of a group of {} ranks, of which {} are among the {}",
                    comm.size(),
                    half.size(),
                    half.size()
                );
                assert!(refused.contains(&told), "{refused}");
                // The ranks go on together.
                let own = half.create(&half.group()).await?.expect("it is in it");
                own.allreduce(1, |a, b| a + b).await
            })
            .expect("it ends well");
        assert!(size.iter().all(|size| (1..=2).contains(size)), "{size:?}");
    }
}
