//! Every task runs, on whichever worker has nothing to do.

use crate::support::{Bell, go, here, hold, note, with_queue};
use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, QueueConfig, spawn};
use motet_sync::{Mutex, thread};
use motet_testkit::{Gate, Log, patience, within};
use std::sync::Arc;

/// A task queues many and blocks: the others run elsewhere. Its own next task is the exception.
#[test]
fn sem_g43_a_worker_in_a_long_task_does_not_keep_its_share() {
    with_queue(2, |dispatcher, queue| {
        let (log, gate) = (Log::new(), Gate::new());
        let (inner, seen, held) = (queue.clone(), log.clone(), gate.clone());
        go(&queue, move || {
            note(&inner, &seen, 0);
            (1..100).for_each(|n| note(&inner, &seen, n));
            held.pass();
        });
        gate.wait_for(1);
        log.wait_for(99);
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), (0..100).collect::<Vec<_>>());
    });
}

/// A batch from outside that one worker has fetched does not wait for that worker's long task.
#[test]
fn sem_g43_a_batch_that_was_fetched_does_not_wait_for_a_long_task() {
    for _ in 0..50 {
        with_queue(2, |dispatcher, queue| {
            let (log, gate) = (Log::new(), Gate::new());
            queue.suspend();
            let held = gate.clone();
            go(&queue, move || held.pass());
            (1..40).for_each(|n| note(&queue, &log, n));
            queue.resume();
            log.wait_for(39);
            gate.open();
            dispatcher.wait_idle();
            assert_eq!(log.take_sorted(), (1..40).collect::<Vec<_>>());
        });
    }
}

/// Two workers: the one robbed last is remembered, and must not be the robber itself; work moves
/// again and again.
#[test]
fn sem_g43_with_two_workers_work_moves_more_than_once() {
    with_queue(2, |dispatcher, queue| {
        for round in 0..200 {
            let (log, gate) = (Log::new(), Gate::new());
            let (inner, seen, held) = (queue.clone(), log.clone(), gate.clone());
            go(&queue.home(round % 2), move || {
                (0..4).for_each(|n| note(&inner, &seen, n));
                held.pass();
            });
            // Three of the four are in sight of the other worker.
            log.wait_for(3);
            gate.open();
            log.wait_for(4);
        }
        dispatcher.wait_idle();
    });
}

/// Tasks that wait for each other must all run at the same time, on all workers.
#[test]
fn sem_g43_all_workers_wake_for_a_burst() {
    for workers in [2, 3, 5] {
        with_queue(workers, move |dispatcher, queue| {
            for _ in 0..50 {
                let met = Log::new();
                for _ in 0..workers {
                    let met = met.clone();
                    go(&queue, move || {
                        met.push(());
                        met.wait_for(workers);
                    });
                }
                met.wait_for(workers);
                dispatcher.wait_idle();
            }
        });
    }
}

/// The same, queued by a worker.
#[test]
fn sem_g43_all_workers_wake_for_a_burst_of_one_of_them() {
    with_queue(3, |dispatcher, queue| {
        for _ in 0..100 {
            let met = Log::new();
            let (inner, meeting) = (queue.clone(), met.clone());
            go(&queue, move || {
                for _ in 0..3 {
                    let met = meeting.clone();
                    go(&inner, move || {
                        met.push(());
                        met.wait_for(3);
                    });
                }
            });
            met.wait_for(3);
            dispatcher.wait_idle();
        }
    });
}

/// One task at a time, from outside, to workers that have just fallen asleep or are about to.
#[test]
fn sem_g43_no_wake_up_is_lost() {
    for workers in [1, 2, 4] {
        with_queue(workers, move |dispatcher, queue| {
            let log = Log::new();
            for n in 0..2_000 {
                let place = queue.home(n % workers);
                if n % 3 == 0 {
                    note(&place, &log, ());
                } else {
                    note(&queue, &log, ());
                }
                log.wait_for(n + 1);
                (0..n % 17 * 40).for_each(|_| motet_sync::spin_loop());
            }
            dispatcher.wait_idle();
            assert_eq!(queue.counters().executed, 2_000);
        });
    }
}

/// Two dispatchers hand a ball to and fro: each wakes the other's worker.
#[test]
fn sem_g43_dispatchers_wake_each_other() {
    fn pass(to: DispatcherQueue, back: DispatcherQueue, left: u32, done: Log<u32>) {
        if left == 0 {
            return done.push(left);
        }
        go(&to.clone(), move || pass(back, to, left - 1, done));
    }
    within(patience(), || {
        let dispatchers = [Dispatcher::new(1), Dispatcher::new(2)];
        let [here, there] = [0, 1].map(|d| dispatchers[d].queue(QueueConfig::default()));
        let done = Log::new();
        pass(here, there, 5_000, done.clone());
        done.wait_for(1);
    });
}

/// Three chains of tasks here and one there become two and two: chains keep their workers busy, so
/// nobody would steal.
#[test]
fn sem_g43_chains_are_balanced() {
    type Places = Arc<Mutex<[String; 4]>>;
    fn step(queue: DispatcherQueue, chain: usize, places: Places, even: Gate) {
        if even.is_open() {
            return;
        }
        {
            let mut places = places.lock();
            places[chain] = here();
            let first = places.iter().filter(|&place| place == "motet-0").count();
            let second = places.iter().filter(|&place| place == "motet-1").count();
            if (first, second) == (2, 2) {
                even.open();
            }
        }
        go(&queue.clone(), move || step(queue, chain, places, even));
    }
    with_queue(2, |dispatcher, queue| {
        let (places, even) = (Places::default(), Gate::new());
        let gates = [0, 1].map(|worker| hold(&queue.home(worker)));
        for chain in 0..4 {
            let (inner, places, even) = (queue.clone(), Arc::clone(&places), even.clone());
            let worker = usize::from(chain == 3);
            go(&queue.home(worker), move || {
                step(inner, chain, places, even)
            });
        }
        gates.iter().for_each(Gate::open);
        even.pass();
        dispatcher.wait_idle();
    });
}

/// Wakers from other threads, each at some moment of the task's life.
#[test]
fn sem_g43_a_wake_up_from_another_thread_is_never_lost() {
    with_queue(2, |dispatcher, queue| {
        let log = Log::new();
        for round in 1..=500 {
            let bell = Bell::default();
            let (rung, done) = (bell.rung(), log.clone());
            let place = match round % 3 {
                0 => queue.handle(),
                n => queue.home(n - 1).handle(),
            };
            let ringer = thread::spawn(move || bell.ring());
            spawn(&place, async move {
                rung.await;
                done.push(());
            })
            .unwrap();
            ringer.join().unwrap();
            log.wait_for(round);
        }
        dispatcher.wait_idle();
    });
}
