//! Ports in which many items wait and nobody asks: they lie on a pile, and nobody can tell.

use crate::support::{Wakes, dispatcher, here, in_parallel, poll, port_with, post_all, take_all};
use allocation_counter::measure;
use motet_dispatch::{Causalities, Causality, Enqueue, Task, spawn};
use motet_ports::{JoinedReceive, MultipleItemReceive, Port, Receive};
use motet_testkit::{Drops, Log, patience, within};
use std::task::Poll;

const MANY: u32 = 2_000;

#[test]
fn sem_g26_items_of_a_pile_have_no_allocation_of_their_own() {
    let port = Port::new();
    let few = measure(|| post_all(&port, 0..64)).count_total;
    assert_eq!(few, 64, "each is in its node");
    let many = measure(|| post_all(&port, 64..64 + 100 * 64)).count_total;
    assert!(many < 3 * 64, "{many}");
    assert_eq!(port.item_count(), 101 * 64);
    assert_eq!(take_all(&port), (0..101 * 64).collect::<Vec<_>>());
    post_all(&port, [1, 2]);
    assert_eq!(port.items(), [1, 2]);
}

#[test]
fn sem_g26_a_receiver_gets_what_lies_on_a_pile_and_what_comes_after() {
    let (port, log) = (port_with(0..MANY), Log::new());
    assert_eq!(port.test(), Some(0));
    let handled = log.clone();
    Receive::persistent(&port, move |n| handled.push(n))
        .activate(&here())
        .unwrap();
    post_all(&port, MANY..2 * MANY);
    assert_eq!(log.take(), (1..2 * MANY).collect::<Vec<_>>());
    assert_eq!(port.item_count(), 0);
}

#[test]
fn sem_g26_a_join_finds_what_lies_on_piles() {
    let (p, q, log) = (port_with(0..MANY), port_with(0..MANY), Log::new());
    let handled = log.clone();
    JoinedReceive::persistent((&p, &q), move |pair| handled.push(pair))
        .activate(&here())
        .unwrap();
    post_all(&p, MANY..2 * MANY);
    post_all(&q, MANY..2 * MANY);
    assert!(log.take().into_iter().eq((0..2 * MANY).map(|n| (n, n))));
}

#[test]
fn sem_g26_what_is_put_back_stands_before_a_pile() {
    let port = port_with(0..MANY);
    (0..100).for_each(|n| assert_eq!(port.test(), Some(n)));
    (0..100).rev().for_each(|n| port.put_back(n).unwrap());
    assert_eq!(port.test(), Some(0));
    assert_eq!(take_all(&port), (1..MANY).collect::<Vec<_>>());
}

#[test]
fn sem_g26_what_comes_back_from_a_task_stands_where_it_stood() {
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(1);
        let port = Port::new();
        MultipleItemReceive::once(&port, 5, |_: Vec<u32>| ())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&port, 0..MANY);
        assert_eq!(port.item_count(), MANY as usize - 5, "they are in a task");
        (5..105).for_each(|n| assert_eq!(port.test(), Some(n)));
        dispatcher.stop().into_iter().for_each(Task::cleanup);
        assert_eq!(port.test(), Some(0));
        post_all(&port, [MANY]);
        assert!(take_all(&port).into_iter().eq((1..5).chain(105..=MANY)));
    });
}

#[test]
fn sem_g26_counters_count_what_lies_on_a_pile() {
    let port = port_with(0..MANY);
    assert_eq!(port.test(), Some(0));
    let counters = port.counters();
    assert_eq!(counters.posted, u64::from(MANY));
    assert_eq!(counters.waiting, u64::from(MANY) - 1);
    assert_eq!(counters.taken, 1);
    assert_eq!(port.clear(), MANY as usize - 1);
    assert_eq!(port.counters().taken, u64::from(MANY));
}

#[test]
fn sem_g26_items_of_a_pile_carry_their_causalities() {
    let (port, log, queue) = (Port::new(), Log::new(), here());
    let cause = Causality::new("cause");
    post_all(&port, 0..100);
    cause.run(|| post_all(&port, 100..200));
    let active = || usize::from(!Causalities::active().is_empty());
    let (from, seen) = (port.clone(), log.clone());
    let taker = async move {
        for _ in 0..150 {
            let item = Causality::scoped(from.recv()).await;
            seen.push((item, 0));
        }
        for _ in 0..10 {
            let item = from.recv().await;
            seen.push((item, active()));
        }
    };
    spawn(&queue.handle(), taker).unwrap();
    let entries = log.take();
    assert!(entries.iter().map(|(item, _)| *item).eq(0..160));
    assert!(entries[150..].iter().all(|(_, active)| *active == 1));
    let handled = log.clone();
    Receive::persistent(&port, move |n| handled.push((n, active())))
        .activate(&queue)
        .unwrap();
    assert!(log.take().into_iter().eq((160..200).map(|n| (n, 1))));
}

#[test]
fn sem_g26_a_port_that_goes_drops_its_pile() {
    let drops = Drops::new();
    let port = Port::new();
    (0..MANY).for_each(|_| port.post(drops.make()).unwrap());
    (0..70).for_each(|_| drop(port.test()));
    assert_eq!(drops.dropped(), 70);
    drop(port);
    assert_eq!(drops.dropped(), MANY as usize);
}

#[test]
fn sem_g26_a_receive_that_is_dropped_takes_nothing_from_a_pile() {
    let (port, (_, waker)) = (port_with(0..MANY), Wakes::new());
    drop(port.recv());
    assert_eq!(poll(&mut port.recv(), &waker), Poll::Ready(0));
    assert_eq!(port.item_count(), MANY as usize - 1);
}

/// Posters and takers without end, so that the port is now empty and now full.
#[test]
fn stress_sem_g26_order_holds_for_each_poster() {
    const POSTERS: usize = 3;
    const ITEMS: usize = 20_000;
    within(patience(), || {
        let (dispatcher, queue) = dispatcher(2);
        let (port, log) = (Port::new(), Log::new());
        for _ in 0..2 {
            let (from, log) = (port.clone(), log.clone());
            let taker = async move {
                let mut mine: Vec<(usize, usize)> = Vec::new();
                while let Some(item) = from.recv().await {
                    mine.push(item);
                }
                log.push(mine);
            };
            spawn(&queue.handle(), taker).unwrap();
        }
        let to = port.clone();
        in_parallel(POSTERS, move |poster| {
            (0..ITEMS).for_each(|n| to.post(Some((poster, n))).unwrap());
        });
        post_all(&port, [None, None]);
        dispatcher.wait_idle();
        let mine = log.take();
        for taker in &mine {
            for poster in 0..POSTERS {
                let of = taker.iter().filter(|item| item.0 == poster);
                assert!(
                    of.map(|item| item.1).is_sorted(),
                    "in the order of the posts"
                );
            }
        }
        assert_eq!(mine.concat().len(), POSTERS * ITEMS);
    });
}
