//! Async tasks: their life, their wakers, their end.

use crate::support::{Bell, go, here, hold, note, until, with_queue};
use motet_dispatch::{Dispatcher, Enqueue, Inline, QueueConfig, spawn, spawn_here};
use motet_sync::{Arc, thread};
use motet_testkit::{Drops, Log};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Starts a future that keeps a value and waits for the bell.
fn start_waiting(queue: &impl Enqueue, bell: &Bell, drops: &Drops) {
    let (rung, value) = (bell.rung(), drops.make());
    spawn(&queue.handle(), async move {
        rung.await;
        drop(value);
    })
    .unwrap();
}

#[test]
fn a_future_is_polled_once_per_wake_up_and_ends() {
    with_queue(2, |dispatcher, queue| {
        let (bell, log) = (Bell::default(), Log::new());
        let (mut rung, polls) = (Box::pin(bell.rung()), log.clone());
        let future = std::future::poll_fn(move |cx| {
            polls.push(());
            rung.as_mut().poll(cx)
        });
        spawn(&queue.handle(), future).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.len(), 1);
        for polls in 2..10 {
            bell.wake_in_vain();
            dispatcher.wait_idle();
            assert_eq!(log.len(), polls);
        }
        bell.ring();
        dispatcher.wait_idle();
        assert_eq!(log.len(), 10);
        bell.ring();
        dispatcher.wait_idle();
        assert_eq!(log.len(), 10, "it has ended");
    });
}

#[test]
fn wake_ups_before_the_poll_count_as_one() {
    with_queue(1, |dispatcher, queue| {
        let (bell, drops) = (Bell::default(), Drops::new());
        start_waiting(&queue, &bell, &drops);
        dispatcher.wait_idle();
        let gate = hold(&queue);
        (0..10).for_each(|_| bell.wake_in_vain());
        assert_eq!(queue.counters().pending(), 1);
        bell.ring();
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 1);
        assert_eq!(queue.counters().executed, 3);
    });
}

#[test]
fn a_future_that_nobody_can_wake_is_dropped() {
    with_queue(2, |dispatcher, queue| {
        let (bell, drops) = (Bell::default(), Drops::new());
        (0..10).for_each(|_| start_waiting(&queue, &bell, &drops));
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 0);
        bell.abandon();
        dispatcher.wait_idle();
        assert_eq!((drops.made(), drops.dropped()), (10, 10));
        // One that leaves no waker at all.
        let value = drops.make();
        spawn(&queue.handle(), async move {
            let _value = value;
            std::future::pending::<()>().await;
        })
        .unwrap();
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 11);
    });
}

#[test]
fn a_waker_that_outlives_its_future_does_nothing() {
    with_queue(1, |dispatcher, queue| {
        let kept: Log<Waker> = Log::new();
        let keep = kept.clone();
        let future = std::future::poll_fn(move |cx| {
            keep.push(cx.waker().clone());
            Poll::Ready(())
        });
        spawn(&queue.handle(), future).unwrap();
        dispatcher.wait_idle();
        drop((dispatcher, queue));
        for waker in kept.take() {
            waker.wake_by_ref();
            waker.wake();
        }
    });
}

#[test]
fn many_wait_and_hold_no_worker() {
    const MANY: usize = 20_000;
    with_queue(1, |dispatcher, queue| {
        let (bell, drops) = (Bell::default(), Drops::new());
        let wakers = Log::new();
        for _ in 0..MANY {
            let (wakers, value) = (wakers.clone(), drops.make());
            let mut first = true;
            let future = std::future::poll_fn(move |cx| {
                let _value = &value;
                if std::mem::take(&mut first) {
                    wakers.push(cx.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(())
            });
            spawn(&queue.handle(), future).unwrap();
        }
        start_waiting(&queue, &bell, &drops);
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 0);
        let log = Log::new();
        note(&queue, &log, "the worker is free");
        log.wait_for(1);
        wakers.take().into_iter().for_each(Waker::wake);
        bell.ring();
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), MANY + 1);
    });
}

#[test]
fn spawn_here_polls_first_in_the_task_that_runs() {
    with_queue(2, |dispatcher, queue| {
        let (bell, log) = (Bell::default(), Log::new());
        let (inner, seen, rung) = (queue.clone(), log.clone(), bell.rung());
        go(&queue, move || {
            let first = seen.clone();
            spawn_here(&inner.handle(), async move {
                first.push("polled");
                rung.await;
                first.push("woken");
            });
            seen.push("returned");
        });
        dispatcher.wait_idle();
        bell.ring();
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["polled", "returned", "woken"]);
    });
}

#[test]
fn spawn_here_passes_a_panic_of_the_first_poll_on() {
    with_queue(1, |dispatcher, queue| {
        let (log, drops) = (Log::new(), Drops::new());
        let (inner, value, told) = (queue.clone(), drops.make(), log.clone());
        queue.on_exception(move |e| told.push(e.message().to_owned()));
        go(&queue, move || {
            spawn_here(&inner.handle(), async move {
                let _value = value;
                panic!("first poll");
            });
        });
        dispatcher.wait_idle();
        assert_eq!(log.take(), ["first poll"]);
        assert_eq!(drops.dropped(), 1);
    });
}

/// A future made for one dispatcher's queue goes on there, whoever polls it first.
#[test]
fn spawn_here_for_another_dispatcher_goes_on_there() {
    with_queue(1, |dispatcher, queue| {
        let other = Dispatcher::with(motet_dispatch::DispatcherConfig {
            threads: 1,
            name: "other".to_owned(),
            ..motet_dispatch::DispatcherConfig::default()
        })
        .unwrap();
        let there = other.queue(QueueConfig::named("there"));
        let (bell, log) = (Bell::default(), Log::new());
        let (seen, rung, handle) = (log.clone(), bell.rung(), there.handle());
        go(&queue, move || {
            spawn_here(&handle, async move {
                seen.push(here());
                rung.await;
                seen.push(here());
            });
        });
        dispatcher.wait_idle();
        bell.ring();
        other.wait_idle();
        assert_eq!(log.take(), ["motet-0", "other-0"]);
    });
}

/// Wakers that are cloned, woken and dropped by several threads while the task runs.
#[test]
fn wakers_of_many_threads_at_once() {
    with_queue(2, |dispatcher, queue| {
        for _ in 0..100 {
            let (bell, drops) = (Bell::default(), Drops::new());
            (0..4).for_each(|_| start_waiting(&queue, &bell, &drops));
            let threads: Vec<_> = (0..3)
                .map(|n| {
                    let bell = bell.clone();
                    thread::spawn(move || {
                        (0..20).for_each(|_| bell.wake_in_vain());
                        if n == 0 { bell.ring() } else { bell.abandon() }
                    })
                })
                .collect();
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
            bell.ring();
            until(|| drops.dropped() == 4);
        }
        dispatcher.wait_idle();
        assert_eq!(queue.counters().pending(), 0);
    });
}

/// A future that holds its own queue, and a dispatcher that ends: nobody keeps the other alive.
#[test]
fn a_waiting_future_and_its_queue_do_not_keep_each_other() {
    with_queue(1, |dispatcher, queue| {
        let (wakers, alive) = (Log::new(), Arc::new(()));
        let (kept, own, held) = (wakers.clone(), queue.clone(), Arc::clone(&alive));
        let mut first = true;
        let future = std::future::poll_fn(move |cx| {
            let _keeps = (&own, &held);
            if std::mem::take(&mut first) {
                kept.push(cx.waker().clone());
            }
            Poll::Pending
        });
        spawn(&queue.handle(), future).unwrap();
        dispatcher.wait_idle();
        drop((dispatcher, queue));
        assert_eq!(Arc::strong_count(&alive), 2, "it waits");
        drop(wakers.take());
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn a_future_dropped_by_inline_within_a_poll_is_dropped_after_it() {
    let (inline, bell, drops) = (Inline::new("here"), Bell::default(), Drops::new());
    start_waiting(&inline, &bell, &drops);
    let (seen, log) = (drops.clone(), Log::new());
    let dropped = log.clone();
    go(&inline, move || {
        bell.abandon();
        dropped.push(seen.dropped());
    });
    assert_eq!(log.take(), [0]);
    assert_eq!(drops.dropped(), 1);
}

/// Ends at once, and panics when it is dropped.
struct BadEnd;

impl Future for BadEnd {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl Drop for BadEnd {
    fn drop(&mut self) {
        panic!("a bad end");
    }
}

#[test]
fn a_future_that_panics_as_it_is_dropped_leaves_nothing_behind() {
    let (inline, told) = (Inline::new("here"), Log::new());
    let log = told.clone();
    inline.on_exception(move |exception| log.push(exception.message().to_owned()));
    let queue = inline.handle();
    let before = Arc::strong_count(&queue);
    spawn(&queue, BadEnd).unwrap();
    assert_eq!(told.take(), ["a bad end"]);
    assert_eq!(Arc::strong_count(&queue), before, "its task is gone");
}
