//! Suspended queues.

use crate::support::{Bell, go, hold, note, with_queue};
use motet_dispatch::{Enqueue, QueueConfig, spawn};
use motet_sync::{Arc, thread};
use motet_testkit::Log;

#[test]
fn sem_g39_ccr_096_a_suspended_queue_takes_tasks_and_runs_them_later_in_order() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        queue.suspend();
        assert!(queue.is_suspended());
        (0..200).for_each(|n| note(&queue, &log, n));
        dispatcher.wait_idle();
        assert!(log.is_empty(), "nothing started");
        assert_eq!(queue.counters().pending(), 200);
        queue.resume();
        assert!(!queue.is_suspended());
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..200).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g39_suspend_and_resume_are_not_counted() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        queue.resume();
        queue.suspend();
        queue.suspend();
        note(&queue, &log, ());
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.len(), 1);
        assert!(!queue.is_suspended());
    });
}

/// What the worker has in its own places stays there too: its next task, its deque, its home.
#[test]
fn sem_g39_a_task_that_suspends_its_queue_is_the_last_to_run() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let (inner, seen) = (queue.clone(), log.clone());
        go(&queue, move || {
            (0..3).for_each(|n| note(&inner, &seen, n));
            note(&inner.home(0), &seen, 10);
            inner.suspend();
            seen.push(100);
        });
        log.wait_for(1);
        note(&queue, &log, 3);
        dispatcher.wait_idle();
        assert_eq!(log.take(), [100]);
        assert_eq!(queue.counters().pending(), 5);
        queue.resume();
        dispatcher.wait_idle();
        let seen = log.take();
        assert_eq!(seen.len(), 5);
        let own: Vec<_> = seen.into_iter().filter(|&n| n < 10).collect();
        assert_eq!(own, [0, 1, 2, 3]);
    });
}

#[test]
fn sem_g39_other_queues_of_the_dispatcher_go_on() {
    with_queue(2, |dispatcher, queue| {
        let other = dispatcher.queue(QueueConfig::named("other"));
        let log = Log::new();
        queue.suspend();
        for n in 0..100 {
            note(&queue, &log, ("suspended", n));
            note(&other, &log, ("other", n));
        }
        dispatcher.wait_idle();
        let seen = log.take();
        assert_eq!(seen.len(), 100);
        assert!(seen.iter().all(|s| s.0 == "other"));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.len(), 100);
    });
}

#[test]
fn sem_g39_home_tasks_wait_too() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        queue.suspend();
        for worker in [0, 1] {
            note(&queue.home(worker), &log, worker);
        }
        dispatcher.wait_idle();
        assert!(log.is_empty());
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), [0, 1]);
    });
}

#[test]
fn sem_g39_a_woken_task_is_polled_after_resume() {
    with_queue(1, |dispatcher, queue| {
        let (bell, log) = (Bell::default(), Log::new());
        let (rung, done) = (bell.rung(), log.clone());
        spawn(&queue.handle(), async move {
            rung.await;
            done.push(());
        })
        .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        bell.ring();
        dispatcher.wait_idle();
        assert!(log.is_empty());
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.len(), 1);
    });
}

#[test]
fn sem_g39_a_running_task_goes_on() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let gate = hold(&queue);
        note(&queue, &log, "after");
        queue.suspend();
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(queue.counters().executed, 1, "the one that was running");
        assert!(log.is_empty());
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.len(), 1);
    });
}

/// Resume against workers that fall asleep and posters that post: nothing is left behind.
#[test]
fn sem_g39_no_task_is_forgotten_when_suspend_and_resume_race_with_posts() {
    with_queue(2, |dispatcher, queue| {
        let log = Arc::new(Log::new());
        for round in 0..200 {
            let switch = {
                let queue = queue.clone();
                thread::spawn(move || {
                    queue.suspend();
                    queue.resume();
                })
            };
            (0..5).for_each(|_| note(&queue, &log, round));
            switch.join().unwrap();
            log.wait_for(5 * (round + 1));
        }
        dispatcher.wait_idle();
        assert_eq!(log.len(), 1_000);
    });
}
