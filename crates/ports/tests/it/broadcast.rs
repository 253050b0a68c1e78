//! Broadcast ports: who gets which item, and what a full subscriber does.

use crate::support::{here, in_parallel, on_dispatchers, poll, take_all};
use motet_dispatch::{Enqueue, ExecutionPolicy, QueueConfig, QueueError, spawn};
use motet_ports::{Broadcast, BroadcastPort, Overflow, Port, PostRefusal, Receive, wait_blocking};
use motet_testkit::{Drops, Log, explore};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Wake, Waker};

fn post_each(broadcast: &BroadcastPort<u32>, items: impl IntoIterator<Item = u32>) {
    items
        .into_iter()
        .for_each(|item| assert!(broadcast.post(item).is_complete()));
}

#[test]
fn sem_g30_each_subscriber_gets_each_item_posted_after_it_subscribed() {
    let broadcast = BroadcastPort::new();
    post_each(&broadcast, [1]);
    let first = broadcast.subscribe(10, Overflow::Reject);
    post_each(&broadcast, [2]);
    let second = broadcast.subscribe(10, Overflow::Reject);
    post_each(&broadcast, [3]);
    assert_eq!((take_all(&first), take_all(&second)), (vec![2, 3], vec![3]));
    drop(first);
    assert_eq!(broadcast.subscriber_count(), 1);
    post_each(&broadcast, [4]);
    assert_eq!(wait_blocking(second.recv()), Ok(4));
    drop(broadcast);
    assert_eq!((second.test(), second.missed()), (None, 0));
}

/// A waker that panics.
struct Breaks;

impl Wake for Breaks {
    fn wake(self: Arc<Self>) {
        panic!("the waker breaks");
    }
}

#[test]
fn sem_g537_a_waker_that_panics_keeps_no_item_from_the_other_subscribers() {
    let broadcast = BroadcastPort::new();
    let [first, second] = [(); 2].map(|()| broadcast.subscribe(10, Overflow::Reject));
    let mut recv = first.recv();
    assert!(poll(&mut recv, &Waker::from(Arc::new(Breaks))).is_pending());
    let posted = catch_unwind(AssertUnwindSafe(|| broadcast.post(1)));
    assert!(posted.is_err(), "the poster is told");
    assert_eq!(second.test(), Some(1));
    drop(recv);
    assert_eq!(first.test(), Some(1));
}

#[test]
fn sem_g537_a_waker_that_panics_leaves_no_other_subscriber_open() {
    let broadcast = BroadcastPort::<u32>::new();
    let [first, second] = [(); 2].map(|()| broadcast.subscribe(10, Overflow::Reject));
    let mut recv = first.recv().or_closed();
    assert!(poll(&mut recv, &Waker::from(Arc::new(Breaks))).is_pending());
    let closed = catch_unwind(AssertUnwindSafe(|| broadcast.close()));
    assert!(closed.is_err(), "who closes is told");
    assert!(first.is_closed() && second.is_closed());
}

#[test]
fn sem_g537_a_waker_that_panics_keeps_no_item_that_may_wait_from_the_others() {
    let broadcast = BroadcastPort::new();
    let [first, second] = [(); 2].map(|()| broadcast.subscribe(1, Overflow::Wait));
    let mut recv = first.recv();
    assert!(poll(&mut recv, &Waker::from(Arc::new(Breaks))).is_pending());
    second.post(1).unwrap();
    // The second has no room yet: the panic comes when all have the item.
    let mut posts = Box::pin(broadcast.post_wait(2));
    assert!(poll(&mut posts, Waker::noop()).is_pending());
    assert_eq!(second.test(), Some(1));
    let posted = catch_unwind(AssertUnwindSafe(|| poll(&mut posts, Waker::noop())));
    assert!(posted.is_err(), "the poster is told");
    assert_eq!(second.test(), Some(2));
    drop(recv);
    assert_eq!(first.test(), Some(2));
}

#[test]
fn sem_g30_the_last_subscriber_gets_the_item_itself() {
    let (broadcast, drops) = (BroadcastPort::new(), Drops::new());
    let subscriptions: Vec<_> = (0..3)
        .map(|_| broadcast.subscribe(1, Overflow::Reject))
        .collect();
    let posted = broadcast.post(Arc::new(drops.make()));
    assert_eq!((posted.subscribers, posted.refused), (3, 0));
    let items: Vec<_> = subscriptions.iter().filter_map(|s| s.test()).collect();
    assert_eq!(Arc::strong_count(&items[0]), 3);
    drop(items);
    assert_eq!(drops.dropped(), 1);
    drop(subscriptions);
    let posted = broadcast.post(Arc::new(drops.make()));
    assert_eq!((posted.subscribers, drops.dropped()), (0, 2));
}

#[test]
fn sem_g31_a_full_subscriber_does_as_its_policy_says_and_counts_what_it_missed() {
    let broadcast = BroadcastPort::new();
    let all = broadcast.subscribe(100, Overflow::Reject);
    let oldest = broadcast.subscribe(2, Overflow::DropOldest);
    let newest = broadcast.subscribe(2, Overflow::DropNewest);
    let dropped = newest.overflow_port();
    post_each(&broadcast, 1..=5);
    assert_eq!(
        (take_all(&oldest), take_all(&newest)),
        (vec![4, 5], vec![1, 2])
    );
    assert_eq!((oldest.missed(), newest.missed()), (3, 3));
    assert_eq!((all.item_count(), dropped.items()), (5, vec![3, 4, 5]));
    let rejects = broadcast.subscribe(1, Overflow::Reject);
    let waits = broadcast.subscribe(1, Overflow::Wait);
    post_each(&broadcast, [6]);
    let full = Broadcast {
        subscribers: 5,
        refused: 2,
        reason: Some(PostRefusal::PortFull),
    };
    assert_eq!(broadcast.post(7), full);
    assert_eq!((rejects.missed(), waits.missed(), all.missed()), (1, 1, 0));
    assert_eq!((rejects.items(), waits.items()), (vec![6], vec![6]));
}

#[test]
fn sem_g31_a_subscriber_whose_receiver_has_a_full_queue_refuses() {
    on_dispatchers(1, |dispatcher, _| {
        let depth = 1.try_into().unwrap();
        let queue = dispatcher.queue(QueueConfig {
            policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
            ..QueueConfig::named("narrow")
        });
        let (broadcast, log) = (BroadcastPort::new(), Log::new());
        let subscription = broadcast.subscribe(9, Overflow::Reject);
        let told = log.clone();
        Receive::persistent(&subscription, move |n: u32| told.push(n))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_each(&broadcast, [1]);
        let refused = broadcast.post(2);
        let reason = PostRefusal::Queue(QueueError::Full);
        assert_eq!((refused.refused, refused.reason), (1, Some(reason)));
        assert_eq!(subscription.missed(), 1);
        queue.resume();
        dispatcher.wait_idle();
        assert_eq!(log.take(), [1]);
    });
}

#[test]
fn sem_g31_a_poster_that_waits_loses_nothing() {
    explore(0..50, |replay| {
        let queue = replay.queue(QueueConfig::named("any order"));
        let (broadcast, log) = (BroadcastPort::new(), Log::new());
        for capacity in [1, 3] {
            let subscription = broadcast.subscribe(capacity, Overflow::Wait);
            let told = log.clone();
            let reads = async move {
                for n in 0..20 {
                    assert_eq!(subscription.recv().await, n, "in order");
                }
                told.push(subscription.missed());
            };
            spawn(&queue.handle(), reads).unwrap();
        }
        let poster = async move {
            for n in 0..20 {
                assert!(broadcast.post_wait(n).await.is_complete());
            }
        };
        spawn(&queue.handle(), poster).unwrap();
        replay.run();
        assert_eq!(log.take(), [0, 0]);
    });
}

#[test]
fn sem_g31_a_poster_does_not_wait_for_a_subscriber_that_is_gone() {
    explore(0..10, |replay| {
        let queue = replay.queue(QueueConfig::named("any order"));
        let (broadcast, log) = (BroadcastPort::new(), Log::new());
        let slow = broadcast.subscribe(1, Overflow::Wait);
        let other = broadcast.subscribe(3, Overflow::Wait);
        let (kept, told) = (Port::clone(&slow), log.clone());
        let poster = async move {
            for n in 0..3 {
                assert!(broadcast.post_wait(n).await.is_complete());
            }
            told.push("posted");
        };
        spawn(&queue.handle(), poster).unwrap();
        replay.run();
        assert!(log.is_empty());
        drop(slow);
        replay.run();
        assert_eq!((log.take(), other.items()), (vec!["posted"], vec![0, 1, 2]));
        // Who has a handle of the port takes what is left.
        assert_eq!((kept.test(), kept.is_closed()), (Some(0), false));
    });
}

#[test]
fn sem_g30_items_of_one_poster_keep_their_order() {
    on_dispatchers(5, |dispatcher, queue| {
        let broadcast = BroadcastPort::new();
        let logs: Vec<Log<(u32, u32)>> = (0..3).map(|_| Log::new()).collect();
        let subscriptions: Vec<_> = logs
            .iter()
            .map(|log| {
                let subscription = broadcast.subscribe(10_000, Overflow::Reject);
                let (log, port) = (log.clone(), Port::clone(&subscription));
                let reads = async move {
                    loop {
                        log.push(port.recv().await);
                    }
                };
                spawn(&queue.handle(), reads).unwrap();
                subscription
            })
            .collect();
        in_parallel(2, move |poster| {
            for n in 0..200 {
                assert!(broadcast.post((poster as u32, n)).is_complete());
            }
        });
        dispatcher.wait_idle();
        for log in logs {
            let all = log.take();
            for poster in 0..2 {
                let of = all.iter().filter(|(by, _)| *by == poster);
                assert!(of.map(|(_, n)| *n).eq(0..200));
            }
        }
        drop(subscriptions);
    });
}

#[test]
fn handlers_may_post_and_subscribe_inside_a_post() {
    let (broadcast, log) = (BroadcastPort::new(), Log::new());
    let subscription = broadcast.subscribe(4, Overflow::Reject);
    let (again, told) = (broadcast.clone(), log.clone());
    Receive::persistent(&subscription, move |n: u32| {
        told.push(n);
        drop(again.subscribe(1, Overflow::Reject));
        if n < 3 {
            assert!(again.post(n + 1).is_complete());
        }
    })
    .activate(&here())
    .unwrap();
    post_each(&broadcast, [1]);
    assert_eq!(log.take(), [1, 2, 3]);
}
