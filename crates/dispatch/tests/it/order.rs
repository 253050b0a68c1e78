//! The order in which tasks run.

use crate::support::{go, hold, note, with_queue};
use motet_dispatch::DispatcherQueue;
use motet_sync::thread;
use motet_testkit::Log;

#[test]
fn sem_g18_one_thread_runs_what_one_poster_queued_in_order() {
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
fn sem_g18_one_thread_runs_what_its_own_tasks_queue_in_order() {
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
fn sem_g18_each_of_many_posters_keeps_its_order() {
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
fn sem_g18_home_tasks_run_in_order() {
    with_queue(2, |dispatcher, queue| {
        let (log, gate) = (Log::new(), hold(&queue.home(1)));
        (0..500).for_each(|n| note(&queue.home(1), &log, n));
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..500).collect::<Vec<_>>());
    });
}
