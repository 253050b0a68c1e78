//! Bounds and counters of a queue.

use crate::support::{Bell, go, hold, note, with_queue};
use motet_dispatch::{
    Direct, Dispatcher, DispatcherQueue, Enqueue, QueueConfig, QueueError, Task, keep_handle,
    spawn, take_handle,
};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Arc, thread};
use motet_testkit::{Drops, Log, patience, within};

fn bounded(dispatcher: &Dispatcher, depth: usize) -> DispatcherQueue {
    dispatcher.queue(QueueConfig::bounded("bounded", depth))
}

#[test]
fn sem_g35_a_full_queue_hands_the_task_back_as_it_was() {
    with_queue(1, |dispatcher, _| {
        let queue = bounded(&dispatcher, 2);
        let log = Log::new();
        queue.suspend();
        note(&queue, &log, 1);
        note(&queue, &log, 2);
        let third = {
            let log = log.clone();
            Task::new(move || log.push(3))
        };
        let refused = queue.enqueue(third).unwrap_err();
        assert_eq!(refused.reason, QueueError::Full);
        assert_eq!(
            refused.to_string(),
            "task not queued: the dispatcher queue is full"
        );
        refused.task.run();
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [3, 1, 2]);
        note(&queue, &log, 4);
        dispatcher.wait_idle();
        assert_eq!(log.take(), [4], "there is room again");
    });
}

#[test]
fn sem_g35_a_task_that_runs_takes_no_room() {
    with_queue(1, |dispatcher, _| {
        let queue = bounded(&dispatcher, 1);
        let gate = hold(&queue);
        go(&queue, || ());
        assert!(queue.enqueue(Task::new(|| ())).is_err());
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(queue.counters().executed, 2);
    });
}

#[test]
fn sem_g35_a_queue_of_depth_zero_takes_nothing() {
    with_queue(1, |dispatcher, _| {
        let queue = bounded(&dispatcher, 0);
        assert_eq!(queue.reserve(), Err(QueueError::Full));
        assert_eq!(queue.home(0).reserve(), Err(QueueError::Full));
        assert_eq!(queue.counters().refused, 2);
    });
}

#[test]
fn sem_g35_homes_share_the_room_of_their_queue() {
    with_queue(2, |dispatcher, _| {
        let queue = bounded(&dispatcher, 3);
        let log = Log::new();
        queue.suspend();
        note(&queue, &log, 0);
        note(&queue.home(0), &log, 1);
        note(&queue.home(1), &log, 2);
        assert_eq!(queue.reserve(), Err(QueueError::Full));
        assert_eq!(queue.home(1).reserve(), Err(QueueError::Full));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted(), [0, 1, 2]);
        assert_eq!(queue.reserve(), Ok(()));
    });
}

#[test]
fn sem_g35_many_posters_together_get_exactly_the_depth() {
    const POSTERS: usize = 4;
    const EACH: usize = 200;
    const DEPTH: usize = 100;
    with_queue(2, |dispatcher, _| {
        let queue = bounded(&dispatcher, DEPTH);
        queue.suspend();
        let posters: Vec<_> = (0..POSTERS)
            .map(|_| {
                let queue = queue.clone();
                let post = move || queue.enqueue(Task::new(|| ())).is_ok();
                thread::spawn(move || (0..EACH).filter(|_| post()).count())
            })
            .collect();
        let taken: usize = posters
            .into_iter()
            .map(|poster| poster.join().unwrap())
            .sum();
        assert_eq!(taken, DEPTH);
        let counters = queue.counters();
        assert_eq!(counters.scheduled, DEPTH as u64);
        assert_eq!(counters.refused, (POSTERS * EACH - DEPTH) as u64);
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(queue.counters().executed, DEPTH as u64);
    });
}

#[test]
fn sem_g35_a_woken_task_is_not_refused_by_a_full_queue() {
    with_queue(1, |dispatcher, _| {
        let queue = bounded(&dispatcher, 1);
        let (bell, log) = (Bell::default(), Log::new());
        let (rung, done) = (bell.rung(), log.clone());
        spawn(&queue.handle(), async move {
            rung.await;
            done.push("woken");
        })
        .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        note(&queue, &log, "queued");
        bell.ring();
        assert_eq!(queue.reserve(), Err(QueueError::Full));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["queued", "woken"]);
        queue.suspend();
        note(&queue, &log, "again");
        assert_eq!(
            queue.reserve(),
            Err(QueueError::Full),
            "no room was gained or lost"
        );
    });
}

#[test]
fn sem_g35_a_refused_future_is_in_the_task_that_comes_back() {
    with_queue(1, |dispatcher, _| {
        let queue = bounded(&dispatcher, 0);
        let drops = Drops::new();
        let value = drops.make();
        let refused = spawn(&queue.handle(), async move { drop(value) }).unwrap_err();
        assert_eq!(drops.dropped(), 0);
        drop(refused.task);
        assert_eq!(drops.dropped(), 1);
    });
}

#[test]
fn ccr_104_counters_tell_every_attempt() {
    with_queue(1, |dispatcher, _| {
        let queue = bounded(&dispatcher, 1);
        queue.suspend();
        for _ in 0..4 {
            drop(queue.enqueue(Task::new(|| ())));
        }
        let counters = queue.counters();
        assert_eq!((counters.scheduled, counters.refused), (1, 3));
        assert_eq!((counters.executed, counters.pending()), (0, 1));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(
            (queue.counters().executed, queue.counters().pending()),
            (1, 0)
        );
    });
}

#[test]
fn counters_count_wakes_and_every_place() {
    with_queue(2, |dispatcher, queue| {
        let bell = Bell::default();
        let rung = bell.rung();
        spawn(&queue.handle(), rung).unwrap();
        dispatcher.wait_idle();
        bell.wake_in_vain();
        dispatcher.wait_idle();
        assert_eq!(queue.counters().scheduled, 2, "spawned, woken");
        bell.ring();
        go(&queue.home(1), || ());
        let inner = queue.clone();
        go(&queue, move || {
            go(&inner, || ());
            go(&inner.home(0), || ());
        });
        dispatcher.wait_idle();
        let counters = queue.counters();
        assert_eq!(counters.scheduled, 7);
        assert_eq!((counters.executed, counters.pending()), (7, 0));
    });
}

#[test]
fn counters_never_show_more_executed_than_scheduled() {
    with_queue(2, |dispatcher, queue| {
        let stop = Arc::new(AtomicBool::new(false));
        let watcher = {
            let (stop, queue) = (Arc::clone(&stop), queue.clone());
            thread::spawn(move || {
                while !stop.load(Ordering::Acquire) {
                    let counters = queue.counters();
                    assert!(counters.executed <= counters.scheduled, "{counters:?}");
                }
            })
        };
        for _ in 0..5_000 {
            go(&queue, || ());
        }
        dispatcher.wait_idle();
        stop.store(true, Ordering::Release);
        watcher.join().unwrap();
        assert_eq!(queue.counters().pending(), 0);
    });
}

#[test]
fn ccr_103_a_stopped_queue_refuses_and_says_why() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::named("test"));
        assert!(dispatcher.stop().is_empty());
        let refused = queue.enqueue(Task::new(|| ())).unwrap_err();
        assert_eq!(refused.reason, QueueError::Stopped);
        assert_eq!(queue.home(0).reserve(), Err(QueueError::Stopped));
        let counters = queue.counters();
        assert_eq!((counters.scheduled, counters.refused), (0, 2));
    });
}

#[test]
fn a_worker_keeps_references_until_it_is_told_or_rests() {
    with_queue(1, |dispatcher, queue| {
        let (value, counts) = (Arc::new(0_u32), Log::new());
        let count = |add: fn(&Arc<u32>)| {
            let (value, counts) = (Arc::clone(&value), counts.clone());
            Task::new(move || {
                add(&value);
                counts.push(Arc::strong_count(&value));
            })
        };
        let gate = hold(&queue);
        let told = Direct::of(&queue.handle()).expect("a queue without a limit");
        // Each task holds one reference of its own, as do those behind it.
        let tasks = [
            count(|value| keep_handle(Arc::clone(value))),
            count(|value| keep_handle(take_handle(value))),
            Task::new(move || told.let_go()),
            count(|_| ()),
            count(|value| keep_handle(Arc::clone(value))),
        ];
        for task in tasks {
            queue.enqueue(task).unwrap();
        }
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(counts.take(), [1 + 4 + 1, 1 + 3 + 1, 1 + 2, 1 + 1 + 1]);
        assert_eq!(Arc::strong_count(&value), 1, "the worker rests");
    });
}
