//! Who waits for whom in a world that runs, seen from outside.

use crate::network::processes;
use crate::worlds::Outcome;
use motet_comm::{Communicator, RankNow, RunWatch, Transport, WaitGraph, WaitOperation, World};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread;
use motet_testkit::{patience, stress, within};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// With a thread for each rank: some of them hold theirs.
fn worlds_of_four() -> [World; 2] {
    [World::threads(4), World::ports(4)].map(|world| world.workers(4).pin(false))
}

/// Looks until what is seen is so.
fn seen(watch: &RunWatch, so: impl Fn(&WaitGraph) -> bool) -> WaitGraph {
    loop {
        if let Some(graph) = watch.why().filter(&so) {
            return graph;
        }
        thread::yield_now();
    }
}

fn waits(graph: &WaitGraph, rank: usize) -> bool {
    matches!(graph.ranks[rank], RankNow::Waiting { .. })
}

/// What the one thing is that a rank waits for.
fn operation(graph: &WaitGraph, rank: usize) -> WaitOperation {
    match graph.ranks[rank].waits() {
        [wait] => wait.wait.operation,
        waits => panic!("rank {rank} waits for one thing: {waits:?}"),
    }
}

const BARRIER: WaitOperation = WaitOperation::Collective {
    name: "barrier",
    root: None,
};

/// Runs a body beside a thread that looks, and does not end before `go` is set.
fn watched<R: Send + 'static>(
    world: &World,
    body: impl AsyncFn(Communicator, &AtomicBool) -> Outcome<()> + Sync,
    look: impl FnOnce(&RunWatch) -> R + Send + 'static,
) -> R {
    let go = Arc::new(AtomicBool::new(false));
    let (watch, tell) = (world.watch(), Arc::clone(&go));
    let looking = thread::spawn(move || {
        let result = look(&watch);
        tell.store(true, Ordering::Release);
        result
    });
    world.run(async |comm| body(comm, &go).await).unwrap();
    looking.join().unwrap()
}

/// Holds the thread of the rank: it computes, and helps nobody.
fn compute_until(go: &AtomicBool) {
    while !go.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

#[test]
fn sem_g319_every_rank_is_named_with_what_it_waits_for_while_one_computes() {
    within(patience(), || {
        for world in worlds_of_four() {
            let body = async |comm: Communicator, go: &AtomicBool| -> Outcome<()> {
                match comm.rank() {
                    0 => {
                        compute_until(go);
                        comm.send(1, 7, 5_u8).await?;
                    }
                    1 => drop(comm.recv::<u8>(0, 7).await?),
                    _ => {}
                }
                comm.barrier().await
            };
            let graph = watched(&world, body, |watch| {
                seen(watch, |graph| (1..4).all(|rank| waits(graph, rank)))
            });
            assert!(matches!(
                graph.ranks[0],
                RankNow::Running { after: None, .. }
            ));
            let recv = WaitOperation::Recv {
                source: 0.into(),
                tag: 7.into(),
            };
            assert_eq!(operation(&graph, 1), recv);
            assert_eq!([2, 3].map(|rank| operation(&graph, rank)), [BARRIER; 2]);
            let [barrier] = &graph.collectives()[..] else {
                panic!("{graph}");
            };
            assert_eq!(barrier.come, [2, 3]);
            assert_eq!(barrier.missing, [0, 1]);
            assert_eq!(graph.stuck(), [0_usize; 0], "rank 0 will send");
            assert_eq!(graph.holding_up(), [0]);
            assert_eq!(graph.unawaited(), [2, 3]);
            let text = graph.to_string();
            for words in [
                "of 4 ranks 1 run, 3 wait for ranks",
                "\n  rank 0: runs for ",
                "\n  rank 1: waits in recv(source 0, tag 7) at ",
                "\n  barrier: 2, 3 have come, 0, 1 have not",
                "\n  others wait for, and it runs: 0",
                "\n  nobody waits for: 2, 3",
                "tests/it/watching.rs",
            ] {
                assert!(text.contains(words), "{words}: {text}");
            }
            // One line for both, unless one has a message already and its thread is the one that
            // computes.
            let alike = "\n  ranks 2-3: wait in barrier at ";
            let apart = [
                "\n  rank 2: waits in barrier at ",
                "\n  rank 3: waits in barrier at ",
            ];
            assert!(
                text.contains(alike) || apart.iter().all(|words| text.contains(words)),
                "{text}"
            );
        }
    });
}

#[test]
fn sem_g320_a_cycle_is_shown_while_another_rank_runs() {
    within(patience(), || {
        for world in worlds_of_four() {
            let body = async |comm: Communicator, go: &AtomicBool| -> Outcome<()> {
                let rank = comm.rank();
                if rank == 3 {
                    // Nobody but the watcher knows that the three wait for each other: it brings
                    // what they want.
                    compute_until(go);
                    for to in 0..3 {
                        comm.send(to, 1, ()).await?;
                    }
                    return Ok(());
                }
                let mut next = pin!(comm.recv::<()>((rank + 1) % 3, 0));
                let mut rescued = pin!(comm.recv::<()>(3, 1));
                poll_fn(|cx| {
                    // It asks for both, and ends with the rescue.
                    let _ = next.as_mut().poll(cx);
                    rescued.as_mut().poll(cx)
                })
                .await
            };
            let graph = watched(&world, body, |watch| {
                seen(watch, |graph| {
                    (0..3).all(|rank| graph.ranks[rank].waits().len() == 2)
                })
            });
            assert_eq!(graph.stuck(), [0, 1, 2], "{graph}");
            assert_eq!(graph.cycles(), [[0, 1, 2]], "{graph}");
            let text = graph.to_string();
            assert!(text.contains("\n  cycle: 0 → 1 → 2 → 0"), "{text}");
            assert!(text.contains("\n  cannot go on: 0-2; unless"), "{text}");
        }
    });
}

#[test]
fn sem_g319_ranks_of_other_communicators_are_named_by_their_numbers_in_the_world() {
    within(patience(), || {
        for world in worlds_of_four() {
            let body = async |comm: Communicator, go: &AtomicBool| -> Outcome<()> {
                // Rank 3 is rank 0 of its part, rank 1 is rank 1.
                let key = -comm.rank().cast_signed();
                let part = comm.split(Some(comm.rank() % 2), key).await?;
                let part = part.expect("it has a colour");
                match comm.rank() {
                    3 => {
                        compute_until(go);
                        part.send(1, 2, 9_u8).await
                    }
                    1 => part.recv::<u8>(0, 2).await.map(drop),
                    _ => Ok(()),
                }
            };
            let graph = watched(&world, body, |watch| {
                seen(watch, |graph| {
                    let done = |rank: usize| graph.ranks[rank] == RankNow::Finished;
                    // Rank 3 may have been woken from the split, and not have run yet.
                    waits(graph, 1)
                        && !waits(graph, 3)
                        && done(0)
                        && done(2)
                        && graph.ranks[1].waits()[0].wait.communicator != 0
                })
            });
            assert_eq!(graph.holding_up(), [3], "{graph}");
            let text = graph.to_string();
            assert!(text.contains("(rank 3 of the world)"), "{text}");
        }
    });
}

#[test]
fn sem_g319_who_waits_for_no_rank_is_told_apart() {
    within(patience(), || {
        let world = World::threads(2).workers(2);
        let watch = world.watch();
        let (bell, heard) = mpsc::channel::<Waker>();
        let looking = thread::spawn(move || {
            let graph = seen(&watch, |graph| {
                matches!(graph.ranks[0], RankNow::Elsewhere { .. })
            });
            heard.recv().unwrap().wake();
            graph
        });
        world
            .run(async |comm| -> Outcome<()> {
                if comm.rank() == 0 {
                    let mut rung = false;
                    poll_fn(|cx| {
                        if std::mem::replace(&mut rung, true) {
                            return Poll::Ready(());
                        }
                        bell.send(cx.waker().clone()).unwrap();
                        Poll::Pending
                    })
                    .await;
                }
                comm.barrier().await
            })
            .unwrap();
        let text = looking.join().unwrap().to_string();
        let words = "rank 0: waits for something that is no message of a rank, for ";
        assert!(text.contains(words), "{text}");
    });
}

#[test]
fn stress_who_waits_for_messages_alone_is_never_shown_as_waiting_for_something_else() {
    within(patience(), || {
        stress(3, |_| {
            let world = World::threads(2).workers(2);
            let (over, watch) = (Arc::new(AtomicBool::new(false)), world.watch());
            let told = Arc::clone(&over);
            let looking = thread::spawn(move || {
                while !told.load(Ordering::Acquire) {
                    let elsewhere = |now: &RankNow| matches!(now, RankNow::Elsewhere { .. });
                    let graph = watch.why();
                    if let Some(graph) = graph.filter(|graph| graph.ranks.iter().any(elsewhere)) {
                        return Some(graph.to_string());
                    }
                }
                None
            });
            let ended = world.run(async |comm| -> Outcome<()> {
                let other = 1 - comm.rank();
                for round in 0..200 {
                    // Long enough for the other one to fall asleep.
                    let begun = Instant::now();
                    while comm.rank() == round % 2 && begun.elapsed() < Duration::from_micros(100) {
                        std::hint::spin_loop();
                    }
                    comm.send(other, 0, ()).await?;
                    comm.recv::<()>(other, 0).await?;
                }
                Ok(())
            });
            over.store(true, Ordering::Release);
            assert_eq!(looking.join().unwrap(), None);
            ended.unwrap();
        });
    });
}

#[test]
fn sem_g321_any_process_sees_the_ranks_of_all() {
    within(patience(), || {
        let seen_by = processes(3, |end| {
            let own = end.process();
            let world = World::over(end, 2).workers(2);
            let watch = world.watch();
            let results = world.run(async |comm| -> Outcome<Option<WaitGraph>> {
                // Rank 2 holds its thread; the others wait for it, and one of each process looks
                // meanwhile.
                if comm.rank() != 2 && comm.rank() % 2 == 1 {
                    let graph = seen(&watch, |graph| {
                        // A busy machine may take longer for an answer than it is waited for.
                        graph.silent.is_empty() && [0, 4].iter().all(|&rank| waits(graph, rank))
                    });
                    comm.send(2, 0, ()).await?;
                    comm.barrier().await?;
                    return Ok(Some(graph));
                }
                if comm.rank() == 2 {
                    for from in [1, 3, 5] {
                        // Not awaited: it computes.
                        while comm.iprobe(from, 0)?.is_none() {
                            thread::yield_now();
                        }
                        comm.recv::<()>(from, 0).await?;
                    }
                }
                comm.barrier().await?;
                Ok(None)
            });
            (own, results.unwrap())
        });
        for (process, results) in seen_by {
            let graph = results
                .into_iter()
                .flatten()
                .next()
                .expect("one has looked");
            assert_eq!(graph.ranks.len(), 6, "process {process}: {graph}");
            assert_eq!([0, 4].map(|rank| operation(&graph, rank)), [BARRIER; 2]);
            assert!(graph.silent.is_empty(), "{graph}");
            assert!(matches!(graph.ranks[2], RankNow::Running { .. }), "{graph}");
            assert!(graph.collectives()[0].missing.contains(&2), "{graph}");
        }
    });
}

#[test]
fn sem_g579_who_looks_ends_a_run_of_which_no_rank_is_left_here() {
    within(patience(), || {
        let ended = processes(2, |end| {
            let own = end.process();
            let world = World::over(end, 1).workers(1);
            let watch = world.watch();
            let looking = (own == 0).then(|| {
                thread::spawn(move || {
                    seen(&watch, |graph| graph.ranks[0] == RankNow::Finished);
                    watch.end("nobody will send")
                })
            });
            let ended = world.run(async |comm| -> Outcome<()> {
                // It holds its thread where it waits, as ranks of other languages do.
                while comm.rank() == 1 && !comm.run_is_over() {
                    thread::yield_now();
                }
                Ok(())
            });
            if let Some(looking) = looking {
                assert!(looking.join().unwrap());
            }
            ended.map_err(|error| error.to_string())
        });
        let told: Result<Vec<()>, String> = Err("process 0: nobody will send".to_owned());
        assert_eq!(ended, [told.clone(), told]);
    });
    let world = World::threads(1);
    assert!(!world.watch().end("it does not run"));
}

#[test]
fn sem_g322_a_process_that_does_not_answer_is_named() {
    within(patience(), || {
        let seen_by = processes(3, |end| {
            let vanishes = end.clone();
            let world = World::over(end, 2).workers(2).patience(patience());
            let watch = world.watch();
            let ended = world.run(async |comm| -> Result<(), String> {
                comm.barrier().await.map_err(|error| error.to_string())?;
                if comm.rank() == 4 {
                    vanishes.vanish();
                    return Ok(());
                }
                if comm.rank() == 0 {
                    // What was sent before it has vanished may still answer, and process 1 may be
                    // slow to.
                    let graph = seen(&watch, |graph| graph.silent == [(2, 4..6)]);
                    return Err(format!("{:?}: {graph}", graph.silent));
                }
                comm.barrier().await.map_err(|error| error.to_string())
            });
            ended.map(drop).unwrap_err().to_string()
        });
        let text = &seen_by[0];
        assert!(text.contains("[(2, 4..6)]"), "{text}");
        assert!(
            text.contains("process 2 (ranks 4, 5) has not answered"),
            "{text}"
        );
        assert!(text.contains("ranks 4-5: not known"), "{text}");
    });
}

#[test]
fn sem_g323_requests_of_all_processes_are_one_for_process_0() {
    within(patience(), || {
        let asked = processes(3, |end| {
            let own = end.process();
            let world = World::over(end, 1);
            let watch = world.watch();
            let results = world.run(async |comm| -> Outcome<usize> {
                watch.ask();
                comm.send(0, 0, ()).await?;
                let mut told = 0;
                if own == 0 {
                    // After it the requests of all have come.
                    for from in 0..3 {
                        comm.recv::<()>(from, 0).await?;
                    }
                    told += usize::from(watch.wait_asked(Some(patience())));
                    told += usize::from(watch.wait_asked(Some(Duration::ZERO)));
                }
                Ok(told)
            });
            results.unwrap()[0]
        });
        assert_eq!(asked, [1, 0, 0]);
    });
}

#[test]
fn nothing_is_seen_of_a_world_that_does_not_run() {
    within(patience(), || {
        let world = World::threads(2);
        let (copy, watch) = (world.clone(), world.watch());
        assert_eq!(watch.why(), None);
        let seen = copy
            .run(async |_| -> Outcome<bool> { Ok(watch.why().is_some()) })
            .unwrap();
        assert_eq!(seen, [true; 2], "also of a copy");
        assert_eq!(world.watch().why(), None);
    });
}
