//! Programs that do not go on, and what their reports say.

use motet_comm::{
    ANY_SOURCE, ANY_TAG, CommError, Communicator, RankState, RunError, Source, TagMatch, Wait,
    WaitOperation, WaitReport, World,
};
use motet_dispatch::Replay;
use motet_testkit::{Log, patience, within};
use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::task::{Context, Waker};

/// Runs a program that gets stuck on `size` ranks, on one thread and on several.
fn stuck<F>(size: usize, body: F, check: impl Fn(&WaitReport) + Send + 'static)
where
    F: AsyncFn(Communicator) -> Result<(), CommError> + Send + Sync + 'static,
{
    within(patience(), move || {
        let mut worlds = crate::worlds::worlds_of(size);
        if size == 1 {
            worlds.push(World::solo());
        }
        for world in worlds {
            match world.run(&body) {
                Err(RunError::Stuck(report)) => {
                    assert_eq!(report.ranks.len(), size, "{world:?}");
                    check(&report);
                }
                other => panic!("{world:?}: {other:?}"),
            }
        }
        for seed in 0..5 {
            match World::threads(size).replayed(&Replay::new(seed), &body) {
                Err(RunError::Stuck(report)) => check(&report),
                other => panic!("seed {seed}: {other:?}"),
            }
        }
    });
}

/// The operations in which each rank waits; empty when it has finished.
fn operations(report: &WaitReport) -> Vec<Vec<WaitOperation>> {
    let operations = |rank: &RankState| match rank {
        RankState::Waiting(waits) => waits.iter().map(|wait| wait.operation).collect(),
        _ => Vec::new(),
    };
    report.ranks.iter().map(operations).collect()
}

fn recv(source: impl Into<Source>, tag: impl Into<TagMatch>) -> Vec<WaitOperation> {
    let (source, tag) = (source.into(), tag.into());
    vec![WaitOperation::Recv { source, tag }]
}

fn collective(name: &'static str, root: Option<usize>) -> Vec<WaitOperation> {
    vec![WaitOperation::Collective { name, root }]
}

/// Polls a call once, leaves no waker of use, and drops it.
fn give_up<T>(call: impl Future<Output = T>) {
    let poll = pin!(call).poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending(), "the call waits");
}

#[test]
fn sem_g72_the_report_is_readable_and_names_every_call() {
    let lines = Log::new();
    let noted = lines.clone();
    stuck(
        4,
        async move |comm| match comm.rank() {
            0 => {
                noted.push(line!() + 1);
                comm.recv::<u8>(1, 7).await.map(drop)
            }
            1 => Ok(()),
            2 => {
                noted.push(line!() + 1);
                comm.recv::<u8>(ANY_SOURCE, ANY_TAG).await.map(drop)
            }
            _ => {
                noted.push(line!() + 1);
                comm.reduce(2, 1, |a, b| a + b).await.map(drop)
            }
        },
        move |report| {
            let lines = lines.take_sorted();
            let places: Vec<String> = report.ranks.iter().map(place).collect();
            let here = |line: u32| format!("{}:{line}", file!());
            let expected = [
                here(lines[0]),
                String::new(),
                here(lines[1]),
                here(lines[2]),
            ];
            assert_eq!(places, expected);
            let text = without_columns(&report.to_string());
            assert_eq!(
                text,
                format!(
                    "stuck: 3 of 4 ranks wait, the others have finished, and nothing is in flight\n\
                     \x20 rank 0: waits in recv(source 1, tag 7) at {}\n\
                     \x20 rank 1: finished\n\
                     \x20 rank 2: waits in recv(any source, any tag) at {}\n\
                     \x20 rank 3: waits in reduce(root 2) at {}",
                    places[0], places[2], places[3]
                )
            );
        },
    );
}

/// The file and line in which a rank waits; empty when it has finished.
fn place(rank: &RankState) -> String {
    match rank {
        RankState::Waiting(waits) => match waits[..] {
            [Wait { location, .. }] => format!("{}:{}", location.file(), location.line()),
            _ => panic!("it waits in one call: {waits:?}"),
        },
        _ => String::new(),
    }
}

/// The report without the last number of each line's place.
fn without_columns(report: &str) -> String {
    let cut = |line: &str| match line.rsplit_once(':') {
        Some((rest, column)) if column.parse::<u32>().is_ok() => rest.to_owned(),
        _ => line.to_owned(),
    };
    report.lines().map(cut).collect::<Vec<_>>().join("\n")
}

/// A call of a library, which waits in its second step.
#[track_caller]
fn library_call(comm: &Communicator) -> impl Future<Output = Result<(), CommError>> {
    let called = comm.called_from(Location::caller());
    called.run(async move {
        let own = comm.dup().await?;
        own.recv::<()>(0, 3).await
    })
}

#[test]
fn sem_g72_a_call_of_a_library_is_named_where_the_program_has_made_it() {
    let lines = Log::new();
    let noted = lines.clone();
    stuck(
        1,
        async move |comm| {
            noted.push(line!() + 1);
            library_call(&comm).await
        },
        move |report| {
            let lines = lines.take_sorted();
            let expected = format!("{}:{}", file!(), lines[0]);
            assert_eq!(place(&report.ranks[0]), expected);
            assert_eq!(operations(report), [recv(0, 3)]);
        },
    );
}

#[test]
fn sem_g72_a_receive_from_oneself() {
    stuck(
        1,
        async |comm| comm.recv::<()>(0, 3).await,
        |report| assert_eq!(operations(report), [recv(0, 3)]),
    );
}

#[test]
fn sem_g72_a_receive_from_a_rank_that_has_finished() {
    stuck(
        2,
        async |comm| match comm.rank() {
            0 => comm.send(1, 1, ()).await,
            _ => comm.recv::<()>(0, 2).await,
        },
        |report| assert_eq!(operations(report), [vec![], recv(0, 2)]),
    );
}

#[test]
fn sem_g72_receives_in_a_circle() {
    stuck(
        3,
        async |comm| {
            let left = (comm.rank() + 2) % 3;
            let token: usize = comm.recv(left, 5).await?;
            comm.send((comm.rank() + 1) % 3, 5, token).await
        },
        |report| assert_eq!(operations(report), [recv(2, 5), recv(0, 5), recv(1, 5)]),
    );
}

#[test]
fn sem_g72_a_rank_that_does_not_come_to_the_barrier() {
    stuck(
        8,
        async |comm| match comm.rank() {
            5 => comm.recv::<()>(0, 0).await,
            _ => comm.barrier().await,
        },
        |report| {
            let mut expected = vec![collective("barrier", None); 8];
            expected[5] = recv(0, 0);
            assert_eq!(operations(report), expected);
        },
    );
}

#[test]
fn sem_g72_every_collective_says_its_name_and_root() {
    stuck(
        8,
        async |comm| match comm.rank() {
            0 => Ok(()),
            1 => comm.barrier().await,
            2 => comm.allreduce(1, |a, b| a + b).await.map(drop),
            3 => comm.allgather(1).await.map(drop),
            4 => comm.broadcast::<u8>(3, None).await.map(drop),
            5 => comm.gather(4, 1).await.map(drop),
            6 => comm.scatter::<u8>(5, None).await.map(drop),
            _ => comm.reduce(6, 1, |a, b| a + b).await.map(drop),
        },
        |report| {
            let expected = [
                vec![],
                collective("barrier", None),
                collective("allreduce", None),
                collective("allgather", None),
                collective("broadcast", Some(3)),
                collective("gather", Some(4)),
                collective("scatter", Some(5)),
                collective("reduce", Some(6)),
            ];
            assert_eq!(operations(report), expected);
        },
    );
}

#[test]
fn sem_g72_a_neighbour_that_left() {
    stuck(
        3,
        async |comm| {
            let (mut ring, mut line) = (comm.ring().await?, comm.line().await?);
            ring.exchange(1, 1).await?;
            line.exchange(1, 1).await?;
            match comm.rank() {
                0 => Ok(()),
                1 => ring.shift_right(2).await.map(drop),
                _ => line.exchange(2, 2).await.map(drop),
            }
        },
        |report| {
            let step = |peer, name| vec![WaitOperation::Neighbour { peer, name }];
            let expected = [vec![], step(0, "shift_right"), step(1, "exchange")];
            assert_eq!(operations(report), expected);
            let text = report.to_string();
            assert!(
                text.contains("rank 1: waits in shift_right, for neighbour 0 at "),
                "{text}"
            );
        },
    );
}

#[test]
fn sem_g72_a_neighbour_without_room() {
    stuck(
        2,
        async |comm| {
            let mut line = comm.line().await?;
            for step in 0..if comm.rank() == 0 { 100 } else { 0 } {
                line.shift_right(step).await?;
            }
            comm.barrier().await
        },
        |report| {
            let expected = [
                vec![WaitOperation::NeighbourRoom { peer: 1 }],
                collective("barrier", None),
            ];
            assert_eq!(operations(report), expected);
            let text = report.to_string();
            assert!(
                text.contains("waits in send to neighbour 1, who does not receive at "),
                "{text}"
            );
        },
    );
}

#[test]
fn sem_g72_rings_that_not_everyone_makes() {
    stuck(
        3,
        async |comm| match comm.rank() {
            0 => comm.recv::<u8>(1, 0).await.map(drop),
            _ => comm.ring::<u8>().await.map(drop),
        },
        |report| {
            let expected = [
                recv(1, 0),
                collective("ring", None),
                collective("ring", None),
            ];
            assert_eq!(operations(report), expected);
        },
    );
}

#[test]
fn sem_g72_shifts_and_exchanges_of_messages_name_their_source() {
    stuck(
        3,
        async |comm| match comm.rank() {
            0 => comm.shift((), 1).await,
            1 => comm.sendrecv(0, (), 2, 8).await,
            _ => comm.recv_with_status::<()>(1, ANY_TAG).await.map(drop),
        },
        |report| {
            assert_eq!(
                operations(report),
                [recv(2, 0), recv(2, 8), recv(1, ANY_TAG)]
            )
        },
    );
}

#[test]
fn sem_g72_what_was_given_up_is_not_in_the_report() {
    stuck(
        2,
        async |comm| {
            let mut ring = comm.ring().await?;
            if comm.rank() == 0 {
                give_up(comm.recv::<()>(1, 1));
                give_up(ring.exchange(1, 1));
                give_up(comm.barrier());
            }
            comm.recv::<()>(1 - comm.rank(), 9).await
        },
        |report| assert_eq!(operations(report), [recv(1, 9), recv(0, 9)]),
    );
}

#[test]
fn sem_g72_a_rank_that_was_woken_often_is_still_found() {
    stuck(
        2,
        async |comm| {
            let peer = 1 - comm.rank();
            for n in 0..50u32 {
                comm.send(peer, n % 2, n).await?;
            }
            for n in 0..25 {
                assert_eq!(comm.recv::<u32>(peer, 1).await?, 2 * n + 1);
            }
            // Messages with another tag are there, but nobody wants them.
            comm.recv(peer, 2).await
        },
        |report| assert_eq!(operations(report), [recv(1, 2), recv(0, 2)]),
    );
}

#[test]
fn sem_g72_two_hundred_ranks_are_told_apart() {
    stuck(
        200,
        async |comm| match comm.rank() % 2 {
            0 => Ok(()),
            _ => comm.recv(ANY_SOURCE, comm.rank() as u32).await,
        },
        |report| {
            for (rank, operations) in operations(report).into_iter().enumerate() {
                let waits = recv(ANY_SOURCE, rank as u32);
                assert_eq!(operations, if rank % 2 == 0 { vec![] } else { waits });
            }
        },
    );
}
