//! Time at ports: behaviours 105 and 106, sleeping, deadlines.

use crate::support::{dispatcher, poll, post_all, take_all};
use motet_dispatch::{
    Dispatcher, Enqueue, QueueConfig, Replay, ReplayQueue, Task, Timescale, spawn,
};
use motet_ports::timer::{self, Deadline, Elapsed};
use motet_ports::{ExceptionPort, Port, Receive};
use motet_testkit::{Log, explore, patience, within};
use std::future::Future;
use std::pin::pin;
use std::task::Waker;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn replay() -> (Replay, ReplayQueue) {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("test"));
    (replay, queue)
}

fn start(queue: &impl Enqueue, future: impl Future<Output = ()> + Send + 'static) {
    spawn(&queue.handle(), future).expect("the queue is open and has room");
}

#[test]
fn ccr_105_sem_g54_enqueue_timer_follows_the_timescale() {
    let slow = || QueueConfig {
        timescale: Timescale::new(2.0),
        ..QueueConfig::named("slow")
    };
    let replay = Replay::new(1);
    let (queue, port, begun) = (replay.queue(slow()), Port::new(), replay.clock().now());
    timer::enqueue_timer(&queue, 100 * MS, &port);
    replay.run_for(199 * MS);
    assert_eq!(port.item_count(), 0);
    replay.run();
    assert_eq!(take_all(&port), [begun + 200 * MS]);
    within(patience(), move || {
        let dispatcher = Dispatcher::new(1);
        let (queue, log) = (dispatcher.queue(slow()), Log::new());
        let (told, begun) = (log.clone(), Instant::now());
        let port = timer::timeout_port(&queue, 10 * MS);
        Receive::once(&port, move |_| told.push(begun.elapsed()))
            .activate(&queue)
            .unwrap();
        log.wait_for(1);
        assert!(log.take()[0] >= 20 * MS);
    });
}

#[test]
fn ccr_106_sem_g51_a_timeout_port_gets_exactly_one_time() {
    let (replay, queue) = replay();
    let begun = replay.clock().now();
    let port = timer::timeout_port(&queue, 50 * MS);
    replay.run_for(HOUR);
    assert_eq!(take_all(&port), [begun + 50 * MS]);
    within(patience(), || {
        let (_dispatcher, queue) = dispatcher(1);
        let (port, log) = (timer::timeout_port(&queue, 5 * MS), Log::new());
        let told = log.clone();
        Receive::persistent(&port, move |_| told.push(()))
            .activate(&queue)
            .unwrap();
        log.wait_for(1);
        let (late, waited) = (Log::new(), timer::timeout_port(&queue, 20 * MS));
        let told = late.clone();
        Receive::once(&waited, move |_| told.push(()))
            .activate(&queue)
            .unwrap();
        late.wait_for(1);
        assert_eq!(log.len(), 1);
    });
}

#[test]
fn a_time_that_a_full_queue_refuses_stays_in_the_port() {
    let (replay, queue) = replay();
    let small = replay.queue(QueueConfig::bounded("small", 1));
    let port = Port::new();
    Receive::persistent(&port, |_| ()).activate(&small).unwrap();
    replay.run();
    small.suspend();
    small.enqueue(Task::new(|| ())).unwrap();
    timer::enqueue_timer(&queue, MS, &port);
    replay.run();
    assert_eq!(port.item_count(), 1);
}

#[test]
fn sem_g53_a_periodic_timer_posts_whole_periods_apart() {
    let (replay, queue) = replay();
    let (port, begun) = (Port::new(), replay.clock().now());
    let timer = timer::enqueue_periodic_timer(&queue, 7 * MS, &port);
    replay.run_for(29 * MS);
    assert!(timer.cancel());
    replay.run_for(HOUR);
    assert_eq!(take_all(&port), [7, 14, 21, 28].map(|ms| begun + ms * MS));
}

#[test]
fn sem_g58_sleepers_wake_in_the_order_of_their_times() {
    let (replay, queue) = replay();
    let log = Log::new();
    for hours in [5, 1, 3] {
        let log = log.clone();
        start(&queue, async move {
            timer::sleep(hours * HOUR).await;
            timer::sleep(hours * HOUR).await;
            log.push(hours);
        });
    }
    replay.run();
    assert_eq!((log.take(), replay.elapsed()), (vec![1, 3, 5], 10 * HOUR));
}

#[test]
fn sleep_works_on_a_dispatcher() {
    within(patience(), || {
        let (_dispatcher, queue) = dispatcher(1);
        let (log, begun) = (Log::new(), Instant::now());
        for ms in [4, 2] {
            let log = log.clone();
            start(&queue, async move {
                timer::sleep(ms * MS).await;
                log.push((ms, begun.elapsed()));
            });
        }
        log.wait_for(2);
        assert!(log.take().into_iter().all(|(ms, woke)| woke >= ms * MS));
    });
}

#[test]
fn sem_g52_a_sleep_that_is_dropped_holds_no_timer() {
    let (replay, queue) = replay();
    let never = Port::<()>::new();
    let wait = never.clone();
    start(&queue, async move {
        let _ = wait.recv().within(HOUR).within(MS).await;
        std::future::pending().await
    });
    replay.run();
    assert_eq!((replay.timers(), replay.elapsed()), (0, MS));
    assert_eq!(never.receiver_count(), 0);
}

#[test]
fn sem_g55_what_comes_in_time_is_taken_what_comes_late_stays() {
    let (replay, queue) = replay();
    let (port, log) = (Port::new(), Log::new());
    let (waited, told) = (port.clone(), log.clone());
    start(&queue, async move {
        for _ in 0..4 {
            told.push(waited.recv().within(10 * MS).await);
        }
    });
    for (ms, item) in [(5, 1), (26, 2), (60, 3)] {
        let port = port.clone();
        replay
            .clock()
            .after(ms * MS, move |_| port.post(item).unwrap());
    }
    replay.run();
    assert_eq!(log.take(), [Ok(1), Err(Elapsed), Err(Elapsed), Ok(2)]);
    assert_eq!(take_all(&port), [3]);
}

#[test]
fn sem_g55_an_item_meant_for_a_wait_that_is_dropped_goes_back() {
    let (port, waker) = (Port::new(), Waker::noop());
    let mut wait = port.recv().within(HOUR);
    assert!(poll(&mut wait, waker).is_pending());
    post_all(&port, [1, 2]);
    drop(wait);
    assert_eq!(take_all(&port), [1, 2]);
}

#[test]
fn sem_g55_what_is_there_when_both_have_come_is_taken() {
    for post_first in [true, false] {
        let (replay, queue) = replay();
        let (port, log) = (Port::new(), Log::new());
        let post = || {
            let port = port.clone();
            replay.clock().after(MS, move |_| port.post(7).unwrap());
        };
        let (waited, told) = (port.clone(), log.clone());
        start(&queue, async move {
            told.push(waited.recv().within(MS).await);
        });
        if post_first {
            post();
        }
        replay.step();
        if !post_first {
            post();
        }
        // Both times come before the task is polled again.
        replay.run();
        assert_eq!((log.take(), port.item_count()), (vec![Ok(7)], 0));
    }
}

#[test]
fn sem_g55_any_future_may_have_a_deadline() {
    let (replay, queue) = replay();
    let log = Log::new();
    let told = log.clone();
    start(&queue, async move {
        let long = pin!(async { timer::sleep(HOUR).await });
        told.push(long.within(MS).await.is_ok());
        let short = pin!(timer::sleep(MS));
        told.push(short.within(HOUR).await.is_ok());
        let port = Port::<()>::new();
        told.push(port.ready().within(MS).await.is_ok());
    });
    replay.run();
    assert_eq!(log.take(), [false, true, false]);
    assert_eq!(replay.elapsed(), 3 * MS);
}

#[test]
fn sem_g55_no_item_is_lost_between_a_deadline_and_a_post() {
    within(patience(), || {
        const ITEMS: usize = 2_000;
        let (_dispatcher, queue) = dispatcher(2);
        let (port, got) = (Port::new(), Log::new());
        let (waited, taken) = (port.clone(), got.clone());
        start(&queue, async move {
            while taken.len() < ITEMS {
                if let Ok(item) = waited.recv().within(Duration::from_micros(20)).await {
                    taken.push(item);
                }
            }
        });
        for item in 0..ITEMS {
            if item % 8 == 0 {
                std::thread::yield_now();
            }
            port.post(item).unwrap();
        }
        got.wait_for(ITEMS);
        assert_eq!(got.take_sorted(), (0..ITEMS).collect::<Vec<_>>());
        assert_eq!(port.item_count(), 0);
    });
}

#[test]
fn sem_g55_no_item_is_lost_whatever_the_order() {
    explore(0..300, |replay| {
        let queue = replay.queue(QueueConfig::default());
        let (port, got) = (Port::new(), Log::new());
        for _ in 0..3 {
            let (port, got) = (port.clone(), got.clone());
            start(&queue, async move {
                for _ in 0..4 {
                    if let Ok(item) = port.recv().within(2 * MS).await {
                        got.push(item);
                    }
                }
            });
        }
        for item in 0..8 {
            let port = port.clone();
            start(&queue, async move {
                timer::sleep(item * MS).await;
                port.post(item).unwrap();
            });
        }
        replay.run();
        let mut all = got.take();
        all.extend(take_all(&port));
        all.sort_unstable();
        assert_eq!(all, (0..8).collect::<Vec<_>>());
    });
}

#[test]
fn panics_of_a_replay_can_be_posted() {
    let (replay, queue) = replay();
    let (all, own) = (replay.exception_port(), Port::new());
    queue.enqueue(Task::new(|| panic!("one"))).unwrap();
    replay.run();
    let exceptions = queue.exception_port();
    Receive::persistent(&exceptions, {
        let own = own.clone();
        move |exception| own.post(exception.message().to_owned()).unwrap()
    })
    .activate(&queue)
    .unwrap();
    queue.enqueue(Task::new(|| panic!("two"))).unwrap();
    replay.run();
    assert_eq!(all.test().unwrap().message(), "one");
    assert_eq!(take_all(&own), ["two"]);
}
