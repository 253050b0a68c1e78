//! Joins of many ports where posters race, queues refuse and tasks come back: G08, G271, G272.

use crate::support::{here, in_parallel, on_dispatchers, port_with, post_all, take_all};
use motet_dispatch::{Dispatcher, DispatcherQueue, Enqueue, QueueConfig, QueueError, Task};
use motet_ports::{JoinedReceive, MultiplePortReceive, Port, Receive};
use motet_testkit::{Log, patience, within};

/// A queue of one thread with room for one task.
fn narrow() -> (Dispatcher, DispatcherQueue) {
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::bounded("queue", 1));
    (dispatcher, queue)
}

#[test]
fn sem_g08_sem_g271_joins_with_other_counts_on_the_same_ports_lose_nothing_and_end_at_rest() {
    on_dispatchers(6, |dispatcher, queue| {
        const EACH: u32 = 300;
        let ports: [Port<u32>; 3] = std::array::from_fn(|_| Port::new());
        let [p, q, r] = &ports;
        let fired = Log::new();
        let (one, two, three) = (fired.clone(), fired.clone(), fired.clone());
        JoinedReceive::persistent((p.times(2), q), move |(mut a, b)| {
            a.push(b);
            one.push(a);
        })
        .activate(queue)
        .unwrap();
        JoinedReceive::persistent((r.times(2), q.times(3), p), move |(a, b, c)| {
            two.push([a, b, vec![c]].concat());
        })
        .activate(queue)
        .unwrap();
        MultiplePortReceive::persistent([q, r], move |pair| three.push(pair))
            .activate(queue)
            .unwrap();
        let posted = ports.clone();
        in_parallel(4, move |number| {
            let from = u32::try_from(number).unwrap() * EACH;
            for n in from..from + EACH {
                posted[(n as usize + number) % 3].post(n).unwrap();
            }
        });
        dispatcher.wait_idle();
        let [p, q, r] = ports.each_ref().map(Port::item_count);
        assert!(q == 0 || (p < 2 && r == 0), "{p}, {q}, {r} wait");
        let left = ports.iter().flat_map(take_all);
        let mut all: Vec<u32> = fired.take().concat().into_iter().chain(left).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..4 * EACH));
    });
}

#[test]
fn sem_g08_one_time_joins_of_three_ports_in_any_order_all_find_their_items() {
    on_dispatchers(10, |dispatcher, queue| {
        const JOINS: usize = 60;
        let ports: [Port<u32>; 3] = std::array::from_fn(|_| Port::new());
        let fired = Log::new();
        let (arming, log, on) = (ports.clone(), fired.clone(), queue.clone());
        in_parallel(3, move |number| {
            for turn in 0..JOINS {
                if number == 2 {
                    // As many as all the joins need.
                    arming.iter().for_each(|port| post_all(port, [0, 1]));
                } else {
                    let [a, b, c] = [0, 1, 2].map(|n| &arming[(n + turn) % 3]);
                    let log = log.clone();
                    let parts = if number == 0 { (a, b, c) } else { (c, b, a) };
                    JoinedReceive::once(parts, move |_| log.push(turn))
                        .activate(&on)
                        .unwrap();
                }
            }
        });
        dispatcher.wait_idle();
        let expected = (0..JOINS).flat_map(|turn| [turn, turn]);
        assert!(fired.take_sorted().into_iter().eq(expected));
        assert!(ports.iter().all(|port| port.item_count() == 0));
        assert!(ports.iter().all(|port| port.receiver_count() == 0));
    });
}

#[test]
fn ccr_057_sem_g272_a_join_of_many_that_is_refused_takes_nothing() {
    within(patience(), || {
        let (dispatcher, queue) = narrow();
        let (p, q, r, taken) = (Port::new(), Port::new(), Port::new(), Log::new());
        let log = taken.clone();
        JoinedReceive::persistent((&p, q.times(2), &r), move |set| log.push(set))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(&p, [1, 2, 3]);
        post_all(&q, [10, 20, 30, 40, 50]);
        post_all(&r, [100]);
        let refused = r.post(200).unwrap_err();
        assert_eq!(
            (refused.item, refused.reason),
            (200, QueueError::Full.into())
        );
        assert_eq!(
            (p.items(), q.items(), r.items()),
            (vec![2, 3], vec![30, 40, 50], vec![])
        );
        queue.resume();
        dispatcher.wait_idle();
        r.post(200).unwrap();
        dispatcher.wait_idle();
        assert_eq!(
            taken.take(),
            [(1, vec![10, 20], 100), (2, vec![30, 40], 200)]
        );
        assert_eq!((p.items(), q.items()), (vec![3], vec![50]));
    });
}

#[test]
fn sem_g23_sets_that_had_no_room_at_first_fire_when_there_is_some() {
    within(patience(), || {
        for to in 0..3 {
            let (dispatcher, queue) = narrow();
            let ports = [port_with(1..=2), port_with(11..=12), port_with(21..=22)];
            let rows = Log::new();
            let log = rows.clone();
            MultiplePortReceive::persistent(&ports, move |row| log.push(row))
                .activate(&queue)
                .unwrap();
            dispatcher.wait_idle();
            assert_eq!(
                rows.take(),
                [[1, 11, 21], [2, 12, 22]],
                "room for one at a time"
            );
            ports[to].post(99).unwrap();
            dispatcher.wait_idle();
            assert!(rows.is_empty());
            assert_eq!(ports[to].items(), [99]);
        }
    });
}

#[test]
fn sem_g271_an_item_that_comes_back_past_a_full_queue_completes_a_join() {
    within(patience(), || {
        let (p, q, taken) = (Port::new(), Port::new(), Log::new());
        let taker = Dispatcher::new(1);
        let on = taker.queue(QueueConfig::default());
        Receive::once(&p, |_: u32| ()).activate(&on).unwrap();
        taker.wait_idle();
        on.suspend();
        p.post(1).unwrap();
        // Asked before the join when the item comes back, and has no room then.
        let (full, queue) = narrow();
        Receive::persistent(&p, |_| ()).activate(&queue).unwrap();
        full.wait_idle();
        queue.suspend();
        queue.enqueue(Task::new(|| ())).unwrap();
        let log = taken.clone();
        JoinedReceive::persistent((&p, &q), move |pair| log.push(pair))
            .activate(&here())
            .unwrap();
        q.post(10).unwrap();
        assert!(taken.is_empty());
        taker.stop().into_iter().for_each(Task::cleanup);
        assert_eq!(taken.take(), [(1, 10)]);
    });
}

#[test]
fn sem_g11_sem_g272_what_joins_took_comes_back_in_order() {
    within(patience(), || {
        let dispatcher = Dispatcher::new(1);
        let queue = dispatcher.queue(QueueConfig::default());
        let ports: [Port<u32>; 4] = std::array::from_fn(|_| Port::new());
        let [p, q, r, s] = &ports;
        JoinedReceive::persistent((p, q.times(2), r.when(|n| *n > 1).times(2)), |_| ())
            .activate(&queue)
            .unwrap();
        MultiplePortReceive::persistent([q.times(3), s.times(1)], |_| ())
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        queue.suspend();
        post_all(r, 1..=4);
        post_all(p, 1..=2);
        post_all(q, 1..=5);
        post_all(s, 1..=2);
        assert_eq!(
            ports.each_ref().map(Port::items),
            [vec![2], vec![], vec![1, 4], vec![2]]
        );
        let mut tasks = dispatcher.stop();
        // In whatever order the tasks come back.
        tasks.rotate_left(1);
        tasks.into_iter().for_each(Task::cleanup);
        assert_eq!(
            ports.each_ref().map(Port::items),
            [
                (1..=2).collect(),
                (1..=5).collect(),
                (1..=4).collect(),
                vec![1, 2]
            ],
            "also beside what a guard has passed by"
        );
    });
}

#[test]
fn sem_g271_what_waits_for_room_is_taken_when_there_is_some() {
    within(patience(), || {
        let (dispatcher, queue) = narrow();
        let (p, q, pairs) = (port_with(1..=3), port_with(11..=13), Log::new());
        let log = pairs.clone();
        JoinedReceive::persistent((&p, &q), move |pair| log.push(pair))
            .activate(&queue)
            .unwrap();
        dispatcher.wait_idle();
        p.put_back(9).unwrap();
        dispatcher.wait_idle();
        q.post(14).unwrap();
        dispatcher.wait_idle();
        assert_eq!(pairs.take(), [(1, 11), (2, 12), (3, 13), (9, 14)]);
        assert_eq!((p.item_count(), q.item_count()), (0, 0));
    });
}
