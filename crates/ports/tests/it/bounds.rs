//! Ports of limited capacity, and items that wait for room in queues.

use crate::refusals::{batching, joining};
use crate::support::{dispatcher, here, port_with, post_all};
use motet_dispatch::{
    Causality, Dispatcher, DispatcherQueue, Enqueue, ExecutionPolicy, ExecutionPolicyNotification,
    InsideTask, QueueConfig, QueueError, Task, spawn,
};
use motet_ports::{
    ExecutionPolicyNotificationPort, Overflow, Port, PortConfig, PostRefusal, Receive,
};
use motet_sync::thread;
use motet_testkit::{Gate, Log, patience, within};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

fn throttled(dispatcher: &Dispatcher, depth: usize) -> DispatcherQueue {
    let depth = NonZeroUsize::new(depth).unwrap();
    dispatcher.queue(QueueConfig {
        policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
        ..QueueConfig::named("throttled")
    })
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[test]
fn sem_g24_a_full_port_that_rejects_hands_the_item_back() {
    let port = Port::bounded(2, Overflow::Reject);
    post_all(&port, [1, 2]);
    let refused = port.post(3).unwrap_err();
    assert_eq!((refused.item, refused.reason), (3, PostRefusal::PortFull));
    let text = "item not posted: the port holds as many items as it may";
    assert_eq!(port.post(3).unwrap_err().to_string(), text);
    let waited = poll(&mut port.post_wait(4));
    let Poll::Ready(Err(refused)) = waited else {
        panic!("{waited:?}");
    };
    assert_eq!((refused.item, refused.reason), (4, PostRefusal::PortFull));
    assert_eq!(port.test(), Some(1));
    port.post(5).unwrap();
    assert_eq!((port.items(), port.dropped()), (vec![2, 5], 0));
}

#[test]
fn sem_g24_the_oldest_or_the_newest_goes_and_is_not_lost() {
    for (overflow, kept, gone) in [
        (Overflow::DropOldest, [4, 5], [1, 2, 3]),
        (Overflow::DropNewest, [1, 2], [3, 4, 5]),
    ] {
        let port = Port::bounded(2, overflow);
        let dropped = port.overflow_port();
        post_all(&port, 1..=5);
        assert_eq!((port.items(), port.dropped()), (kept.to_vec(), 3));
        assert_eq!(dropped.items(), gone);
        assert_eq!(dropped.id(), port.overflow_port().id());
    }
}

#[test]
fn sem_g24_sem_g60_a_dropped_item_keeps_its_causality() {
    let newest = Port::bounded(1, Overflow::DropOldest);
    let (dropped, log) = (newest.overflow_port(), Log::new());
    let seen = log.clone();
    Receive::persistent(&dropped, move |n: u32| {
        let active = Causality::active();
        seen.push((n, active.iter().map(|it| it.name().to_owned()).collect()));
    })
    .activate(&here())
    .unwrap();
    Causality::new("one").run(|| post_all(&newest, [1]));
    Causality::new("two").run(|| post_all(&newest, [2]));
    assert_eq!(log.take(), [(1, vec!["one".to_owned()])]);
}

#[test]
fn sem_g24_what_nobody_asks_for_is_dropped_outside_the_lock() {
    struct Looks(Port<Looks>, Log<usize>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.1.push(self.0.item_count());
        }
    }
    let (port, seen) = (Port::bounded(1, Overflow::DropOldest), Log::new());
    for _ in 0..3 {
        let item = Looks(port.clone(), seen.clone());
        assert!(port.post(item).is_ok());
    }
    assert_eq!(seen.take(), [1, 1]);
    assert_eq!(port.clear(), 1);
}

#[test]
fn sem_g24_a_receiver_sees_what_a_full_port_would_not_take() {
    let port = Port::bounded(1, Overflow::Reject);
    port.post(1).unwrap();
    let log = Log::new();
    let even = log.clone();
    Receive::persistent(&port, move |n: u32| even.push(n))
        .when(|n| n.is_multiple_of(2))
        .activate(&here())
        .unwrap();
    post_all(&port, [2, 4]);
    assert_eq!(port.post(3).unwrap_err().item, 3);
    assert_eq!((log.take(), port.items()), (vec![2, 4], vec![1]));
}

#[test]
fn sem_g24_what_is_put_back_is_always_taken() {
    let port = Port::bounded(1, Overflow::Reject);
    port.post(1).unwrap();
    port.put_back(0).unwrap();
    assert_eq!((port.items(), port.capacity()), (vec![0, 1], Some(1)));
    assert_eq!(port.test(), Some(0));
    assert!(port.post(2).is_err(), "it is still full");
}

#[test]
fn sem_g24_a_capacity_of_zero_is_an_error_that_says_so() {
    let zero = std::panic::catch_unwind(|| Port::<u32>::bounded(0, Overflow::Reject));
    let text = *zero.unwrap_err().downcast::<&str>().unwrap();
    assert!(text.contains("capacity 0"), "{text}");
    assert_eq!(Port::<u32>::with(PortConfig::default()).capacity(), None);
}

#[test]
fn sem_g25_whoever_waits_is_let_in_by_every_way_of_taking() {
    type Take = fn(&Port<u32>);
    let ways: [(&str, Take); 6] = [
        ("test", |port| assert_eq!(port.test(), Some(1))),
        ("test_multiple", |port| {
            assert_eq!(port.test_multiple(1), Some(vec![1]));
        }),
        ("clear", |port| assert_eq!(port.clear(), 2)),
        ("a receive", |port| {
            drop(Receive::once(port, drop).activate(&here()).unwrap());
        }),
        ("a batch", |port| {
            drop(batching(port, 2).0.activate(&here()).unwrap());
        }),
        ("a join", |port| {
            drop(joining(&port_with([10]), port).0.activate(&here()).unwrap());
        }),
    ];
    for (way, take) in ways {
        let port = Port::bounded(2, Overflow::Wait);
        post_all(&port, [1, 2]);
        let mut waits = port.post_wait(3);
        assert!(poll(&mut waits).is_pending());
        assert_eq!(
            port.post(4).unwrap_err().reason,
            PostRefusal::PortFull,
            "nobody gets ahead"
        );
        take(&port);
        assert_eq!(port.items().last(), Some(&3), "{way}");
        assert!(poll(&mut waits).is_ready());
    }
}

#[test]
fn sem_g25_a_join_on_another_port_lets_posters_in() {
    let (p, q) = (Port::bounded(1, Overflow::Wait), Port::new());
    let (join, pairs) = joining(&p, &q);
    join.activate(&here()).unwrap();
    p.post(1).unwrap();
    let mut waits = p.post_wait(2);
    assert!(poll(&mut waits).is_pending());
    post_all(&q, [11, 12]);
    assert!(poll(&mut waits).is_ready());
    assert_eq!(pairs.take(), [(1, 11), (2, 12)]);
}

#[test]
fn sem_g25_posters_are_let_in_first_come_first_served() {
    let port = Port::bounded(1, Overflow::Wait);
    port.post(0).unwrap();
    let queue = here();
    for n in 1..10 {
        let port = port.clone();
        spawn(&queue.handle(), async move {
            port.post_wait(n).await.unwrap();
        })
        .unwrap();
    }
    let all: Vec<_> = std::iter::from_fn(|| port.test()).collect();
    assert_eq!(all, (0..10).collect::<Vec<_>>());
}

#[test]
fn sem_g25_a_persistent_receive_empties_the_line_too() {
    let port = Port::bounded(2, Overflow::Wait);
    post_all(&port, [0, 1]);
    let mut waits: Vec<_> = (2..6).map(|n| port.post_wait(n)).collect();
    waits
        .iter_mut()
        .for_each(|wait| assert!(poll(wait).is_pending()));
    let log = Log::new();
    let handled = log.clone();
    Receive::persistent(&port, move |n| handled.push(n))
        .activate(&here())
        .unwrap();
    assert_eq!(log.take(), [0, 1, 2, 3, 4, 5]);
    waits
        .iter_mut()
        .for_each(|wait| assert!(poll(wait).is_ready()));
}

#[test]
fn sem_g25_a_wait_that_is_given_up_gives_the_item_back() {
    let port = Port::bounded(1, Overflow::Wait);
    port.post(1).unwrap();
    let (mut first, mut second) = (port.post_wait(2), port.post_wait(3));
    let mut third = port.post_wait(4);
    for wait in [&mut first, &mut second, &mut third] {
        assert!(poll(wait).is_pending());
    }
    assert_eq!(first.into_item(), Some(2));
    drop(second);
    assert_eq!(port.test(), Some(1));
    assert_eq!(port.items(), [4]);
    assert_eq!(third.into_item(), None, "it has been posted");
    assert_eq!(port.post_wait(5).into_item(), Some(5), "never begun");
}

#[test]
fn sem_g25_a_thread_outside_may_block_and_a_task_may_not() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let port = Port::bounded(1, Overflow::Wait);
        port.post(1).unwrap();
        let (inner, log) = (port.clone(), Log::new());
        let told = log.clone();
        let work = Task::new(move || told.push(inner.post_blocking(2).unwrap_err().reason));
        queue.enqueue(work).unwrap();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [PostRefusal::InsideTask(InsideTask)]);
        let poster = {
            let port = port.clone();
            thread::spawn(move || port.post_blocking(3).unwrap())
        };
        assert_eq!(port.test(), Some(1));
        poster.join().unwrap();
        assert_eq!(port.test(), Some(3));
    });
}

#[test]
fn sem_g25_many_posters_and_takers_lose_nothing() {
    const POSTERS: u32 = 4;
    const EACH: u32 = 500;
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (port, log) = (Port::bounded(3, Overflow::Wait), Log::new());
        for poster in 0..POSTERS {
            let port = port.clone();
            if poster == 0 {
                thread::spawn(move || {
                    (0..EACH).for_each(|n| port.post_blocking((poster, n)).unwrap());
                });
                continue;
            }
            let posts = async move {
                for n in 0..EACH {
                    port.post_wait((poster, n)).await.unwrap();
                }
            };
            spawn(&queue.handle(), posts).unwrap();
        }
        for _ in 0..(POSTERS * EACH) {
            until(|| port.test().inspect(|item| log.push(*item)).is_some());
        }
        dispatcher.wait_idle();
        let all = log.take();
        for poster in 0..POSTERS {
            let own = all
                .iter()
                .filter(|item| item.0 == poster)
                .map(|item| item.1);
            assert_eq!(own.collect::<Vec<_>>(), (0..EACH).collect::<Vec<_>>());
        }
        assert_eq!(port.test(), None);
    });
}

#[test]
fn sem_g48_post_wait_waits_for_the_queue_of_the_receiver() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let (queue, free) = (
            throttled(&dispatcher, 2),
            dispatcher.queue(QueueConfig::default()),
        );
        let (port, log, gate) = (Port::new(), Log::new(), Gate::new());
        let (handled, pass) = (log.clone(), gate.clone());
        Receive::persistent(&port, move |n: u32| {
            pass.pass();
            handled.push(n);
        })
        .activate(&queue)
        .unwrap();
        dispatcher.wait_idle();
        port.post(0).unwrap();
        gate.wait_for(1);
        post_all(&port, [1, 2]);
        let refused = port.post(9).unwrap_err().reason;
        assert_eq!(refused, PostRefusal::Queue(QueueError::Full));
        let posts = {
            let port = port.clone();
            async move {
                for n in 3..50 {
                    port.post_wait(n).await.unwrap();
                }
            }
        };
        spawn(&free.handle(), posts).unwrap();
        let other = {
            let port = port.clone();
            thread::spawn(move || port.post_blocking(100).unwrap())
        };
        until(|| queue.counters().throttled >= 1);
        gate.open();
        other.join().unwrap();
        dispatcher.wait_idle();
        let all: Vec<_> = log.take().into_iter().filter(|n| *n < 100).collect();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
        assert_eq!(port.item_count(), 0);
    });
}

#[test]
fn sem_g23_items_that_found_no_room_are_offered_again() {
    within(patience(), || {
        for depth in [1, 2, 5] {
            let dispatcher = Dispatcher::new(2);
            let queue = dispatcher.queue(QueueConfig::bounded("narrow", depth));
            let (port, log) = (port_with(0..100), Log::new());
            let handled = log.clone();
            let active = Receive::persistent(&port, move |n: u32| handled.push(n))
                .activate(&queue)
                .unwrap();
            until(|| log.len() == 100);
            dispatcher.wait_idle();
            assert_eq!(log.take_sorted(), (0..100).collect::<Vec<_>>());
            assert!(active.is_active());
            assert_eq!(queue.room().unwrap().waiters(), 0);
            assert_eq!(queue.reserve(), Ok(()), "no room was lost");
            queue.release();
        }
    });
}

#[test]
fn sem_g23_a_receiver_that_is_gone_is_not_fed() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("narrow", 1));
        let (port, log, gate) = (port_with(0..10), Log::new(), Gate::new());
        let (handled, pass) = (log.clone(), gate.clone());
        let active = Receive::persistent(&port, move |n: u32| {
            pass.pass();
            handled.push(n);
        })
        .activate(&queue)
        .unwrap();
        gate.wait_for(1);
        active.cleanup();
        gate.open();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [0]);
        assert_eq!(port.items(), (1..10).collect::<Vec<_>>());
        assert_eq!(
            queue.reserve(),
            Ok(()),
            "the room that was granted is given up"
        );
        queue.release();
    });
}

#[test]
fn sem_g23_what_comes_back_to_a_full_queue_is_offered_again() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::bounded("narrow", 1));
        let others = Dispatcher::new(1);
        let other = others.queue(QueueConfig::default());
        let (port, log) = (Port::new(), Log::new());
        Receive::once(&port, drop).activate(&other).unwrap();
        others.wait_idle();
        other.suspend();
        port.post(1).unwrap();
        let handled = log.clone();
        Receive::persistent(&port, move |n: u32| handled.push(n))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        queue.enqueue(Task::new(|| ())).unwrap();
        others.stop().into_iter().for_each(Task::cleanup);
        assert_eq!(port.items(), [1], "its receiver has no room");
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!((log.take(), port.item_count()), (vec![1], 0));
    });
}

#[test]
fn sem_g45_a_registration_is_not_discarded() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig {
            policy: ExecutionPolicy::ConstrainQueueDepthDiscardTasks {
                depth: NonZeroUsize::MIN,
            },
            ..QueueConfig::named("newest")
        });
        let (port, log) = (Port::new(), Log::new());
        let discarded = queue.execution_policy_notification_port();
        queue.suspend();
        let handled = log.clone();
        Receive::persistent(&port, move |n: u32| handled.push(n))
            .activate(&queue)
            .unwrap();
        (0..3).for_each(|_| queue.enqueue(Task::new(|| ())).unwrap());
        queue.resume();
        dispatcher.wait_idle();
        queue.suspend();
        assert_eq!(discarded.clear(), 2);
        post_all(&port, 0..5);
        assert_eq!(discarded.item_count(), 4, "tasks, with their items in them");
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [4]);
        let told = discarded.test_multiple(4).unwrap();
        for told in told {
            match told {
                ExecutionPolicyNotification::Discarded(task) => task.run(),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(log.take(), [0, 1, 2, 3]);
    });
}

/// What happens to a port.
#[derive(Debug, Clone)]
enum Act {
    Post,
    Wait,
    GiveUp,
    Test,
    PutBack,
    Clear,
}

/// What an offered item comes to.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Posted,
    Waits,
    HandedBack,
}

/// A list with a limit, and a second list of those who wait.
struct Model {
    capacity: usize,
    overflow: Overflow,
    items: VecDeque<usize>,
    line: VecDeque<usize>,
    dropped: u64,
}

impl Model {
    fn post(&mut self, n: usize, may_wait: bool) -> Fate {
        let is_full = self.items.len() >= self.capacity || !self.line.is_empty();
        match self.overflow {
            _ if !is_full => self.items.push_back(n),
            Overflow::DropOldest => {
                self.items.pop_front();
                self.items.push_back(n);
                self.dropped += 1;
            }
            Overflow::DropNewest => self.dropped += 1,
            Overflow::Wait if may_wait => {
                self.line.push_back(n);
                return Fate::Waits;
            }
            _ => return Fate::HandedBack,
        }
        Fate::Posted
    }

    fn let_in(&mut self) {
        while self.items.len() < self.capacity
            && let Some(n) = self.line.pop_front()
        {
            self.items.push_back(n);
        }
    }
}

fn fate(outcome: &Poll<Result<(), motet_ports::PostError<usize>>>) -> Fate {
    match outcome {
        Poll::Pending => Fate::Waits,
        Poll::Ready(Ok(())) => Fate::Posted,
        Poll::Ready(Err(_)) => Fate::HandedBack,
    }
}

/// Does the same with a port and its model.
fn play(mut model: Model, acts: &[Act]) {
    let port = Port::bounded(model.capacity, model.overflow);
    let mut waits = Vec::new();
    for (n, act) in acts.iter().enumerate() {
        match act {
            Act::Post => {
                let outcome = Poll::Ready(port.post(n));
                assert_eq!(fate(&outcome), model.post(n, false));
            }
            Act::Wait => {
                let mut wait = port.post_wait(n);
                assert_eq!(fate(&poll(&mut wait)), model.post(n, true));
                waits.push((n, wait));
            }
            Act::GiveUp => {
                if let Some((n, wait)) = waits.pop() {
                    let waited = model.line.contains(&n);
                    assert_eq!(wait.into_item(), waited.then_some(n));
                    model.line.retain(|other| *other != n);
                }
            }
            Act::Test => assert_eq!(port.test(), model.items.pop_front()),
            Act::PutBack => {
                port.put_back(n).unwrap();
                model.items.push_front(n);
            }
            Act::Clear => {
                assert_eq!(port.clear(), model.items.len());
                model.items.clear();
            }
        }
        model.let_in();
        assert_eq!(port.items(), Vec::from(model.items.clone()));
        assert_eq!(port.dropped(), model.dropped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn prop_a_bounded_port_is_a_list_with_a_limit(
        capacity in 1..4_usize,
        overflow in prop_oneof![
            Just(Overflow::Reject),
            Just(Overflow::DropOldest),
            Just(Overflow::DropNewest),
            Just(Overflow::Wait),
        ],
        acts in prop::collection::vec(
            prop_oneof![
                4 => Just(Act::Post),
                3 => Just(Act::Wait),
                1 => Just(Act::GiveUp),
                3 => Just(Act::Test),
                1 => Just(Act::PutBack),
                1 => Just(Act::Clear),
            ],
            1..60,
        ),
    ) {
        let (items, line) = (VecDeque::new(), VecDeque::new());
        play(Model { capacity, overflow, items, line, dropped: 0 }, &acts);
    }
}
