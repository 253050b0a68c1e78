//! Interleaves together with the rest: joins, choices, causalities, replays.

use super::{Three, until, with_three};
use crate::support::{on_dispatchers, post_all};
use motet_dispatch::{
    Causalities, Causality, ExecutionPolicy, Inline, QueueConfig, QueueError, Rate, Replay,
    ReplayConfig,
};
use motet_ports::{
    CausalityPorts, Choice, Fairness, Interleave, JoinedReceive, MultipleItemReceive, Port,
    PostRefusal, Receive, timer,
};
use motet_testkit::{Log, Overlap, explore};
use std::time::Duration;

#[test]
fn sem_g286_joins_and_batches_may_be_members() {
    on_dispatchers(1, |dispatcher, queue| {
        let (p, q, batch, log) = (Port::new(), Port::new(), Port::new(), Log::new());
        let (end, overlap) = (Port::new(), Overlap::new());
        let [joined, batched, ended] = [(); 3].map(|()| (log.clone(), overlap.clone()));
        Interleave::new()
            .exclusive(JoinedReceive::persistent(
                (&p, &q),
                move |(a, b): (u32, u32)| {
                    joined.1.during(|| joined.0.push(a + b));
                },
            ))
            .exclusive(MultipleItemReceive::persistent(
                &batch,
                3,
                move |three: Vec<u32>| {
                    batched.1.during(|| batched.0.push(three.iter().sum()));
                },
            ))
            .teardown(JoinedReceive::once(
                (&end, &p),
                move |((), a): ((), u32)| {
                    ended.1.during(|| ended.0.push(a));
                },
            ))
            .activate(queue)
            .unwrap();
        dispatcher.wait_idle();
        for n in 1..=20 {
            p.post(n).unwrap();
            batch.post(1).unwrap();
            q.post(n).unwrap();
        }
        dispatcher.wait_idle();
        let mut sums = log.take();
        sums.retain(|&n| n != 3);
        assert_eq!(sums, (1..=20).map(|n| 2 * n).collect::<Vec<_>>());
        assert_eq!(overlap.most(), 1);
        end.post(()).unwrap();
        p.post(7).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [7]);
        let left = (
            p.receiver_count(),
            q.receiver_count(),
            batch.receiver_count(),
            end.receiver_count(),
        );
        assert_eq!(left, (0, 0, 0, 0));
        assert_eq!(batch.item_count(), 2);
    });
}

#[test]
fn sem_g286_a_choice_may_be_a_member() {
    on_dispatchers(5, |dispatcher, queue| {
        let three = Three::new(queue, Fairness::default());
        let (stop, halt, both, asks) = (Port::new(), Port::new(), Port::new(), Port::new());
        let [one, two] = [(); 2].map(|()| three.log.clone());
        let choice = Choice::new()
            .or(Receive::once(&stop, move |()| one.push("stop".to_owned())))
            .or(JoinedReceive::once((&halt, &both), move |((), ())| {
                two.push("halt".to_owned());
            }));
        let other = three.log.clone();
        let once = Choice::new().or(Receive::once(&asks, move |n: u32| {
            other.push(format!("once {n}"))
        }));
        let others = Interleave::new().teardown(choice).exclusive(once);
        three.active.combine_with(others, queue).unwrap();
        three.gate.open();
        dispatcher.wait_idle();
        post_all(&asks, [1, 2]);
        both.post(()).unwrap();
        dispatcher.wait_idle();
        halt.post(()).unwrap();
        stop.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(three.log.entries(), ["once 1", "halt"]);
        assert_eq!(
            (stop.item_count(), stop.receiver_count(), asks.items()),
            (1, 0, vec![2])
        );
        assert_eq!(three.exclusive.receiver_count(), 0);
    });
}

#[test]
fn sem_g52_sem_g286_handlers_run_under_the_causalities_of_their_items() {
    with_three(Fairness::default(), |dispatcher, three| {
        let log = Log::new();
        let names = [(); 2].map(|()| log.clone());
        let ports = [Port::new(), Port::new()];
        let [exclusive, concurrent] = names.map(|log| {
            move |n: u32| {
                let active = Causalities::active();
                let names: Vec<_> = active.iter().map(|c| c.name().to_owned()).collect();
                log.push((n, names));
                panic!("{n}");
            }
        });
        let others = Interleave::new()
            .exclusive(Receive::persistent(&ports[0], exclusive))
            .concurrent(Receive::persistent(&ports[1], concurrent));
        three
            .active
            .combine_with(others, &dispatcher.queue(QueueConfig::default()))
            .unwrap();
        dispatcher.wait_idle();
        // Both are held, and run from a turn, or when they are let in.
        three.exclusive.post(0).unwrap();
        three.gate.wait_for(1);
        let heard = Port::new();
        for n in 0..4 {
            let causality = Causality::new(&format!("of {n}")).exception_port(&heard);
            causality.run(|| ports[n as usize % 2].post(n).unwrap());
        }
        until(|| three.active.concurrent_waiting() == 2);
        three.gate.open();
        dispatcher.wait_idle();
        let expected: Vec<_> = (0..4).map(|n| (n, vec![format!("of {n}")])).collect();
        assert_eq!(log.take_sorted(), expected);
        let mut told: Vec<_> = std::iter::from_fn(|| heard.test())
            .map(|e| (e.message().to_owned(), e.causality().map(str::to_owned)))
            .collect();
        told.sort();
        let expected = (0..4).map(|n| (n.to_string(), Some(format!("of {n}"))));
        assert_eq!(told, expected.collect::<Vec<_>>());
    });
}

#[test]
fn sem_g65_sem_g286_work_that_was_cancelled_is_skipped_and_holds_nobody_up() {
    with_three(Fairness::default(), |dispatcher, three| {
        three.exclusive.post(0).unwrap();
        three.gate.wait_for(1);
        let cancelled = Causality::new("cancelled").skipping_unstarted();
        cancelled.run(|| post_all(&three.exclusive, [1, 2]));
        cancelled.run(|| post_all(&three.concurrent, [3, 4]));
        post_all(&three.exclusive, [5]);
        post_all(&three.concurrent, [6]);
        until(|| three.active.concurrent_waiting() == 3);
        cancelled.cancel("nobody asks any more");
        three.gate.open();
        dispatcher.wait_idle();
        assert_eq!(three.begun(), ["E0", "E5", "C6"]);
        three.teardown.post(()).unwrap();
        dispatcher.wait_idle();
        assert_eq!(three.begun(), ["E0", "E5", "C6", "T"]);
    });
}

#[test]
fn sem_g286_replays_of_an_interleave_keep_its_rules() {
    explore(0..60, |replay| {
        let queue = replay.queue(QueueConfig::default());
        let (exclusive, concurrent, end) = (Port::new(), Port::new(), Port::<()>::new());
        let (log, overlap) = (Log::new(), Overlap::new());
        let [one, two, last] = [(); 3].map(|()| (log.clone(), overlap.clone()));
        Interleave::new()
            .exclusive(Receive::persistent_async(&exclusive, move |n: u32| {
                let (log, overlap) = one.clone();
                async move {
                    timer::sleep(Duration::from_millis(3)).await;
                    overlap.during(|| log.push(n));
                }
            }))
            .concurrent(Receive::persistent(&concurrent, move |n: u32| {
                two.0.push(n)
            }))
            .teardown(Receive::once(&end, move |()| last.0.push(1000)))
            .activate(&queue)
            .unwrap();
        replay.run();
        for n in 0..5 {
            exclusive.post(n).unwrap();
            concurrent.post(100 + n).unwrap();
        }
        replay.run();
        end.post(()).unwrap();
        replay.run();
        let log = log.take();
        assert_eq!((log.len(), log.last()), (11, Some(&1000)));
        assert!(log.iter().filter(|n| **n < 100).is_sorted(), "{log:?}");
    });
}

#[test]
fn sem_g46_exclusive_handlers_are_no_more_than_the_rate_of_their_queue() {
    let replay = Replay::new(1);
    let rate = Rate::per_second(1.0).unwrap();
    let queue = replay.queue(QueueConfig {
        policy: ExecutionPolicy::ConstrainSchedulingRateThrottleExecution { rate },
        ..QueueConfig::named("slow")
    });
    let (port, log) = (Port::new(), Log::new());
    let ran = log.clone();
    Interleave::new()
        .exclusive(Receive::persistent(&port, move |n: u32| ran.push(n)))
        .activate(&queue)
        .unwrap();
    replay.run();
    for n in 0..3 {
        replay.run_for(Duration::from_secs(2));
        port.post(n).unwrap();
        replay.run();
        assert_eq!(log.take(), [n]);
        let refused = port.post(n).unwrap_err();
        let reason = PostRefusal::Queue(QueueError::RateExceeded);
        assert_eq!(refused.reason, reason, "one a second");
    }
}

#[test]
fn sem_g287_what_runs_inside_a_handler_that_was_let_in_waits_for_exclusive_work() {
    let replay = Replay::with(ReplayConfig {
        threads: 1,
        ..ReplayConfig::default()
    });
    let queue = replay.queue(QueueConfig::named("outside"));
    let (held, alone, inner, log) = (Port::new(), Port::new(), Port::new(), Log::new());
    let (own, posts, inside) = (log.clone(), alone.clone(), inner.clone());
    let (exclusive, nested) = (log.clone(), log.clone());
    let begins = move |n: u32| {
        own.push(format!("C{n}"));
        posts.post(2).unwrap();
        inside.post(n).unwrap();
        own.push(format!("-C{n}"));
    };
    let alone_says = move |n: u32| exclusive.push(format!("E{n}"));
    let nested_says = move |n: u32| nested.push(format!("I{n}"));
    let interleave = Interleave::new()
        .concurrent(Receive::persistent(&held, begins))
        .exclusive(Receive::persistent(&alone, alone_says))
        .activate(&queue)
        .unwrap();
    replay.run();
    let private = Interleave::new().concurrent(Receive::persistent(&inner, nested_says));
    let here = Inline::new("inside");
    interleave.combine_with(private, &here).unwrap();
    // The first is held while the second runs, and let in after it.
    held.post(1).unwrap();
    alone.post(1).unwrap();
    replay.run();
    assert_eq!(log.take(), ["E1", "C1", "-C1", "E2", "I1"]);
}
