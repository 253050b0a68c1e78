//! Models of choices and selects: who wins, and that nobody stays behind on a port.

use crate::loom_ports::{Keeper, Wakes, post_elsewhere};
use crate::{Choice, JoinedReceive, Port, Receive, Select, select};
use motet_dispatch::{QueueConfig, Replay, Task};
use motet_sync::thread;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn poll(wait: &mut Select<u32>, waker: &Waker) -> Poll<u32> {
    Pin::new(wait).poll(&mut Context::from_waker(waker))
}

fn once(port: &Port<u32>) -> Receive<u32> {
    Receive::once(port, |_| ())
}

/// Registers a choice between two ports.
fn choose(a: &Port<u32>, b: &Port<u32>) -> Keeper {
    let queue = Keeper::default();
    Choice::new()
        .or(once(a))
        .or(once(b))
        .activate(&queue)
        .unwrap();
    queue
}

/// What waits and who is registered.
fn left(ports: &[&Port<u32>]) -> (usize, usize) {
    let items = ports.iter().map(|port| port.item_count()).sum();
    (items, ports.iter().map(|port| port.receiver_count()).sum())
}

/// Items come to both branches at once: one is taken, the other stays, nobody is registered.
#[test]
fn loom_two_posts_against_a_choice() {
    loom::model(|| {
        let (a, b) = (Port::new(), Port::new());
        let queue = choose(&a, &b);
        queue.run();
        let poster = post_elsewhere(&a, 1);
        b.post(2).unwrap();
        poster.join().unwrap();
        assert_eq!(left(&[&a, &b]), (1, 0));
        assert_eq!(queue.run(), 1);
    });
}

/// An item comes to the first branch while the second is being registered: the second does not
/// stay.
#[test]
fn loom_a_post_against_the_registration_of_a_choice() {
    loom::model(|| {
        let (a, b) = (Port::new(), Port::new());
        let queue = choose(&a, &b);
        let poster = post_elsewhere(&a, 1);
        queue.run();
        poster.join().unwrap();
        assert_eq!(left(&[&a, &b]), (0, 0));
        queue.run();
    });
}

/// A choice is cleaned up while an item comes: it is taken, or it stays.
#[test]
fn loom_a_post_against_the_cleanup_of_a_choice() {
    loom::model(|| {
        let (a, b, queue) = (Port::new(), Port::new(), Keeper::default());
        let choice = Choice::new().or(once(&a)).or(once(&b));
        let active = choice.activate(&queue).unwrap();
        queue.run();
        let poster = post_elsewhere(&a, 1);
        active.cleanup();
        poster.join().unwrap();
        assert_eq!(left(&[&a, &b]), (1 - queue.run(), 0));
    });
}

/// The second item of a join and one for a plain branch come at once.
#[test]
fn loom_a_choice_over_a_join_against_a_plain_branch() {
    loom::model(|| {
        let (p, q, plain, queue) = (Port::new(), Port::new(), Port::new(), Keeper::default());
        Choice::new()
            .or(JoinedReceive::once((&p, &q), |(_, _): (u32, u32)| ()))
            .or(once(&plain))
            .activate(&queue)
            .unwrap();
        queue.run();
        p.post(1).unwrap();
        let poster = post_elsewhere(&q, 2);
        plain.post(3).unwrap();
        poster.join().unwrap();
        let (joined, receivers) = left(&[&p, &q]);
        // All or nothing, and exactly one of the two.
        assert_eq!(
            (joined, plain.item_count()),
            if joined == 0 { (0, 1) } else { (2, 0) }
        );
        assert_eq!((receivers, plain.receiver_count(), queue.run()), (0, 0, 1));
    });
}

/// A select is dropped while an item comes: it stays in its port, or comes back.
#[test]
fn loom_a_post_against_the_end_of_a_select() {
    loom::model(|| {
        let (a, b) = (Port::new(), Port::new());
        let (_, waker) = Wakes::new();
        let mut wait = select().recv(&a, |n| n).recv(&b, |n| n);
        assert!(poll(&mut wait, &waker).is_pending());
        let poster = post_elsewhere(&a, 7);
        drop(wait);
        poster.join().unwrap();
        assert_eq!(a.test(), Some(7));
        assert_eq!(left(&[&a, &b]), (0, 0));
    });
}

/// Items come to both ports while a select begins to wait: it has one, or is woken; the other
/// stays.
#[test]
fn loom_two_posts_against_the_begin_of_a_select() {
    loom::model(|| {
        let (a, b) = (Port::new(), Port::new());
        let (wakes, waker) = Wakes::new();
        let mut wait = select().recv(&a, |n| n).recv(&b, |n| n);
        let poster = post_elsewhere(&a, 1);
        let mut seen = poll(&mut wait, &waker);
        b.post(2).unwrap();
        poster.join().unwrap();
        if seen.is_pending() {
            assert_eq!(wakes.count(), 1);
            seen = poll(&mut wait, &waker);
        }
        let Poll::Ready(taken) = seen else {
            unreachable!("an item is there")
        };
        assert_eq!(left(&[&a, &b]), (1, 0));
        assert_eq!(a.test().or_else(|| b.test()), Some(3 - taken));
    });
}

/// The task of the winner is cleaned up while another item comes: nothing is lost.
#[test]
fn loom_a_choice_that_does_not_run_against_a_post() {
    loom::model(|| {
        let (a, b) = (Port::new(), Port::new());
        let queue = choose(&a, &b);
        queue.run();
        a.post(1).unwrap();
        let poster = post_elsewhere(&a, 2);
        let cleaner = thread::spawn(move || queue.take().into_iter().for_each(Task::cleanup));
        cleaner.join().unwrap();
        poster.join().unwrap();
        assert_eq!(a.test_multiple(2), Some(vec![1, 2]));
        assert_eq!(left(&[&a, &b]), (0, 0));
    });
}

/// A reply comes when the time is over: one of the two runs, and the other is gone or stays.
#[test]
fn loom_a_timeout_against_a_post() {
    loom::model(|| {
        let replay = Replay::new(1);
        let queue = replay.queue(QueueConfig::default());
        let (replies, late) = (Port::new(), Port::new());
        let out = late.clone();
        Choice::new()
            .or(once(&replies))
            .after(Duration::from_secs(1), move || out.post(()).unwrap())
            .activate(&queue)
            .unwrap();
        replay.run_for(Duration::ZERO);
        let poster = post_elsewhere(&replies, 1);
        replay.run();
        poster.join().unwrap();
        replay.run();
        assert_eq!(left(&[&replies]), (late.item_count(), 0));
    });
}
