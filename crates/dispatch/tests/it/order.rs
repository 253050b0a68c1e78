//! The order in which tasks run.

use crate::support::{go, hold, note, with_queue};
use motet_dispatch::{Dispatcher, DispatcherQueue, QueueConfig};
use motet_sync::{Arc, thread};
use motet_testkit::{Log, patience, within};

#[test]
fn sem_g37_one_thread_runs_what_one_poster_queued_in_order() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let gate = hold(&queue);
        (0..1_000).for_each(|n| note(&queue, &log, n));
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..1_000).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g37_one_thread_runs_what_its_own_tasks_queue_in_order() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let (inner, seen) = (queue.clone(), log.clone());
        go(&queue, move || {
            (0..1_000).for_each(|n| note(&inner, &seen, n))
        });
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..1_000).collect::<Vec<_>>());
    });
}

#[test]
fn sem_g37_each_of_many_posters_keeps_its_order() {
    const POSTERS: usize = 3;
    const EACH: usize = 2_000;
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        // A fourth poster is the worker itself: chains that keep its own deque filled meanwhile.
        chain(&queue, &log, POSTERS, EACH);
        chain(&queue, &log, POSTERS + 1, EACH);
        let posters: Vec<_> = (0..POSTERS)
            .map(|poster| {
                let (queue, log) = (queue.clone(), log.clone());
                thread::spawn(move || (0..EACH).for_each(|n| note(&queue, &log, (poster, n))))
            })
            .collect();
        posters
            .into_iter()
            .for_each(|poster| poster.join().unwrap());
        dispatcher.wait_idle();
        let seen = log.take();
        for poster in 0..POSTERS + 2 {
            let order: Vec<_> = seen.iter().filter(|s| s.0 == poster).map(|s| s.1).collect();
            assert_eq!(order, (0..EACH).collect::<Vec<_>>(), "poster {poster}");
        }
    });
}

/// Tasks that each queue the next.
fn chain(queue: &DispatcherQueue, log: &Log<(usize, usize)>, name: usize, length: usize) {
    fn link(queue: DispatcherQueue, log: Log<(usize, usize)>, name: usize, at: usize, end: usize) {
        if at < end {
            log.push((name, at));
            go(&queue.clone(), move || link(queue, log, name, at + 1, end));
        }
    }
    let (inner, log) = (queue.clone(), log.clone());
    go(queue, move || link(inner, log, name, 0, length));
}

#[test]
fn sem_g37_home_tasks_run_in_order() {
    with_queue(2, |dispatcher, queue| {
        let (log, gate) = (Log::new(), hold(&queue.home(1)));
        (0..500).for_each(|n| note(&queue.home(1), &log, n));
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..500).collect::<Vec<_>>());
    });
}

/// The first tasks for a queue that the worker has not heard of go through the injector, the next
/// ones do not have to.
#[test]
fn sem_g37_a_queue_that_a_task_has_just_made_keeps_the_order() {
    within(patience(), || {
        let dispatcher = Arc::new(Dispatcher::new(1));
        let first = dispatcher.queue(QueueConfig::named("first"));
        let second = dispatcher.queue(QueueConfig::named("second"));
        let (log, made) = (Log::new(), Log::new());
        let gate = hold(&first);
        go(&first, {
            let (dispatcher, log, made) = (Arc::downgrade(&dispatcher), log.clone(), made.clone());
            move || {
                let dispatcher = dispatcher.upgrade().expect("the test holds it");
                let third = dispatcher.queue(QueueConfig::named("third"));
                (0..3).for_each(|n| note(&third, &log, n));
                made.push(third);
            }
        });
        go(&first, || ());
        go(&second, || ());
        go(&second, {
            let (log, made) = (log.clone(), made.clone());
            move || {
                let third = made.entries().pop().expect("made before");
                (3..6).for_each(|n| note(&third, &log, n));
            }
        });
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [0, 1, 2, 3, 4, 5]);
        drop(made.take());
    });
}
