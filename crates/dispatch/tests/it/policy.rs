//! Execution policies: what queues do beyond their limits.

use crate::policed::{newest, queue_with, rate, throttled, told};
use crate::support::{Bell, go, here, note, with_queue};
use motet_dispatch::{
    Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, QueueError, Rate, Task, spawn,
};
use motet_sync::thread;
use motet_testkit::{Drops, Log, patience, within};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

#[test]
fn ccr_097_a_full_queue_that_discards_keeps_the_newest() {
    with_queue(1, |dispatcher, _| {
        let queue = newest(&dispatcher, 2);
        let log = Log::new();
        queue.suspend();
        note(&queue, &log, 1);
        note(&queue, &log, 2);
        assert_eq!(queue.counters().discarded, 0);
        note(&queue, &log, 4);
        assert_eq!(
            queue.counters().discarded,
            1,
            "the third one cost the first"
        );
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [2, 4]);
        let counters = queue.counters();
        assert_eq!((counters.scheduled, counters.executed), (3, 2));
        assert_eq!((counters.pending(), counters.refused), (0, 0));
    });
}

#[test]
fn ccr_098_a_discarded_task_is_told_and_can_still_be_run() {
    with_queue(1, |dispatcher, _| {
        let queue = newest(&dispatcher, 2);
        let ((discarded, _), log) = (told(&queue), Log::new());
        queue.suspend();
        (1..=3).for_each(|n| note(&queue, &log, n));
        let mut tasks = discarded.take();
        assert_eq!(tasks.len(), 1);
        tasks.remove(0).run();
        assert_eq!(log.take(), [1]);
    });
}

#[test]
fn sem_g47_without_a_handler_a_discarded_task_is_dropped_and_counted() {
    with_queue(1, |dispatcher, _| {
        let (queue, drops) = (newest(&dispatcher, 1), Drops::new());
        queue.suspend();
        for _ in 0..5 {
            let value = drops.make();
            go(&queue, move || drop(value));
        }
        assert_eq!((drops.dropped(), queue.counters().discarded), (4, 4));
    });
}

#[test]
fn sem_g47_a_handler_that_panics_harms_nobody() {
    with_queue(1, |dispatcher, _| {
        let (queue, log) = (newest(&dispatcher, 1), Log::new());
        queue.on_notification(|_| panic!("a handler of the test"));
        queue.suspend();
        (0..3).for_each(|n| note(&queue, &log, n));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [2]);
    });
}

#[test]
fn sem_g45_the_oldest_is_found_wherever_it_waits() {
    with_queue(2, |dispatcher, _| {
        let (queue, log) = (newest(&dispatcher, 2), Log::new());
        queue.suspend();
        note(&queue.home(1), &log, "at home");
        note(&queue, &log, "anywhere");
        note(&queue.home(0), &log, "at another home");
        note(&queue, &log, "last");
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), ["at another home", "last"]);
        assert_eq!(queue.counters().discarded, 2);
    });
}

#[test]
fn sem_g45_tasks_at_home_stay_at_home_in_a_queue_that_discards() {
    with_queue(2, |dispatcher, _| {
        let (queue, log) = (newest(&dispatcher, 1_000), Log::new());
        for n in 0..200 {
            let log = log.clone();
            go(&queue.home(n % 2), move || log.push((here(), n % 2)));
        }
        dispatcher.wait_idle();
        let seen = log.take();
        assert_eq!(seen.len(), 200);
        for (thread, home) in seen {
            assert_eq!(thread, format!("motet-{home}"));
        }
    });
}

#[test]
fn sem_g45_a_woken_task_is_never_discarded_and_takes_no_room() {
    with_queue(1, |dispatcher, _| {
        let (queue, log) = (newest(&dispatcher, 2), Log::new());
        let (bell, done) = (Bell::default(), log.clone());
        let rung = bell.rung();
        spawn(&queue.handle(), async move {
            rung.await;
            done.push(0);
        })
        .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        bell.ring();
        (1..=5).for_each(|n| note(&queue, &log, n));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(
            log.take(),
            [0, 4, 5],
            "in the order in which they were queued"
        );
    });
}

#[test]
fn sem_g37_a_queue_that_discards_is_first_in_first_out_too() {
    with_queue(1, |dispatcher, _| {
        let (queue, log) = (newest(&dispatcher, 10_000), Log::new());
        let (inner, inside) = (queue.clone(), log.clone());
        go(&queue, move || {
            (0..100).for_each(|n| note(&inner, &inside, n));
        });
        dispatcher.wait_idle();
        (100..200).for_each(|n| note(&queue, &log, n));
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..200).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g40_a_queue_that_discards_gives_back_what_never_started() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(2);
        let (queue, log) = (newest(&dispatcher, 3), Log::new());
        queue.suspend();
        (0..5).for_each(|n| note(&queue, &log, n));
        let rest = dispatcher.stop();
        assert_eq!(rest.len(), 3);
        rest.into_iter().for_each(Task::run);
        assert_eq!(log.take(), [2, 3, 4]);
        assert_eq!(queue.counters().pending(), 0);
    });
}

#[test]
fn ccr_101_a_rate_takes_what_comes_in_time_and_discards_what_comes_at_once() {
    with_queue(1, |dispatcher, _| {
        let rate = rate(10.0, 1);
        let queue = queue_with(
            &dispatcher,
            ExecutionPolicy::ConstrainSchedulingRateDiscardTasks { rate },
        );
        let ((discarded, _), log) = (told(&queue), Log::new());
        let mut certain = 0;
        for n in 0..4 {
            let before = Instant::now();
            note(&queue, &log, n);
            note(&queue, &log, n + 100);
            // Only a machine that stands still between them lets the second in.
            certain += usize::from(before.elapsed() < Duration::from_millis(50));
            let after = Instant::now();
            while after.elapsed() < Duration::from_millis(120) {
                thread::park_timeout(Duration::from_millis(120));
            }
        }
        dispatcher.wait_idle();
        let in_time: Vec<_> = log.take().into_iter().filter(|n| *n < 100).collect();
        assert_eq!(in_time, [0, 1, 2, 3]);
        let refused = discarded.take().len();
        assert!(refused >= certain, "{refused} of {certain}");
        assert_eq!(queue.counters().discarded, refused as u64);
    });
}

#[test]
fn sem_g46_a_burst_is_taken_at_once_and_no_more() {
    with_queue(1, |dispatcher, _| {
        let rate = rate(0.01, 3);
        let queue = queue_with(
            &dispatcher,
            ExecutionPolicy::ConstrainSchedulingRateDiscardTasks { rate },
        );
        let log = Log::new();
        (0..10).for_each(|n| note(&queue, &log, n));
        note(&queue.home(0), &log, 10);
        dispatcher.wait_idle();
        assert_eq!(log.take(), [0, 1, 2]);
        let counters = queue.counters();
        assert_eq!((counters.discarded, counters.pending()), (8, 0));
    });
}

#[test]
fn sem_g46_a_throttled_rate_hands_back_or_lets_wait() {
    with_queue(1, |dispatcher, _| {
        let rate = rate(200.0, 1);
        let queue = queue_with(
            &dispatcher,
            ExecutionPolicy::ConstrainSchedulingRateThrottleExecution { rate },
        );
        let (begun, log) = (Instant::now(), Log::new());
        for n in 0..5 {
            let log = log.clone();
            let task = Task::new(move || log.push(n));
            queue.enqueue_blocking(task).unwrap();
        }
        assert!(
            begun.elapsed() >= Duration::from_millis(20),
            "four intervals of 5 ms"
        );
        dispatcher.wait_idle();
        assert_eq!(log.take(), [0, 1, 2, 3, 4]);
        let slow = Rate::per_second(0.01).unwrap();
        let queue = queue_with(
            &dispatcher,
            ExecutionPolicy::ConstrainSchedulingRateThrottleExecution { rate: slow },
        );
        go(&queue, || ());
        let refused = queue.enqueue(Task::new(|| ())).unwrap_err();
        assert_eq!(refused.reason, QueueError::RateExceeded);
        assert!(refused.to_string().contains("limited rate"));
    });
}

#[test]
fn ccr_102_a_depth_of_zero_cannot_be_said() {
    assert!(NonZeroUsize::new(0).is_none());
    assert_eq!(
        QueueConfig::default().policy,
        ExecutionPolicy::Unconstrained
    );
    with_queue(1, |dispatcher, _| {
        let queue = queue_with(&dispatcher, ExecutionPolicy::RejectTasks { depth: 0 });
        assert_eq!(queue.reserve(), Err(QueueError::Full));
    });
}

#[test]
fn ccr_104_counters_tell_every_attempt_of_a_rate() {
    with_queue(1, |dispatcher, _| {
        let rate = rate(0.01, 1);
        let queue = queue_with(
            &dispatcher,
            ExecutionPolicy::ConstrainSchedulingRateDiscardTasks { rate },
        );
        (0..4).for_each(|_| go(&queue, || ()));
        dispatcher.wait_idle();
        let counters = queue.counters();
        assert_eq!((counters.scheduled, counters.refused), (4, 0));
        assert_eq!((counters.executed, counters.discarded), (1, 3));
    });
}

/// What can happen to a suspended queue, and to the plain model of it.
#[derive(Debug, Clone)]
enum Act {
    Post,
    PostHome,
    Wake,
    RunAll,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// A queue that discards behaves as a plain list that drops its front; one that rejects, as one
    /// that takes no more. Woken tasks are always taken.
    #[test]
    fn prop_a_policed_queue_is_a_list_with_a_limit(
        depth in 1..6_usize,
        discards in any::<bool>(),
        acts in prop::collection::vec(
            prop_oneof![
                4 => Just(Act::Post),
                2 => Just(Act::PostHome),
                2 => Just(Act::Wake),
                1 => Just(Act::RunAll),
            ],
            1..50,
        ),
    ) {
        within(patience(), move || {
            let dispatcher = Dispatcher::new(1);
            let queue = if discards {
                newest(&dispatcher, depth)
            } else {
                throttled(&dispatcher, depth)
            };
            let (log, mut model, mut ran) = (Log::new(), VecDeque::new(), Vec::new());
            let (mut discarded, mut refused) = (0, 0);
            queue.suspend();
            for (n, act) in acts.iter().enumerate() {
                let task = { let log = log.clone(); Task::new(move || log.push(n)) };
                let takes_room = |kept: &(usize, bool)| !kept.1;
                match act {
                    Act::RunAll => {
                        queue.resume();
                        dispatcher.wait_idle();
                        queue.suspend();
                        ran.extend(model.drain(..).map(|(n, _)| n));
                    }
                    Act::Wake => {
                        queue.readmit(task);
                        model.push_back((n, discards));
                    }
                    Act::Post | Act::PostHome => {
                        let taken = match act {
                            // Order between homes and the rest is promised by the store only.
                            Act::PostHome if discards => queue.home(0).enqueue(task),
                            _ => queue.enqueue(task),
                        };
                        let room = model.iter().filter(|kept| takes_room(kept)).count() < depth;
                        if !room && discards {
                            let oldest = model.iter().position(takes_room).unwrap();
                            model.remove(oldest);
                            discarded += 1;
                        }
                        refused += u64::from(taken.is_err());
                        assert_eq!(taken.is_ok(), room || discards);
                        if taken.is_ok() {
                            model.push_back((n, false));
                        }
                    }
                }
            }
            queue.resume();
            dispatcher.wait_idle();
            ran.extend(model.drain(..).map(|(n, _)| n));
            assert_eq!(log.take(), ran);
            let counters = queue.counters();
            assert_eq!((counters.discarded, counters.refused), (discarded, refused));
        });
    }
}
