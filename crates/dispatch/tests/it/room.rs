//! Those who wait for room in a queue.

use crate::policed::{queue_with, rate, some, throttled, told};
use crate::support::{go, hold, note, until, with_queue};
use motet_dispatch::{
    Dispatcher, Enqueue, EnqueueWait, ExecutionPolicy, QueueConfig, QueueError, Replay, Task, spawn,
};
use motet_sync::{Arc, thread};
use motet_testkit::{Gate, Log, patience, within};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

#[test]
fn ccr_099_a_full_throttling_queue_blocks_a_thread_outside_until_there_is_room() {
    with_queue(1, |dispatcher, _| {
        let (queue, log) = (throttled(&dispatcher, 2), Log::new());
        let gate = hold(&queue);
        note(&queue, &log, 1);
        note(&queue, &log, 2);
        let refused = queue.enqueue(Task::new(|| ())).unwrap_err();
        assert_eq!(
            refused.reason,
            QueueError::Full,
            "who does not wait is told"
        );
        let poster = {
            let (queue, log) = (queue.clone(), log.clone());
            thread::spawn(move || {
                let third = Task::new({
                    let log = log.clone();
                    move || log.push(3)
                });
                queue.enqueue_blocking(third).unwrap();
            })
        };
        until(|| queue.counters().throttled == 1);
        assert!(!poster.is_finished());
        gate.open();
        poster.join().unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [1, 2, 3]);
    });
}

#[test]
fn ccr_100_who_begins_to_wait_is_announced_once() {
    with_queue(1, |dispatcher, _| {
        let queue = throttled(&dispatcher, 1);
        let (_, announced) = told(&queue);
        let gate = hold(&queue);
        motet_sync::block_on(queue.enqueue_wait(Task::new(|| ()))).unwrap();
        assert!(announced.take().is_empty(), "there was room");
        let waiting = {
            let queue = queue.clone();
            thread::spawn(move || queue.enqueue_blocking(Task::new(|| ())).unwrap())
        };
        until(|| queue.counters().throttled == 1);
        gate.open();
        waiting.join().unwrap();
        dispatcher.wait_idle();
        assert_eq!(announced.take().len(), 1);
    });
}

#[test]
fn sem_g48_room_goes_first_come_first_served() {
    with_queue(1, |dispatcher, free| {
        let (queue, log) = (throttled(&dispatcher, 1), Log::new());
        queue.suspend();
        note(&queue, &log, 0);
        for n in 1..20 {
            let (queue, log) = (queue.clone(), log.clone());
            spawn(&free.handle(), async move {
                let task = Task::new(move || log.push(n));
                queue.enqueue_wait(task).await.unwrap();
            })
            .unwrap();
        }
        dispatcher.wait_idle();
        assert_eq!(queue.room().unwrap().waiters(), 19);
        assert_eq!(queue.reserve(), Err(QueueError::Full));
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take(), (0..20).collect::<Vec<_>>());
        assert_eq!(queue.counters().throttled, 19);
    });
}

#[test]
fn sem_g48_nobody_gets_ahead_of_those_who_wait() {
    with_queue(1, |dispatcher, _| {
        let queue = throttled(&dispatcher, 1);
        let gate = hold(&queue);
        go(&queue, || ());
        let line = queue.room().unwrap();
        let waiting = {
            let line = line.clone();
            thread::spawn(move || motet_sync::block_on(line.wait()).unwrap())
        };
        until(|| line.waiters() == 1);
        gate.open();
        let room = waiting.join().unwrap();
        assert_eq!(queue.reserve(), Err(QueueError::Full), "it is taken");
        drop(room);
        assert_eq!(queue.reserve(), Ok(()), "it was given up");
        queue.release();
    });
}

#[test]
fn sem_g48_a_wait_that_is_dropped_leaves_the_line_and_passes_room_on() {
    with_queue(1, |dispatcher, _| {
        let queue = throttled(&dispatcher, 1);
        queue.suspend();
        go(&queue, || ());
        let mut first = Box::pin(queue.enqueue_wait(Task::new(|| ())));
        let mut second = Box::pin(queue.enqueue_wait(Task::new(|| ())));
        let mut third = queue.enqueue_wait(Task::new(|| ()));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(first.as_mut().poll(&mut cx).is_pending());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(std::pin::Pin::new(&mut third).poll(&mut cx).is_pending());
        assert!(third.into_task().is_some(), "the task comes back");
        let line = queue.room().unwrap();
        assert_eq!(line.waiters(), 2);
        queue.resume();
        until(|| line.waiters() == 1);
        drop(first);
        until(|| second.as_mut().poll(&mut cx).is_ready());
        dispatcher.wait_idle();
        assert_eq!(queue.counters().executed, 2);
    });
}

#[test]
fn sem_g48_a_worker_of_the_same_dispatcher_is_not_blocked() {
    with_queue(1, |dispatcher, free| {
        let (queue, log) = (throttled(&dispatcher, 1), Log::new());
        let (inner, told) = (queue, log.clone());
        go(&free, move || {
            for _ in 0..2 {
                let outcome = inner.enqueue_blocking(Task::new(|| ()));
                told.push(outcome.map_err(|refused| refused.reason));
            }
            let home = inner.home(0).enqueue_blocking(Task::new(|| ()));
            told.push(home.map_err(|refused| refused.reason));
        });
        dispatcher.wait_idle();
        let refused = Err(QueueError::OnOwnWorker);
        assert_eq!(log.take(), [Ok(()), refused, refused]);
    });
}

#[test]
fn sem_g48_a_worker_of_another_dispatcher_may_block() {
    with_queue(1, |dispatcher, _| {
        let queue = throttled(&dispatcher, 1);
        let gate = hold(&queue);
        go(&queue, || ());
        let others = Dispatcher::new(1);
        let other = others.queue(QueueConfig::default());
        let (inner, done) = (queue.clone(), Gate::new());
        let passed = done.clone();
        go(&other, move || {
            inner.enqueue_blocking(Task::new(|| ())).unwrap();
            passed.pass();
        });
        until(|| queue.counters().throttled == 1);
        gate.open();
        done.wait_for(1);
        done.open();
        dispatcher.wait_idle();
        assert_eq!(queue.counters().executed, 3);
    });
}

#[test]
fn sem_g48_the_end_of_the_queue_ends_every_wait() {
    within(patience(), || {
        for policy in [
            ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth: some(1) },
            ExecutionPolicy::ConstrainSchedulingRateThrottleExecution {
                rate: rate(0.01, 1),
            },
        ] {
            let dispatcher = Dispatcher::new(1);
            let queue = queue_with(&dispatcher, policy);
            queue.suspend();
            go(&queue, || ());
            let waiting: Vec<_> = (0..2)
                .map(|_| {
                    let queue = queue.clone();
                    thread::spawn(move || queue.enqueue_blocking(Task::new(|| ())))
                })
                .collect();
            until(|| queue.room().unwrap().waiters() == 2);
            assert_eq!(dispatcher.stop().len(), 1);
            for thread in waiting {
                let refused = thread.join().unwrap().unwrap_err();
                assert_eq!(refused.reason, QueueError::Stopped);
            }
            let late = queue.enqueue_blocking(Task::new(|| ())).unwrap_err();
            assert_eq!(late.reason, QueueError::Stopped);
        }
    });
}

#[test]
fn sem_g48_many_who_wait_lose_nothing() {
    const POSTERS: usize = 6;
    const EACH: usize = 300;
    with_queue(2, |dispatcher, free| {
        let (queue, log) = (throttled(&dispatcher, 3), Log::new());
        for poster in 0..POSTERS {
            let (queue, log) = (queue.clone(), log.clone());
            let post = move |n| {
                let log = log.clone();
                Task::new(move || log.push((poster, n)))
            };
            if poster < 2 {
                thread::spawn(move || {
                    (0..EACH).for_each(|n| queue.enqueue_blocking(post(n)).unwrap());
                });
            } else {
                spawn(&free.handle(), async move {
                    for n in 0..EACH {
                        queue.enqueue_wait(post(n)).await.unwrap();
                    }
                })
                .unwrap();
            }
        }
        until(|| queue.counters().executed == (POSTERS * EACH) as u64);
        dispatcher.wait_idle();
        assert_eq!(log.take_sorted().len(), POSTERS * EACH);
        assert_eq!(queue.room().unwrap().waiters(), 0);
    });
}

/// Wakes nobody.
struct Broken;

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        panic!("a waker is broken");
    }
}

#[test]
fn sem_g34_sem_g48_a_waker_that_panics_takes_neither_the_worker_nor_the_task_in_its_hand() {
    with_queue(1, |dispatcher, free| {
        let (queue, log) = (throttled(&dispatcher, 1), Log::new());
        let told = Log::new();
        let exceptions = told.clone();
        queue.on_exception(move |e| exceptions.push(e.message().to_owned()));
        queue.suspend();
        note(&queue, &log, 0);
        let late = log.clone();
        let mut broken = queue.enqueue_wait(Task::new(move || late.push(1)));
        let waker = Waker::from(Arc::new(Broken));
        let mut poll = || Pin::new(&mut broken).poll(&mut Context::from_waker(&waker));
        assert!(poll().is_pending());
        queue.resume();
        told.wait_for(1);
        assert!(
            matches!(poll(), Poll::Ready(Ok(()))),
            "room has been granted"
        );
        dispatcher.wait_idle();
        note(&free, &log, 2);
        dispatcher.wait_idle();
        assert_eq!(log.take(), [0, 1, 2]);
        assert_eq!(told.take(), ["a waker is broken"]);
    });
}

/// A full queue, someone with a broken waker who waits for its room, and what the queue's handler
/// is told.
fn waited_for(queue: &impl Enqueue, told: &Log<String>) -> EnqueueWait {
    assert_eq!(queue.reserve(), Ok(()));
    let mut waits = queue.enqueue_wait(Task::new(|| ()));
    let waker = Waker::from(Arc::new(Broken));
    let poll = Pin::new(&mut waits).poll(&mut Context::from_waker(&waker));
    assert!(poll.is_pending() && told.is_empty());
    waits
}

/// Room that is given back in each way; nobody but the queue's handler hears of the waker.
fn give_back_room(queue: &impl Enqueue, told: &Log<String>) {
    let line = queue.room().unwrap();
    let waits = waited_for(queue, told);
    queue.release();
    assert_eq!(told.take(), ["a waker is broken"]);
    drop(waits);
    // It joins the line, has its room granted, and gives it up for another one.
    let first = waited_for(queue, told);
    let mut second = queue.enqueue_wait(Task::new(|| ()));
    let waker = Waker::from(Arc::new(Broken));
    assert!(
        Pin::new(&mut second)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    queue.release();
    assert_eq!(told.take(), ["a waker is broken"]);
    drop(first);
    assert_eq!(told.take(), ["a waker is broken"]);
    drop(second);
    // While another panic is under way.
    let room = motet_sync::block_on(line.wait()).unwrap();
    let mut last = queue.enqueue_wait(Task::new(|| ()));
    assert!(
        Pin::new(&mut last)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _room = room;
        panic!("another");
    }));
    assert_eq!(*unwound.unwrap_err().downcast::<&str>().unwrap(), "another");
    assert_eq!(told.take(), ["a waker is broken"]);
}

#[test]
fn sem_g34_sem_g49_who_gives_room_back_does_not_hear_of_a_waker_that_panics() {
    with_queue(1, |dispatcher, _| {
        let (queue, told) = (throttled(&dispatcher, 1), Log::new());
        let exceptions = told.clone();
        queue.on_exception(move |e| exceptions.push(e.message().to_owned()));
        give_back_room(&queue, &told);
    });
}

#[test]
fn sem_g34_sem_g49_nor_in_a_replay() {
    let (replay, told) = (Replay::new(1), Log::new());
    let queue = replay.queue(QueueConfig {
        policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth: some(1) },
        ..QueueConfig::named("narrow")
    });
    let exceptions = told.clone();
    queue.on_exception(move |e| exceptions.push(e.message().to_owned()));
    give_back_room(&queue, &told);
    // And when a task is taken.
    let mut waits = waited_for(&queue, &told);
    queue.admit(Task::new(|| ()));
    replay.run();
    assert_eq!(told.take(), ["a waker is broken"]);
    let waker = Waker::from(Arc::new(Broken));
    assert!(
        Pin::new(&mut waits)
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
    );
    replay.run();
    assert_eq!(queue.counters().executed, 2);
}

#[test]
fn sem_g34_sem_g48_a_waker_that_panics_keeps_the_end_from_nobody() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let (queue, told) = (throttled(&dispatcher, 1), Log::new());
        let exceptions = told.clone();
        queue.on_exception(move |e| exceptions.push(e.message().to_owned()));
        queue.suspend();
        go(&queue, || ());
        let mut broken = queue.enqueue_wait(Task::new(|| ()));
        let waker = Waker::from(Arc::new(Broken));
        let poll = Pin::new(&mut broken).poll(&mut Context::from_waker(&waker));
        assert!(poll.is_pending());
        let line = queue.room().unwrap();
        let waiting = {
            let line = line.clone();
            thread::spawn(move || motet_sync::block_on(line.wait()).map(drop))
        };
        until(|| line.waiters() == 2);
        assert_eq!(dispatcher.stop().len(), 1);
        assert_eq!(waiting.join().unwrap(), Err(QueueError::Stopped));
        assert_eq!(told.take(), ["a waker is broken"]);
    });
}
