//! How queues, and the places of a queue, take turns.

use crate::support::{go, hold, note, with_queue};
use motet_dispatch::{DispatcherQueue, Enqueue, QueueConfig};
use motet_testkit::{Gate, Log};

/// The longest stretch of `seen` that lacks `name`.
fn longest_without(seen: &[&str], name: &str) -> usize {
    seen.split(|&s| s == name)
        .map(<[_]>::len)
        .max()
        .unwrap_or(0)
}

#[test]
fn sem_g38_ccr_095_queues_of_one_worker_are_served_in_turn() {
    with_queue(1, |dispatcher, first| {
        let log = Log::new();
        let second = dispatcher.queue(QueueConfig::named("second"));
        let third = dispatcher.queue(QueueConfig::named("third"));
        let queues = [(&first, "first"), (&second, "second"), (&third, "third")];
        let gate = hold(&first);
        for (queue, name) in queues {
            (0..100).for_each(|_| note(queue, &log, name));
        }
        gate.open();
        dispatcher.wait_idle();
        let seen = log.take();
        assert_eq!(seen.len(), 300);
        for (round, three) in seen.chunks(3).enumerate() {
            let mut three = three.to_vec();
            three.sort_unstable();
            assert_eq!(three, ["first", "second", "third"], "round {round}");
        }
    });
}

/// A task that queues itself again until the gate is open.
fn circle(queue: &DispatcherQueue, log: &Log<&'static str>, name: &'static str, gate: &Gate) {
    let (inner, log, gate) = (queue.clone(), log.clone(), gate.clone());
    go(queue, move || {
        if !gate.is_open() {
            log.push(name);
            circle(&inner, &log, name, &gate);
        }
    });
}

#[test]
fn sem_g38_a_queue_that_fills_itself_does_not_hold_up_another() {
    with_queue(1, |dispatcher, busy| {
        let quiet = dispatcher.queue(QueueConfig::named("quiet"));
        let (log, end) = (Log::new(), Gate::new());
        let gate = hold(&busy);
        (0..3).for_each(|_| circle(&busy, &log, "busy", &end));
        (0..200).for_each(|_| note(&quiet, &log, "quiet"));
        go(&quiet, move || end.open());
        gate.open();
        dispatcher.wait_idle();
        let seen = log.take();
        assert!(longest_without(&seen, "quiet") <= 1, "{seen:?}");
    });
}

/// However many tasks the worker queues for itself, a task from outside starts after 61 of them.
#[test]
fn sem_g38_a_task_from_outside_waits_for_61_tasks_of_the_worker() {
    for chains in [1, 2, 5] {
        with_queue(1, move |dispatcher, queue| {
            let (log, end) = (Log::new(), Gate::new());
            (0..chains).for_each(|_| circle(&queue, &log, "own", &end));
            for round in 1..=20 {
                log.wait_for(log.len() + 10);
                let (stop, entered) = (Gate::new(), Gate::new());
                let (held, inside, seen) = (stop.clone(), entered.clone(), log.clone());
                // Holds the worker from within one of its own tasks, so that what comes now comes
                // in the middle of its work.
                go(&queue, move || {
                    seen.push("holds");
                    inside.open();
                    held.pass();
                });
                entered.pass();
                let before = log.len();
                let seen = log.clone();
                go(&queue, move || seen.push("outside"));
                stop.open();
                let outside = |seen: &[&str]| seen[before..].iter().position(|&s| s == "outside");
                let waited = loop {
                    log.wait_for(log.len() + 1);
                    if let Some(waited) = outside(&log.entries()) {
                        break waited;
                    }
                };
                assert!(waited <= 61, "round {round}, {chains} chains: {waited}");
            }
            end.open();
            dispatcher.wait_idle();
        });
    }
}

#[test]
fn sem_g38_tasks_at_home_and_the_other_tasks_of_a_worker_take_turns() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let (inner, seen) = (queue.clone(), log.clone());
        go(&queue, move || {
            (0..200).for_each(|_| note(&inner, &seen, "anywhere"));
            (0..200).for_each(|_| note(&inner.home(0), &seen, "home"));
        });
        dispatcher.wait_idle();
        let seen = log.take();
        assert_eq!(seen.len(), 400);
        assert!(longest_without(&seen, "home") <= 1, "{seen:?}");
        assert!(longest_without(&seen, "anywhere") <= 1, "{seen:?}");
    });
}

#[test]
fn sem_g38_home_tasks_that_never_end_hold_up_nobody() {
    fn circle_at_home(queue: &DispatcherQueue, log: &Log<&'static str>, gate: &Gate) {
        let (inner, log, gate) = (queue.clone(), log.clone(), gate.clone());
        go(&queue.home(0), move || {
            if !gate.is_open() {
                log.push("home");
                circle_at_home(&inner, &log, &gate);
            }
        });
    }
    with_queue(1, |dispatcher, queue| {
        let (log, end) = (Log::new(), Gate::new());
        let gate = hold(&queue);
        (0..3).for_each(|_| circle_at_home(&queue, &log, &end));
        (0..50).for_each(|_| note(&queue, &log, "outside"));
        go(&queue, move || end.open());
        gate.open();
        dispatcher.wait_idle();
        let seen = log.take();
        assert_eq!(seen.iter().filter(|&&s| s == "outside").count(), 50);
        assert!(longest_without(&seen, "outside") <= 61, "{seen:?}");
    });
}

/// Queues of several workers: none is forgotten while others are never empty.
#[test]
fn sem_g38_no_queue_starves_on_several_workers() {
    with_queue(2, |dispatcher, busy| {
        let (log, end) = (Log::new(), Gate::new());
        (0..6).for_each(|_| circle(&busy, &log, "busy", &end));
        let quiet: Vec<_> = (0..3)
            .map(|n| dispatcher.queue(QueueConfig::named(&format!("quiet {n}"))))
            .collect();
        let done = Log::new();
        for round in 1..=50 {
            quiet.iter().for_each(|queue| note(queue, &done, ()));
            done.wait_for(3 * round);
        }
        end.open();
        dispatcher.wait_idle();
        assert!(quiet.iter().all(|queue| queue.counters().executed == 50));
        assert_eq!(busy.name(), "test");
    });
}
