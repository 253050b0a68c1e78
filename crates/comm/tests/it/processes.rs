//! What is special about a world over processes. (That all operations do the same there, the other
//! tests show.)

use crate::network::{looks, processes};
use motet_comm::{
    ANY_SOURCE, ANY_TAG, CommError, Local, RankState, RunError, Transport, WaitOperation, World,
};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::{Mutex, thread};
use motet_testkit::{patience, within};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn sem_g100_a_local_does_not_leave_its_process() {
    within(patience(), || {
        let ended = processes(2, |end| {
            let world = World::over(end, 2);
            let sent = world.run(async |comm| -> Result<_, CommError> {
                let (rank, mate) = (comm.rank(), comm.rank() ^ 1);
                comm.send(mate, 0, Local(rank)).await?;
                let Local(came) = comm.recv::<Local<usize>>(mate, 0).await?;
                assert_eq!(came, mate, "inside a process it goes");
                let refused = comm.send((rank + 2) % 4, 0, Local(rank)).await;
                let all = comm.allgather(Local(rank)).await;
                let mut ring = comm.ring().await?;
                let step = ring.exchange(Local(rank), Local(rank)).await;
                comm.barrier().await?;
                Ok([
                    refused.unwrap_err(),
                    all.map(drop).unwrap_err(),
                    step.map(drop).unwrap_err(),
                ])
            });
            sent.unwrap()
        });
        for error in ended.into_iter().flatten().flatten() {
            assert!(matches!(error, CommError::Unportable { .. }), "{error}");
            assert!(error.to_string().contains("Local"), "{error}");
        }
    });
}

#[test]
fn sem_g310_every_process_may_have_another_number_of_ranks() {
    within(patience(), || {
        let results = processes(3, |end| {
            let ranks = [3, 1, 2][World::over(end.clone(), 1).process().0];
            let world = World::over(end, ranks);
            world
                .run(async |comm| comm.allgather(comm.rank()).await)
                .unwrap()
        });
        let counts: Vec<usize> = results.iter().map(Vec::len).collect();
        assert_eq!(counts, [3, 1, 2]);
        let expected = (0..6).collect::<Vec<usize>>();
        assert!(results.iter().flatten().all(|all| *all == expected));
    });
}

#[test]
fn sem_g73_a_sum_has_the_same_bits_on_every_process_in_whatever_order_ranks_are_numbered() {
    within(patience(), || {
        for count in [2, 3, 4, 5] {
            let sums = processes(count, |end| {
                let count = end.processes();
                let world = World::over(end, 2);
                let summed = world.run(async |comm| -> Result<_, CommError> {
                    let (process, place) = (comm.rank() / 2, comm.rank() % 2);
                    // Backwards; in turn; in turn and backwards.
                    let keys = [
                        2 * count - comm.rank(),
                        place * count + process,
                        (2 - place) * count - process,
                    ];
                    let mut sums = [0; 3];
                    for (sum, key) in sums.iter_mut().zip(keys) {
                        let key = isize::try_from(key).expect("it is small");
                        let all = comm.split(Some(0), key).await?.expect("a colour");
                        let mine = 0.1 * (all.rank() + 1) as f64;
                        *sum = all.allreduce(mine, |a, b| a + b).await?.to_bits();
                    }
                    Ok(sums)
                });
                summed.unwrap()
            });
            let first = sums[0][0];
            assert!(
                sums.iter().flatten().all(|sums| *sums == first),
                "{sums:x?}"
            );
        }
    });
}

#[test]
fn sem_g310_runs_follow_each_other_and_do_not_meet() {
    within(patience(), || {
        processes(2, |end| {
            let world = World::over(end, 2);
            for run in 0..50_usize {
                let sums = world.run(async |comm| -> Result<_, CommError> {
                    // A message that nobody receives in its run is not there in the next.
                    comm.send((comm.rank() + 2) % 4, 0, run).await?;
                    if run % 2 == 0 {
                        let came = comm.recv::<usize>((comm.rank() + 2) % 4, 0).await?;
                        assert_eq!(came, run);
                    }
                    comm.allreduce(run, |a, b| a + b).await
                });
                assert_eq!(sums.unwrap(), [4 * run; 2]);
            }
        });
    });
}

#[test]
fn sem_g310_communicators_have_the_same_number_on_all_their_ranks_and_no_other_has_it() {
    within(patience(), || {
        let numbers = processes(3, |end| {
            let world = World::over(end, 2);
            let numbers = world.run(async |comm| -> Result<_, CommError> {
                let mut numbers = Vec::new();
                // Parts that lie across processes split at the same time.
                let part = comm
                    .split(Some(comm.rank() % 3), 0)
                    .await?
                    .expect("it has a color");
                for _ in 0..5 {
                    let twin = part.dup().await?;
                    let whole = part
                        .split(Some(part.rank()), 0)
                        .await?
                        .expect("it has a color");
                    numbers.push((comm.rank() % 3, twin.number()));
                    numbers.push((10 + comm.rank(), whole.number()));
                    assert_eq!(twin.allgather(twin.number()).await?, vec![twin.number(); 2]);
                }
                Ok(numbers)
            });
            numbers.unwrap()
        });
        let mut all: Vec<(usize, u32)> = numbers.into_iter().flatten().flatten().collect();
        all.sort_unstable();
        all.dedup();
        // Twins: 3 parts, 5 each; halves: 6 ranks, 5 each.
        assert_eq!(all.len(), 45);
        let mut numbers: Vec<u32> = all.into_iter().map(|(_, number)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 45, "no two have the same number");
    });
}

#[test]
fn sem_g311_a_panic_ends_the_run_everywhere() {
    within(patience(), || {
        let ended = processes(3, |end| {
            let ended = World::over(end, 2).run(async |comm| -> Result<(), CommError> {
                assert!(comm.rank() != 3, "rank 3 has had enough");
                comm.barrier().await
            });
            ended.unwrap_err()
        });
        for (process, error) in ended.into_iter().enumerate() {
            let text = error.to_string();
            assert!(
                text.contains("rank 3 panicked: rank 3 has had enough"),
                "{text}"
            );
            match error {
                RunError::Panicked { rank: 3, .. } => assert_eq!(process, 1),
                RunError::Elsewhere { process: from, .. } => assert!(from == 1 && process != 1),
                other => panic!("{other}"),
            }
        }
    });
}

#[test]
fn sem_g103_an_error_of_another_process_reads_as_it_does_there() {
    within(patience(), || {
        let ended = processes(2, |end| {
            let ended = World::over(end, 1).run(async |comm| match comm.rank() {
                0 => comm.recv::<()>(1, 0).await,
                _ => comm.send(9, 0, ()).await,
            });
            ended.unwrap_err()
        });
        let [here, there] = [0, 1].map(|process| ended[process].to_string());
        assert!(matches!(ended[0], RunError::Elsewhere { .. }), "{here}");
        assert_eq!(here, format!("process 1: {there}"));
        assert!(!here.contains("NoSuchRank"), "{here}");
    });
}

#[test]
fn sem_g311_a_process_that_is_gone_ends_the_run_everywhere() {
    for seed in 0..20_usize {
        within(patience(), move || {
            let ended = processes(3, move |end| {
                let killed = end.clone();
                World::over(end, 2).run(async |comm| -> Result<(), CommError> {
                    for round in 0.. {
                        if comm.rank() == 2 && round == seed {
                            killed.kill();
                        }
                        match (seed + round) % 4 {
                            0 => comm.barrier().await?,
                            1 => drop(comm.allreduce(1, |a, b| a + b).await?),
                            2 => drop(comm.alltoall(vec![round; 6]).await?),
                            _ => drop(
                                comm.broadcast(round % 6, (comm.rank() == round % 6).then_some(1))
                                    .await?,
                            ),
                        }
                    }
                    Ok(())
                })
            });
            for (process, ended) in ended.into_iter().enumerate() {
                match ended.unwrap_err() {
                    RunError::Lost { process: 1, .. } => assert_ne!(process, 1),
                    RunError::Transport { .. } => assert_eq!(process, 1, "it is the one"),
                    RunError::Elsewhere { message, .. } => {
                        assert!(
                            message.contains("process 1 is lost"),
                            "process {process}: {message}"
                        );
                    }
                    other => panic!("process {process}: {other}"),
                }
            }
        });
    }
}

#[test]
fn sem_g317_who_does_not_come_to_a_run_is_named_after_the_time_that_the_world_gives() {
    const PATIENCE: Duration = Duration::from_millis(200);
    within(patience(), || {
        let gave_up = Arc::new(AtomicUsize::new(0));
        let ended = processes(3, move |end| {
            let late = end.process() == 2;
            while late && gave_up.load(Ordering::Acquire) < 2 {
                thread::yield_now();
            }
            let world = World::over(end, 1).patience(PATIENCE);
            let begun = Instant::now();
            let ended = world.run(async |comm| comm.barrier().await);
            let waited = begun.elapsed();
            gave_up.fetch_add(1, Ordering::Release);
            // The next run is fine, for all.
            let sums = world
                .patience(patience())
                .run(async |comm| comm.allreduce(1, |a, b| a + b).await);
            assert_eq!(sums.unwrap(), [3]);
            (ended.unwrap_err(), waited)
        });
        for (process, (error, waited)) in ended.into_iter().enumerate() {
            match (process, error) {
                (0 | 1, RunError::Silent { processes, .. }) => {
                    // And another one that is slow to begin.
                    assert!(processes.ends_with(&[2]), "{processes:?}");
                    assert!(waited >= PATIENCE, "{waited:?}");
                }
                // One that comes when others have given up does not wait for them.
                (_, RunError::Elsewhere { message, .. }) => {
                    assert!(message.contains("2] had not come"), "{message}");
                }
                (_, other) => panic!("process {process}: {other}"),
            }
        }
    });
}

/// How long silence is borne: a busy machine may keep the thread of a process that is well for
/// longer than the first.
const SILENCES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(4),
    Duration::from_secs(15),
];

/// One attempt after the other bears more, until one goes as it should: a fault spoils all of them.
fn with_more_and_more_patience(attempt: impl Fn(Duration) -> Result<(), String>) {
    let mut wrong = Vec::new();
    for silence in SILENCES {
        match attempt(silence) {
            Ok(()) => return,
            Err(what) => wrong.push(what),
        }
    }
    panic!("{wrong:#?}");
}

/// Process 1 of so many vanishes; whether it is given up for its silence, and nobody else is.
fn given_up(count: usize, silence: Duration) -> Result<(), String> {
    let ended = processes(count, move |end| {
        let vanishes = end.clone();
        let begun = Instant::now();
        let world = World::over(end, 2).patience(silence);
        let ended = world.run(async |comm| -> Result<(), CommError> {
            comm.barrier().await?;
            if comm.rank() == 2 {
                vanishes.vanish();
            }
            comm.barrier().await
        });
        (ended, begun.elapsed())
    });
    for (process, (ended, took)) in ended.into_iter().enumerate() {
        let right = match &ended {
            Err(RunError::Transport { .. }) => process == 1,
            Err(RunError::Lost { process: 1, reason }) => {
                process != 1 && reason.contains("has said nothing for") && took >= silence
            }
            Err(RunError::Elsewhere { message, .. }) => {
                process != 1 && message.starts_with("process 1 is lost")
            }
            _ => false,
        };
        if !right {
            return Err(format!(
                "process {process} of {count}, {silence:?}: {ended:?} after {took:?}"
            ));
        }
    }
    Ok(())
}

#[test]
fn sem_g318_a_process_that_nobody_sees_is_given_up_when_it_has_been_silent() {
    for count in [2, 3, 5] {
        within(patience(), move || {
            with_more_and_more_patience(|silence| given_up(count, silence));
        });
    }
}

/// Rank `busy` of three holds its thread for longer than silence is borne, and then all meet, if
/// they do; whether nobody takes another one for silent.
fn nobody_is_silent(busy: usize, meet: bool, silence: Duration) -> Result<(), String> {
    let ended = processes(3, move |end| {
        let world = World::over(end, 1).patience(silence);
        let ended = world.run(async |comm| -> Result<(), CommError> {
            let begun = Instant::now();
            while comm.rank() == busy && begun.elapsed() < 3 * silence {
                thread::yield_now();
            }
            if meet {
                comm.barrier().await?;
            }
            Ok(())
        });
        ended.map(drop)
    });
    let all: Result<Vec<()>, _> = ended.into_iter().collect();
    all.map(drop)
        .map_err(|error| format!("{silence:?}: {error}"))
}

#[test]
fn sem_g318_who_waits_or_computes_is_not_silent() {
    within(patience(), || {
        with_more_and_more_patience(|silence| nobody_is_silent(0, true, silence));
    });
}

#[test]
fn sem_g318_who_has_done_its_part_is_neither_silent_nor_takes_others_for_it() {
    within(patience(), || {
        with_more_and_more_patience(|silence| nobody_is_silent(1, false, silence));
    });
}

#[test]
fn sem_g311_a_failure_ends_the_run_also_where_the_ranks_had_ended_well() {
    within(patience(), || {
        let left = Arc::new(AtomicUsize::new(0));
        let ended = processes(3, move |end| {
            let ended = World::over(end, 1).run(async |comm| -> Result<(), CommError> {
                if comm.rank() < 2 {
                    left.fetch_add(1, Ordering::Release);
                    return Ok(());
                }
                while left.load(Ordering::Acquire) < 2 {
                    thread::yield_now();
                }
                // What they say of it is here.
                thread::park_timeout(Duration::from_millis(100));
                Err(CommError::NullSource)
            });
            ended.map(drop)
        });
        assert!(ended.iter().all(Result::is_err), "{ended:?}");
    });
}

/// A process whose rank has started a barrier and ended carries it on for the others.
#[test]
fn sem_g311_who_is_gone_after_its_ranks_had_ended_is_missed_by_those_that_go_on() {
    within(patience(), || {
        let victim = Arc::new(Mutex::new(None));
        let ended = processes(3, move |end| {
            if end.process() == 0 {
                *victim.lock() = Some(end.clone());
            }
            let ended = World::over(end, 1).run(async |comm| -> Result<(), CommError> {
                if comm.rank() == 0 {
                    drop(comm.barrier().start());
                    return Ok(());
                }
                // What it says of its end is here.
                thread::park_timeout(Duration::from_millis(100));
                if comm.rank() == 1 {
                    let victim = victim.lock().take();
                    victim.expect("it began the run").kill();
                }
                comm.barrier().start().wait().await
            });
            ended.map(drop)
        });
        for (process, ended) in ended.into_iter().enumerate() {
            match ended.unwrap_err() {
                RunError::Transport { .. } => assert_eq!(process, 0, "it is the one"),
                RunError::Lost { process: 0, .. } => {}
                RunError::Elsewhere { message, .. } => {
                    assert!(message.contains("process 0 is lost"), "{message}");
                }
                other => panic!("process {process}: {other}"),
            }
        }
    });
}

#[test]
fn sem_g315_one_process_finds_that_its_ranks_all_wait() {
    within(patience(), || {
        let ended = processes(1, |end| {
            let world = World::over(end, 2);
            let ended = world.run(async |comm| comm.recv::<u8>(1 - comm.rank(), 5).await);
            ended.unwrap_err()
        });
        match &ended[0] {
            RunError::Stuck(report) => assert_eq!(report.ranks.len(), 2),
            other => panic!("{other}"),
        }
    });
}

#[test]
fn sem_g315_who_waits_for_whom_is_told_for_all_processes() {
    within(patience(), || {
        let ended = processes(3, |end| {
            let ended = World::over(end, 2).run(async |comm| -> Result<(), CommError> {
                // Everybody but rank 4 comes to the barrier, and one message is left over.
                match comm.rank() {
                    4 => comm.recv::<()>(0, 1).await,
                    5 => {
                        comm.send(0, 2, 5).await?;
                        Ok(())
                    }
                    _ => comm.barrier().await,
                }
            });
            ended.unwrap_err()
        });
        let reports: Vec<_> = ended
            .into_iter()
            .map(|error| match error {
                RunError::Stuck(report) => report,
                other => panic!("{other}"),
            })
            .collect();
        assert!(
            reports.iter().all(|report| *report == reports[0]),
            "{reports:?}"
        );
        let report = &reports[0];
        assert_eq!(report.ranks.len(), 6);
        assert_eq!(report.ranks[5], RankState::Finished);
        let operation = |rank: usize| match &report.ranks[rank] {
            RankState::Waiting(waits) => waits[0].operation,
            RankState::Finished | _ => panic!("rank {rank} waits"),
        };
        let barrier = WaitOperation::Collective {
            name: "barrier",
            root: None,
        };
        assert!((0..4).all(|rank| operation(rank) == barrier), "{report}");
        assert_eq!(
            operation(4),
            WaitOperation::Recv {
                source: 0.into(),
                tag: 1.into()
            }
        );
        assert_eq!(
            (report.unmatched[0].source, report.unmatched[0].dest),
            (5, 0)
        );
        assert!(
            report.to_string().contains("tests/it/processes.rs"),
            "{report}"
        );
    });
}

/// A rank that asks again and again, and waits for nothing, is brought what comes by its asking.
#[test]
fn sem_g85_probes_that_do_not_wait_look_between_processes() {
    within(patience(), || {
        let ended = processes(2, |end| {
            let world = World::over(end, 1);
            world.run(async |comm| -> Result<_, CommError> {
                let before = looks();
                assert!(comm.iprobe(ANY_SOURCE, ANY_TAG)?.is_none());
                let between = looks();
                assert!(between > before, "iprobe");
                assert!(comm.improbe(ANY_SOURCE, ANY_TAG)?.is_none());
                assert!(looks() > between, "improbe");
                comm.barrier().await
            })
        });
        ended.into_iter().for_each(|ended| drop(ended.unwrap()));
    });
}
