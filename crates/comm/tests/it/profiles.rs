//! Where the time of a run goes, for programs of which it is known: they tell the time themselves.

use crate::network::processes;
use crate::worlds::Outcome;
use motet_comm::{Communicator, Imbalance, Profile, Transport, World};
use motet_testkit::{patience, within};
use std::cell::{Cell, RefCell};
use std::time::Duration;

std::thread_local! {
    /// The time of a rank that has its thread alone: only its computing takes any.
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

fn now() -> Duration {
    NOW.get()
}

fn compute(milliseconds: u64) {
    NOW.set(NOW.get() + Duration::from_millis(milliseconds));
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

/// Ten stages that end with a sum, and rank 2 computes twice as long; then 5 ms more.
async fn unequal(comm: &Communicator) -> Outcome<()> {
    for _ in 0..10 {
        compute(if comm.rank() == 2 { 2 } else { 1 });
        comm.allreduce(1, |a, b| a + b).await?;
    }
    compute(5);
    Ok(())
}

fn check_unequal(profile: &Profile) {
    assert_eq!((profile.threads, profile.ranks.len()), (4, 4));
    for (rank, ranked) in profile.ranks.iter().enumerate() {
        assert_eq!((ranked.rank, ranked.thread), (rank, rank));
        let [sum, end] = &ranked.stages[..] else {
            panic!("two kinds of stages: {profile}");
        };
        assert_eq!((&*sum.call, sum.count), ("allreduce", 10));
        assert!(sum.site.contains("tests/it/profiles.rs:"), "{profile}");
        let grain = if rank == 2 { 0.002 } else { 0.001 };
        assert!(close(sum.grain(), grain) && close(sum.longest, grain));
        assert!(close(sum.deviation, 0.0) && close(sum.computing, 10.0 * grain));
        assert!(close(end.computing, 0.005) && end.site.is_empty());
    }
    assert!(close(profile.seconds, 0.025), "{profile}");
    let overhead = profile.overhead();
    // 4 · 25 ms, of which 3 · 15 + 25 are computing.
    assert!(close(overhead.overhead, 30.0 / 70.0), "{profile}");
    assert!(close(overhead.imbalance, 30.0 / 70.0), "{profile}");
}

#[test]
fn sem_g326_every_rank_and_stage_is_told_and_twice_the_work_is_imbalance() {
    within(patience(), || {
        for world in [World::threads(4).workers(4), World::ports(4).workers(4)] {
            let outcome = world
                .profile_by(now)
                .run_outcome(async |comm| unequal(&comm).await)
                .unwrap();
            let profile = outcome.profile.expect("it was asked for");
            check_unequal(&profile);
            let text = profile.to_string();
            for words in [
                "4 ranks on 4 threads, 25.00 ms",
                "overhead f = 0.4286 = messaging 0.0000 + imbalance 0.4286 + jitter 0.0000 + waiting 0.0000",
                "allreduce at ",
                "90 % are out of reach at any grain",
                "cannot be told from one run",
            ] {
                assert!(text.contains(words), "{words}: {text}");
            }
        }
    });
}

#[test]
fn sem_g327_process_0_has_the_profile_of_all_processes() {
    within(patience(), || {
        let profiles = processes(2, |end| {
            let own = end.process();
            let world = World::over(end, 2).workers(2).profile_by(now);
            let outcome = world.run_outcome(async |comm| unequal(&comm).await);
            (own, outcome.unwrap().profile)
        });
        for (process, profile) in profiles {
            match profile {
                Some(profile) => {
                    assert_eq!(process, 0);
                    check_unequal(&profile);
                }
                None => assert_eq!(process, 1),
            }
        }
    });
}

#[test]
fn sem_g326_stages_that_fluctuate_show_their_jitter() {
    within(patience(), || {
        let outcome = World::threads(2)
            .workers(2)
            .profile_by(now)
            .run_outcome(async |comm| -> Outcome<()> {
                let mut ring = comm.ring().await?;
                for stage in 0..100 {
                    // A rank that sleeps now and then.
                    compute(if stage % 10 == 0 && comm.rank() == 1 {
                        11
                    } else {
                        1
                    });
                    ring.exchange((), ()).await?;
                }
                Ok(())
            })
            .unwrap();
        let profile = outcome.profile.unwrap();
        let exchange = |rank: usize| {
            let mut stages = profile.ranks[rank].stages.iter();
            stages.find(|stage| stage.call == "exchange").unwrap()
        };
        assert!(close(exchange(0).jitter(), 0.0));
        // Mean 2, deviation 3.
        assert!(close(exchange(1).jitter(), 1.5), "{profile}");
        assert!(close(exchange(1).longest, 0.011));
        assert!(exchange(1).spread > 0.001, "{profile}");
    });
}

/// A hundred stages that end with a sum, of so many microseconds on a rank.
async fn stages(comm: &Communicator, took: fn(usize, usize) -> u64) -> Outcome<()> {
    for stage in 0..100 {
        NOW.set(NOW.get() + Duration::from_micros(took(comm.rank(), stage)));
        comm.allreduce(1, |a, b| a + b).await?;
    }
    Ok(())
}

fn profile_of(took: fn(usize, usize) -> u64) -> Profile {
    let world = World::threads(4).workers(4).profile_by(now);
    let outcome = world.run_outcome(async |comm| stages(&comm, took).await);
    outcome.unwrap().profile.unwrap()
}

#[test]
fn sem_g328_a_rank_that_is_always_longer_is_named_with_what_an_even_share_saves() {
    within(patience(), || {
        let profile = profile_of(|rank, _| if rank == 3 { 1200 } else { 1000 });
        let found = profile.imbalances(0.01);
        let [one] = &found[..] else {
            panic!("one finding: {found:?}");
        };
        assert_eq!(
            (&*one.call, one.rank, one.count, one.ranks),
            ("allreduce", 3, 100, 1)
        );
        // The mean is 105 ms and the run 120 ms long.
        assert!(
            close(one.longer, 15.0 / 105.0) && close(one.saved, 0.015),
            "{one}"
        );
        assert!(close(one.share, 0.125), "{one}");
        let text = profile.to_string();
        for words in [
            "rank 3 computed 14.3 % longer than the mean in the stage allreduce at ",
            "100 times; 12.5 % of the run (15.00 ms) would be saved by an even share",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(profile.imbalances(0.13), [], "less than was asked for");
    });
}

#[test]
fn sem_g328_jitter_and_one_long_stage_are_no_imbalance() {
    within(patience(), || {
        // Another rank each time, by a hash: the totals differ by chance.
        let hashed: fn(usize, usize) -> u64 = |rank, stage| {
            let hash = ((rank * 31 + stage * 4 + 1) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            1000 + (hash >> 55)
        };
        // One of a hundred stages of one rank is long: the mean of the stage is, too.
        let once = |rank, stage| {
            if (rank, stage) == (2, 40) {
                30_000
            } else {
                1000
            }
        };
        for took in [hashed, once] {
            let profile = profile_of(took);
            assert_eq!(profile.imbalances(0.0), [], "{profile}");
            assert!(!profile.to_string().contains("even share"), "{profile}");
            let mut jitters = profile.ranks.iter().map(|rank| rank.stages[0].jitter());
            assert!(jitters.any(|jitter| jitter > 0.1), "{profile}");
        }
        // With the same jitter, a rank that is longer on average is found.
        let profile = profile_of(|rank, stage| {
            let jitter = (stage * 7 + rank * 3) % 10 * 20;
            (if rank == 1 { 1100 } else { 1000 }) + jitter as u64
        });
        assert_eq!(profile.imbalances(0.01)[0].rank, 1, "{profile}");
    });
}

#[test]
fn sem_g328_every_stage_is_judged_for_itself_and_the_worst_is_first() {
    within(patience(), || {
        let world = World::threads(3).workers(3).profile_by(now);
        let outcome = world.run_outcome(async |comm| -> Outcome<()> {
            let longer = |rank, by: u64| 10 + if comm.rank() == rank { by } else { 0 };
            for _ in 0..10 {
                compute(longer(0, 1));
                comm.barrier().await?;
                compute(longer(2, 6));
                comm.allreduce(1, |a, b| a + b).await?;
            }
            compute(longer(1, 30));
            Ok(())
        });
        let profile = outcome.unwrap().profile.unwrap();
        let found = profile.imbalances(0.0);
        let told: Vec<(&str, usize)> = found.iter().map(|one| (&*one.call, one.rank)).collect();
        assert_eq!(told, [("allreduce", 2), ("end", 1), ("barrier", 0)]);
        assert!(
            found[1].to_string().contains("after the last call"),
            "{}",
            found[1]
        );
    });
}

std::thread_local! {
    /// What this thread was told.
    static TOLD: RefCell<Vec<Imbalance>> = const { RefCell::new(Vec::new()) };
}

fn note(found: &[Imbalance]) {
    TOLD.with_borrow_mut(|told| told.extend_from_slice(found));
}

#[test]
fn sem_g329_a_run_that_loses_more_than_was_asked_for_tells_so_at_its_end() {
    within(patience(), || {
        let ranks_told = |world: World| {
            world.run(async |comm| unequal(&comm).await).unwrap();
            let told = TOLD.take();
            told.iter().map(|one| one.rank).collect::<Vec<usize>>()
        };
        let world = World::threads(4).workers(4).profile_by(now);
        // 7.5 ms of 25.
        assert_eq!(ranks_told(world.clone().on_imbalance(0.29, note)), [2]);
        assert_eq!(ranks_told(world.clone().on_imbalance(0.31, note)), [0; 0]);
        assert_eq!(ranks_told(world), [0; 0], "nobody asked");
        assert_eq!(ranks_told(World::solo().on_imbalance(0.0, note)), [0; 0]);
        let failed = World::threads(2)
            .on_imbalance(0.0, note)
            .run(async |_| Err::<(), _>("failed"));
        assert!(
            failed.is_err() && TOLD.take().is_empty(),
            "no run that fails tells"
        );
    });
}

#[test]
fn sem_g329_process_0_tells_for_all() {
    within(patience(), || {
        let told = processes(2, |end| {
            let own = end.process();
            let world = World::over(end, 2).workers(2).profile_by(now);
            let world = world.on_imbalance(0.1, note);
            world.run(async |comm| unequal(&comm).await).unwrap();
            (
                own,
                TOLD.take()
                    .iter()
                    .map(|one| one.rank)
                    .collect::<Vec<usize>>(),
            )
        });
        for (process, ranks) in told {
            assert_eq!(ranks, if process == 0 { vec![2] } else { vec![] });
        }
    });
}

/// A millisecond, and a call of each kind; then 3 ms more.
async fn every_call(comm: &Communicator) -> Outcome<()> {
    let other = 1 - comm.rank();
    compute(1);
    comm.send(other, 0, ()).await?;
    compute(1);
    comm.recv::<()>(other, 0).await?;
    compute(1);
    comm.sendrecv(other, (), other, 0).await?;
    compute(1);
    comm.shift((), 1).await?;
    compute(1);
    comm.send_slice(other, 0, &[1.0, 2.0]).await?;
    compute(1);
    comm.recv_into(&mut [0.0; 2], other, 0).await?;
    compute(1);
    let sum = comm.allreduce(1, |a, b| a + b).start();
    compute(1);
    sum.wait().await?;
    let received = comm.irecv::<()>(other, 0);
    compute(1);
    comm.issend(other, 0, ()).wait().await?;
    compute(1);
    received.wait().await?;
    let mut line = comm.line().await?;
    compute(1);
    line.exchange((), ()).await?;
    // What is given up has been called.
    let never = comm.recv::<()>(other, 9);
    compute(1);
    let mut never = Box::pin(never);
    std::future::poll_fn(|cx| {
        let _ = never.as_mut().poll(cx);
        std::task::Poll::Ready(())
    })
    .await;
    drop(never);
    compute(3);
    Ok(())
}

#[test]
fn sem_g326_all_calls_end_stages() {
    within(patience(), || {
        let outcome = World::threads(2)
            .workers(2)
            .profile_by(now)
            .run_outcome(async |comm| -> Outcome<()> { every_call(&comm).await })
            .unwrap();
        let profile = outcome.profile.unwrap();
        for rank in &profile.ranks {
            let stages = rank.stages.iter().map(|stage| {
                let ms = (stage.computing * 1e3).round() as u64;
                (stage.call.as_str(), stage.count, ms)
            });
            let stages: Vec<_> = stages.collect();
            let expected = [
                ("send", 1, 1),
                ("recv", 1, 1),
                ("sendrecv", 1, 1),
                ("shift", 1, 1),
                ("send", 1, 1),
                ("recv", 1, 1),
                // When it is started, and when it is waited for.
                ("allreduce", 2, 2),
                ("send", 1, 1),
                ("ssend", 1, 0),
                ("recv", 1, 1),
                ("line", 1, 0),
                ("exchange", 1, 1),
                ("recv", 1, 1),
                ("end", 1, 3),
            ];
            assert_eq!(stages, expected);
        }
    });
}

#[test]
fn sem_g326_ranks_that_share_a_thread_do_not_count_each_others_computing() {
    within(patience(), || {
        let outcome = World::threads(6)
            .workers(2)
            .profile_by(now)
            .run_outcome(async |comm| -> Outcome<()> {
                for _ in 0..5 {
                    compute(2);
                    comm.barrier().await?;
                }
                Ok(())
            })
            .unwrap();
        let profile = outcome.profile.unwrap();
        let threads: Vec<usize> = profile.ranks.iter().map(|rank| rank.thread).collect();
        assert_eq!((threads, profile.threads), (vec![0, 0, 0, 1, 1, 1], 2));
        assert!(
            profile
                .ranks
                .iter()
                .all(|rank| close(rank.totals()[0], 0.010))
        );
        // Each thread computes 30 ms, and no time passes otherwise.
        assert!(close(profile.seconds, 0.030), "{profile}");
        assert!(close(profile.overhead().overhead, 0.0), "{profile}");
    });
}

#[test]
fn sem_g326_the_parts_of_a_real_run_add_up() {
    within(patience(), || {
        for world in [
            World::solo(),
            World::threads(2),
            World::threads(5).workers(2),
        ] {
            let outcome = world
                .clone()
                .profile()
                .run_outcome(async |comm| -> Outcome<f64> {
                    let mut sum = 0.0;
                    for stage in 1..200 {
                        let mine: f64 = (0..1000).map(|i| f64::from(i * stage).sqrt()).sum();
                        sum = comm.allreduce(mine + sum, f64::max).await?;
                    }
                    Ok(sum)
                })
                .unwrap();
            let profile = outcome.profile.unwrap();
            let f = profile.overhead();
            let parts = [f.messaging, f.imbalance, f.jitter, f.waiting];
            assert!(parts.iter().all(|part| *part >= 0.0), "{profile}");
            assert!(close(parts.iter().sum::<f64>(), f.overhead), "{profile}");
            for rank in &profile.ranks {
                let all: f64 = rank.totals().iter().sum();
                assert!(all <= profile.seconds + 1e-9, "{profile}");
                assert_eq!(rank.stages[0].count, 199, "{profile}");
            }
            assert_eq!(outcome.results.len(), world.size());
        }
    });
}

#[test]
fn a_world_that_is_not_profiled_has_no_profile() {
    within(patience(), || {
        let outcome = World::threads(2).run_outcome(async |comm| comm.barrier().await);
        assert_eq!(outcome.unwrap().profile, None);
    });
}
