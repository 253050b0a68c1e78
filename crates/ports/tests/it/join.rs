//! Joins and batches: behaviours 52 to 60.

use crate::support::{here, in_parallel, on_dispatchers, port_with, post_all, take_all};
use motet_ports::{JoinedReceive, MultipleItemReceive, Port, Receive};
use motet_testkit::Log;

/// A persistent join that logs its pairs.
fn joining(p: &Port<u32>, q: &Port<u32>, pairs: &Log<(u32, u32)>) -> JoinedReceive<(u32, u32)> {
    let log = pairs.clone();
    JoinedReceive::persistent((p, q), move |pair| log.push(pair))
}

/// A persistent receive that logs its batches.
fn batching(port: &Port<u32>, count: usize, batches: &Log<Vec<u32>>) -> MultipleItemReceive<u32> {
    let log = batches.clone();
    MultipleItemReceive::persistent(port, count, move |batch| log.push(batch))
}

#[test]
fn ccr_052_sem_g07_a_join_leaves_a_lone_item_in_its_port() {
    let (p, q, pairs) = (Port::new(), Port::new(), Log::new());
    joining(&p, &q, &pairs).activate(&here()).unwrap();
    p.post(1).unwrap();
    assert_eq!((p.items(), q.item_count()), (vec![1], 0));
    assert!(pairs.is_empty());
}

#[test]
fn ccr_053_sem_g07_a_one_time_join_takes_one_pair() {
    let (p, q, pairs) = (Port::new(), Port::new(), Log::new());
    let log = pairs.clone();
    let active = JoinedReceive::once((&p, &q), move |pair| log.push(pair))
        .activate(&here())
        .unwrap();
    p.post(1).unwrap();
    assert!(active.is_active());
    q.post(2).unwrap();
    assert_eq!(pairs.take(), [(1, 2)]);
    assert_eq!((p.item_count(), q.item_count()), (0, 0));
    assert!(!active.is_active());
    p.post(3).unwrap();
    q.post(4).unwrap();
    assert!(pairs.is_empty());
    assert_eq!((p.items(), q.items()), (vec![3], vec![4]));
    assert_eq!((p.receiver_count(), q.receiver_count()), (0, 0));
}

#[test]
fn ccr_053_sem_g07_a_join_takes_what_waits_when_it_is_activated() {
    let (p, q, pairs) = (port_with([1, 3]), port_with([2]), Log::new());
    let log = pairs.clone();
    JoinedReceive::once((&p, &q), move |pair| log.push(pair))
        .activate(&here())
        .unwrap();
    assert_eq!(pairs.take(), [(1, 2)]);
    assert_eq!((p.items(), q.item_count()), (vec![3], 0));
    q.post(4).unwrap();
    assert!(pairs.is_empty());
    assert_eq!((p.receiver_count(), q.receiver_count()), (0, 0));
}

#[test]
fn ccr_054_sem_g07_persistent_joins_pair_the_oldest_with_the_oldest() {
    let pairings = [
        |p: &Port<u32>, q: &Port<u32>| {
            post_all(p, [1, 2, 3]);
            post_all(q, [99, 97]);
        },
        |p: &Port<u32>, q: &Port<u32>| {
            post_all(q, [99, 97]);
            post_all(p, [1, 2, 3]);
        },
    ];
    for post in pairings {
        for late in [false, true] {
            let (p, q, pairs) = (Port::new(), Port::new(), Log::new());
            let join = joining(&p, &q, &pairs);
            if late {
                post(&p, &q);
                join.activate(&here()).unwrap();
            } else {
                join.activate(&here()).unwrap();
                post(&p, &q);
            }
            assert_eq!(pairs.take(), [(1, 99), (2, 97)]);
            assert_eq!((p.items(), q.item_count()), (vec![3], 0));
        }
    }
}

#[test]
fn ccr_055_sem_g07_others_may_take_an_item_of_an_incomplete_join() {
    let (p, q, pairs, plain) = (Port::new(), Port::new(), Log::new(), Log::new());
    joining(&p, &q, &pairs).activate(&here()).unwrap();
    p.post(1).unwrap();
    let log = plain.clone();
    Receive::once(&p, move |n| log.push(n))
        .activate(&here())
        .unwrap();
    assert_eq!(plain.take(), [1]);
    q.post(2).unwrap();
    assert!(pairs.is_empty());
    assert_eq!((p.item_count(), q.items()), (0, vec![2]));
    p.post(3).unwrap();
    assert_eq!(pairs.take(), [(3, 2)], "the join goes on");
}

#[test]
fn ccr_055_sem_g07_a_join_that_can_fire_has_fired() {
    let (p, q, pairs, plain) = (Port::new(), Port::new(), Log::new(), Log::new());
    let log = plain.clone();
    joining(&p, &q, &pairs).activate(&here()).unwrap();
    Receive::persistent(&p, move |n| log.push(n))
        .activate(&here())
        .unwrap();
    q.post(9).unwrap();
    post_all(&p, [1, 2]);
    assert_eq!(pairs.take(), [(1, 9)], "asked first, and complete");
    assert_eq!(plain.take(), [2]);
}

/// Posts `each` items to both ports from `posters` threads, numbered without gaps.
fn post_pairs(p: &Port<u32>, q: &Port<u32>, posters: usize, each: u32) {
    let (p, q) = (p.clone(), q.clone());
    in_parallel(posters, move |number| {
        let from = u32::try_from(number).unwrap() * each;
        for n in from..from + each {
            let (first, second) = if n % 2 == 0 { (&p, &q) } else { (&q, &p) };
            first.post(n).unwrap();
            second.post(n).unwrap();
        }
    });
}

#[test]
fn ccr_056_sem_g08_joins_in_either_order_lose_double_and_block_nothing() {
    on_dispatchers(5, |dispatcher, queue| {
        const POSTERS: usize = 3;
        const EACH: u32 = 400;
        let (p, q, pairs) = (Port::new(), Port::new(), Log::new());
        joining(&p, &q, &pairs).activate(queue).unwrap();
        let log = pairs.clone();
        JoinedReceive::persistent((&q, &p), move |(b, a)| log.push((a, b)))
            .activate(queue)
            .unwrap();
        post_pairs(&p, &q, POSTERS, EACH);
        dispatcher.wait_idle();
        assert_eq!((p.item_count(), q.item_count()), (0, 0));
        let (mut a, mut b): (Vec<_>, Vec<_>) = pairs.take().into_iter().unzip();
        a.sort_unstable();
        b.sort_unstable();
        let all = u32::try_from(POSTERS).unwrap() * EACH;
        assert!(a.into_iter().eq(0..all) && b.into_iter().eq(0..all));
    });
}

#[test]
fn sem_g08_one_time_joins_on_a_triangle_of_ports_lose_and_double_nothing() {
    on_dispatchers(8, |dispatcher, queue| {
        let ports: [Port<u32>; 3] = std::array::from_fn(|_| Port::new());
        let fired = Log::new();
        let (posted, arming, log, on) =
            (ports.clone(), ports.clone(), fired.clone(), queue.clone());
        // Two threads arm joins on every pair of ports, two post; domains merge meanwhile.
        in_parallel(4, move |number| {
            for turn in 0..30 {
                let (i, j) = (turn % 3, (turn + 1 + number % 2) % 3);
                if number < 2 {
                    let log = log.clone();
                    JoinedReceive::once((&arming[i], &arming[j]), move |(a, b)| log.push([a, b]))
                        .activate(&on)
                        .unwrap();
                } else {
                    posted[i]
                        .post(u32::try_from(number * 100 + turn).unwrap())
                        .unwrap();
                    posted[j]
                        .post(u32::try_from(number * 100 + turn + 50).unwrap())
                        .unwrap();
                }
            }
        });
        dispatcher.wait_idle();
        // Which items met is open, and joins may be left over; every item is somewhere, once.
        let mut items: Vec<u32> = fired.take().concat();
        let handled = items.len();
        ports.iter().for_each(|port| items.extend(take_all(port)));
        items.sort_unstable();
        let mut posted: Vec<u32> = [200, 300]
            .into_iter()
            .flat_map(|base| (0..30).flat_map(move |n| [base + n, base + n + 50]))
            .collect();
        posted.sort_unstable();
        assert_eq!(items, posted);
        assert!(handled > 0);
    });
}

#[test]
fn sem_g08_a_join_that_can_fire_never_waits() {
    on_dispatchers(10, |dispatcher, queue| {
        let (p, q, r) = (Port::new(), Port::new(), Port::new());
        let pairs = Log::new();
        // Crossing joins that merge three ports into one domain while posts are under way.
        let ports = (p.clone(), q.clone(), r.clone());
        let (log, on) = (pairs.clone(), queue.clone());
        in_parallel(3, move |number| match number {
            0 => {
                joining(&ports.0, &ports.1, &log).activate(&on).unwrap();
                joining(&ports.2, &ports.1, &log).activate(&on).unwrap();
            }
            1 => post_all(&ports.1, 0..300),
            _ => (0..150).for_each(|n| {
                ports.0.post(n).unwrap();
                ports.2.post(n + 150).unwrap();
            }),
        });
        dispatcher.wait_idle();
        assert_eq!((p.item_count(), q.item_count(), r.item_count()), (0, 0, 0));
        let (mut a, mut b): (Vec<_>, Vec<_>) = pairs.take().into_iter().unzip();
        a.sort_unstable();
        b.sort_unstable();
        assert!(a.into_iter().eq(0..300) && b.into_iter().eq(0..300));
    });
}

#[test]
fn sem_g07_both_items_or_none_in_one_step() {
    on_dispatchers(5, |dispatcher, queue| {
        let (p, q, pairs) = (Port::new(), Port::new(), Log::new());
        joining(&p, &q, &pairs).activate(queue).unwrap();
        dispatcher.wait_idle();
        // Items of q are posted before those of p; whoever looks at p never finds one while q has.
        let (post, look) = ((p.clone(), q.clone()), (p, q));
        in_parallel(2, move |number| {
            for n in 0..500 {
                if number == 0 {
                    post.1.post(n).unwrap();
                    post.0.post(n).unwrap();
                } else {
                    assert_eq!(
                        look.0.item_count(),
                        0,
                        "an item of p always finds its partner"
                    );
                    assert!(look.1.item_count() <= 1);
                }
            }
        });
        dispatcher.wait_idle();
        assert!(pairs.take_sorted().into_iter().eq((0..500).map(|n| (n, n))));
    });
}

#[test]
fn ccr_058_sem_g09_batches_take_items_in_the_order_in_which_they_waited() {
    for late in [false, true] {
        let (port, batches) = (Port::new(), Log::new());
        let receive = batching(&port, 5, &batches);
        if late {
            post_all(&port, 1..=11);
            receive.activate(&here()).unwrap();
        } else {
            receive.activate(&here()).unwrap();
            post_all(&port, 1..=11);
        }
        assert_eq!(batches.take(), [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]);
        assert_eq!(port.items(), [11]);
    }
}

#[test]
fn sem_g09_a_one_time_batch_takes_its_number_once() {
    let (port, batches) = (port_with(1..=3), Log::new());
    let log = batches.clone();
    let active = MultipleItemReceive::once(&port, 2, move |batch| log.push(batch))
        .activate(&here())
        .unwrap();
    assert_eq!(batches.take(), [[1, 2]]);
    assert!(!active.is_active());
    post_all(&port, 4..=5);
    assert!(batches.is_empty());
    assert_eq!(port.items(), [3, 4, 5]);
}

#[test]
fn ccr_059_sem_g09_one_is_as_good_as_many() {
    let (port, batches) = (port_with([1]), Log::new());
    batching(&port, 1, &batches).activate(&here()).unwrap();
    post_all(&port, [2, 3]);
    assert_eq!(batches.take(), [[1], [2], [3]]);
    assert_eq!(port.item_count(), 0);
}

#[test]
#[should_panic(expected = "at least one item")]
fn sem_g09_a_batch_of_none_is_no_batch() {
    let _ = batching(&Port::new(), 0, &Log::new());
}

#[test]
#[should_panic(expected = "names a port twice")]
fn sem_g07_a_port_is_not_joined_with_itself() {
    let port = Port::new();
    let _ = joining(&port, &port.clone(), &Log::new());
}

#[test]
fn ccr_060_a_join_gives_its_items_in_the_order_of_its_ports() {
    for p_first in [false, true] {
        let (p, q, pairs) = (Port::new(), Port::new(), Log::new());
        joining(&p, &q, &pairs).activate(&here()).unwrap();
        let posts: [(&Port<u32>, u32); 2] = if p_first {
            [(&p, 1), (&q, 2)]
        } else {
            [(&q, 2), (&p, 1)]
        };
        posts.iter().for_each(|(port, n)| port.post(*n).unwrap());
        assert_eq!(pairs.take(), [(1, 2)]);
    }
}

#[test]
fn sem_g09_batches_of_many_posters_lose_and_double_nothing() {
    on_dispatchers(5, |dispatcher, queue| {
        let (port, batches) = (Port::new(), Log::new());
        batching(&port, 7, &batches).activate(queue).unwrap();
        let poster = port.clone();
        in_parallel(3, move |number| {
            let from = u32::try_from(number).unwrap() * 500;
            post_all(&poster, from..from + 500);
        });
        dispatcher.wait_idle();
        let batches = batches.take();
        assert_eq!(batches.len(), 1_500 / 7);
        assert!(batches.iter().all(|batch| batch.len() == 7));
        for from in [0, 500, 1_000] {
            // Within a batch the items of one poster stand in their order.
            let own = |batch: &Vec<u32>| {
                let own = batch.iter().filter(|n| (from..from + 500).contains(*n));
                own.is_sorted()
            };
            assert!(batches.iter().all(own));
        }
        let mut all = [batches.concat(), take_all(&port)].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1_500));
    });
}
