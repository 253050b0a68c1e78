//! Joins of many ports, with a number and a guard for each: G268, G269, and behaviours 53 to 63
//! again.

use crate::support::{here, port_with, post_all};
use motet_ports::guard;
use motet_ports::{
    BroadcastPort, ExceptionPort, JoinedReceive, MultipleItemReceive, MultiplePortReceive,
    Overflow, Port, Receive, ReplyPort, select,
};
use motet_sync::Mutex;
use motet_testkit::Log;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Waker};

/// An item with its source and its tag.
type Message = (usize, u32, &'static str);

#[test]
fn sem_g268_a_join_of_three_types_takes_one_of_each() {
    let (numbers, names, flags) = (Port::new(), Port::new(), Port::new());
    let taken = Log::new();
    let log = taken.clone();
    JoinedReceive::persistent((&numbers, &names, &flags), move |all| log.push(all))
        .activate(&here())
        .unwrap();
    post_all(&numbers, [1, 2]);
    post_all(&flags, [true]);
    assert_eq!((numbers.items(), flags.items()), (vec![1, 2], vec![true]));
    assert!(taken.is_empty());
    post_all(&names, ["a", "b"]);
    assert_eq!(taken.take(), [(1, "a", true)]);
    assert_eq!((numbers.items(), names.items()), (vec![2], vec!["b"]));
    post_all(&flags, [false]);
    assert_eq!(taken.take(), [(2, "b", false)]);
}

#[test]
fn sem_g268_a_join_of_twelve_ports_fires_with_the_last_item_whichever_it_is() {
    for last in 0..12 {
        let p: [Port<usize>; 12] = std::array::from_fn(|_| Port::new());
        let taken = Log::new();
        let log = taken.clone();
        let parts = (
            &p[0], &p[1], &p[2], &p[3], &p[4], &p[5], &p[6], &p[7], &p[8], &p[9], &p[10], &p[11],
        );
        JoinedReceive::once(parts, move |(a, b, c, d, e, f, g, h, i, j, k, l)| {
            log.push([a, b, c, d, e, f, g, h, i, j, k, l]);
        })
        .activate(&here())
        .unwrap();
        (0..12)
            .filter(|n| *n != last)
            .for_each(|n| p[n].post(n).unwrap());
        assert!(taken.is_empty());
        p[last].post(last).unwrap();
        assert_eq!(taken.take(), [std::array::from_fn(|n| n)]);
        let left: usize = p
            .iter()
            .map(|port| port.item_count() + port.receiver_count())
            .sum();
        assert_eq!(left, 0);
    }
}

#[test]
fn sem_g268_one_port_is_as_good_as_many() {
    let (port, taken) = (port_with([1]), Log::new());
    let log = taken.clone();
    JoinedReceive::persistent((&port,), move |(n,)| log.push(n))
        .activate(&here())
        .unwrap();
    post_all(&port, [2, 3]);
    assert_eq!(taken.take(), [1, 2, 3]);
    let log = taken.clone();
    let alone = [Port::new()];
    MultiplePortReceive::once(&alone, move |all: Vec<u32>| log.push(all[0]))
        .activate(&here())
        .unwrap();
    post_all(&alone[0], [4, 5]);
    assert_eq!(taken.take(), [4]);
    assert_eq!(alone[0].items(), [5]);
}

#[test]
fn sem_g268_a_join_asks_for_a_number_of_items_of_each_port() {
    for late in [false, true] {
        let (ones, twos, taken) = (Port::new(), Port::new(), Log::new());
        let log = taken.clone();
        let join = JoinedReceive::persistent((&ones, twos.times(2)), move |set| log.push(set));
        if late {
            post_all(&twos, [10, 20, 30, 40, 50]);
            post_all(&ones, [1, 2, 3]);
            join.activate(&here()).unwrap();
        } else {
            join.activate(&here()).unwrap();
            post_all(&twos, [10, 20, 30]);
            post_all(&ones, [1, 2, 3]);
            assert_eq!((ones.items(), twos.items()), (vec![2, 3], vec![30]));
            post_all(&twos, [40, 50]);
        }
        assert_eq!(taken.take(), [(1, vec![10, 20]), (2, vec![30, 40])]);
        assert_eq!((ones.items(), twos.items()), (vec![3], vec![50]));
    }
}

/// The pattern of the papers that has fixed ends: the ends of a line have one neighbour, the others
/// two, so one program waits for different numbers of messages, one of each neighbour.
#[test]
fn sem_g268_sem_g269_computations_of_a_line_wait_for_one_message_of_each_neighbour() {
    const COUNT: usize = 5;
    const STAGES: u32 = 4;
    let inboxes: Vec<Port<(usize, u32, ())>> = (0..COUNT).map(|_| Port::new()).collect();
    let next: Vec<Port<u32>> = (0..COUNT).map(|_| Port::new()).collect();
    let (stages, queue) = (Log::new(), here());
    for n in 0..COUNT {
        let neighbours: Vec<usize> = [n.wrapping_sub(1), n + 1]
            .into_iter()
            .filter(|neighbour| *neighbour < COUNT)
            .collect();
        let senders = neighbours.iter().map(|neighbour| guard::source(*neighbour));
        let parts = (&next[n], inboxes[n].one_each(senders));
        let told = neighbours
            .iter()
            .map(|neighbour| inboxes[*neighbour].clone());
        let (log, own, told) = (stages.clone(), next[n].clone(), told.collect::<Vec<_>>());
        JoinedReceive::persistent(parts, move |(stage, messages)| {
            log.push((n, stage, messages.iter().all(|message| message.1 == stage)));
            if stage < STAGES {
                own.post(stage + 1).unwrap();
                told.iter()
                    .for_each(|port| port.post((n, stage + 1, ())).unwrap());
            }
        })
        .activate(&queue)
        .unwrap();
    }
    for n in 0..COUNT {
        for neighbour in [n.wrapping_sub(1), n + 1] {
            let inbox = inboxes.get(neighbour);
            inbox
                .into_iter()
                .for_each(|inbox| inbox.post((n, 1, ())).unwrap());
        }
    }
    next.iter().for_each(|port| port.post(1).unwrap());
    let expected = (0..COUNT).flat_map(|n| (1..=STAGES).map(move |stage| (n, stage, true)));
    assert_eq!(stages.take_sorted(), expected.collect::<Vec<_>>());
}

#[test]
fn ccr_060_sem_g268_a_receive_over_a_row_of_ports_gives_the_items_in_the_order_of_the_ports() {
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]];
    for order in orders {
        let ports: Vec<Port<usize>> = (0..4).map(|_| Port::new()).collect();
        let rows = Log::new();
        let log = rows.clone();
        MultiplePortReceive::persistent(&ports, move |row| log.push(row))
            .activate(&here())
            .unwrap();
        for round in [0, 10] {
            for n in order {
                assert!(rows.is_empty());
                ports[n].post(round + n).unwrap();
            }
            assert_eq!(rows.take(), [[round, round + 1, round + 2, round + 3]]);
        }
        assert!(ports.iter().all(|port| port.item_count() == 0));
    }
}

#[test]
fn sem_g268_a_row_of_ports_may_bring_several_items_each() {
    let ports: Vec<Port<u32>> = (0..2).map(|_| Port::new()).collect();
    let rows = Log::new();
    let log = rows.clone();
    let parts = ports.iter().map(|port| port.times(2));
    MultiplePortReceive::persistent(parts, move |row| log.push(row))
        .activate(&here())
        .unwrap();
    post_all(&ports[1], [10, 20, 30, 40]);
    post_all(&ports[0], [1, 2, 3]);
    assert_eq!(rows.take(), [[vec![1, 2], vec![10, 20]]]);
    assert_eq!(
        (ports[0].items(), ports[1].items()),
        (vec![3], vec![30, 40])
    );
}

#[test]
fn ccr_061_sem_g268_a_one_time_join_of_many_leaves_its_items_in_their_ports_until_it_has_all() {
    // CCR's MultipleItemReceiver holds what has come.
    let (p, q) = (Port::new(), Port::new());
    let active = JoinedReceive::once((&p, &q), |_: (u32, u32)| ())
        .activate(&here())
        .unwrap();
    p.post(1).unwrap();
    assert_eq!(p.items(), [1]);
    active.cleanup();
    assert_eq!(p.items(), [1], "nothing to bring back");
    q.post(2).unwrap();
    assert_eq!((p.item_count(), q.item_count()), (1, 1));
}

#[test]
fn ccr_063_sem_g268_items_that_come_after_a_one_time_join_stay_in_their_ports() {
    let (p, q, r, taken) = (Port::new(), Port::new(), Port::new(), Log::new());
    let log = taken.clone();
    let active = JoinedReceive::once((&p, q.times(2), &r), move |set| log.push(set))
        .activate(&here())
        .unwrap();
    for port in [&p, &q, &r] {
        post_all(port, [1, 2, 3, 4]);
    }
    assert_eq!(taken.take(), [(1, vec![1, 2], 1)]);
    assert!(!active.is_active());
    assert_eq!(
        (p.items(), q.items(), r.items()),
        (vec![2, 3, 4], vec![3, 4], vec![2, 3, 4])
    );
    assert_eq!(
        (p.receiver_count(), q.receiver_count(), r.receiver_count()),
        (0, 0, 0)
    );
}

#[test]
#[should_panic(expected = "names a port twice")]
fn sem_g268_a_row_does_not_name_a_port_twice() {
    let port = Port::<u32>::new();
    let _ = MultiplePortReceive::once([&port, &Port::new(), &port], |_| ());
}

#[test]
#[should_panic(expected = "at least one port")]
fn sem_g268_a_row_of_no_ports_is_no_row() {
    let _ = MultiplePortReceive::once(Vec::<Port<u32>>::new().iter(), |_| ());
}

#[test]
#[should_panic(expected = "at least one item")]
fn sem_g268_a_part_of_no_items_is_no_part() {
    let _ = Port::<u32>::new().times(0);
}

#[test]
#[should_panic(expected = "1 to 64 guards, not 65")]
fn sem_g269_a_part_has_not_more_than_64_guards() {
    let _ = Port::<u32>::new().one_each(vec![|_: &u32| true; 65]);
}

#[test]
fn sem_g269_a_guarded_part_takes_the_oldest_item_that_it_wants() {
    let (p, q, taken) = (port_with(1..=5), Port::new(), Log::new());
    let log = taken.clone();
    JoinedReceive::persistent((p.when(|n| n % 2 == 0), &q), move |pair| log.push(pair))
        .activate(&here())
        .unwrap();
    assert_eq!(p.item_count(), 5, "the other part is missing");
    post_all(&q, ["a", "b", "c"]);
    assert_eq!(taken.take(), [(2, "a"), (4, "b")]);
    assert_eq!((p.items(), q.items()), (vec![1, 3, 5], vec!["c"]));
    post_all(&p, [7, 8]);
    assert_eq!(taken.take(), [(8, "c")]);
    assert_eq!(p.items(), [1, 3, 5, 7]);
}

#[test]
fn sem_g269_a_guarded_part_may_take_several_items() {
    let (p, q, taken) = (Port::new(), Port::new(), Log::new());
    let log = taken.clone();
    let odd = p.when(|n: &u32| n % 2 == 1).times(2);
    JoinedReceive::persistent((&q, odd), move |pair| log.push(pair))
        .activate(&here())
        .unwrap();
    post_all(&p, 1..=4);
    post_all(&q, ["a", "b"]);
    assert_eq!(taken.take(), [("a", vec![1, 3])]);
    assert_eq!(p.items(), [2, 4]);
    post_all(&p, 5..=8);
    assert_eq!(taken.take(), [("b", vec![5, 7])]);
    assert_eq!(p.items(), [2, 4, 6, 8]);
}

#[test]
fn sem_g269_two_messages_from_particular_senders() {
    let (inbox, taken) = (Port::<Message>::new(), Log::new());
    let log = taken.clone();
    let senders = inbox.one_each([guard::source(3), guard::source(7)]);
    JoinedReceive::persistent((senders,), move |(messages,)| {
        log.push(messages.iter().map(|message| message.2).collect::<Vec<_>>());
    })
    .activate(&here())
    .unwrap();
    let posts = [
        (7, 0, "first of 7"),
        (5, 0, "of 5"),
        (7, 0, "second of 7"),
        (3, 0, "of 3"),
    ];
    post_all(&inbox, posts);
    assert_eq!(taken.take(), [["of 3", "first of 7"]]);
    assert_eq!(inbox.item_count(), 2);
    post_all(&inbox, [(3, 0, "again of 3")]);
    assert_eq!(taken.take(), [["again of 3", "second of 7"]]);
    assert_eq!(inbox.items(), [(5, 0, "of 5")]);
}

#[test]
fn sem_g269_an_item_goes_to_the_first_guard_that_wants_it_and_has_none() {
    let (port, taken) = (Port::new(), Log::new());
    let log = taken.clone();
    let any: Box<dyn Fn(&u32) -> bool + Send + Sync> = Box::new(|_| true);
    let small: Box<dyn Fn(&u32) -> bool + Send + Sync> = Box::new(|n| *n < 10);
    JoinedReceive::persistent((port.one_each([any, small]),), move |(pair,)| {
        log.push(pair)
    })
    .activate(&here())
    .unwrap();
    post_all(&port, [30, 20, 5]);
    assert_eq!(taken.take(), [[30, 5]]);
    assert_eq!(port.items(), [20]);
    post_all(&port, [6]);
    assert_eq!(taken.take(), [[20, 6]]);
}

#[test]
fn sem_g269_guards_by_source_and_by_tag() {
    let (inbox, marks, taken) = (Port::<Message>::new(), Port::new(), Log::new());
    for (name, part) in [
        ("source", inbox.when(guard::source(1))),
        ("tag", inbox.when(guard::tag(2))),
        ("both", inbox.when(guard::source_and_tag(3, 4))),
    ] {
        let log = taken.clone();
        JoinedReceive::persistent((&marks, part), move |((), message)| {
            log.push((name, message.2))
        })
        .activate(&here())
        .unwrap();
    }
    post_all(&marks, [(); 3]);
    post_all(
        &inbox,
        [(3, 5, "neither"), (3, 4, "b"), (9, 2, "t"), (1, 9, "s")],
    );
    assert_eq!(taken.take(), [("both", "b"), ("tag", "t"), ("source", "s")]);
    assert_eq!(inbox.items(), [(3, 5, "neither")]);
}

#[test]
fn sem_g269_a_guarded_batch_takes_what_it_wants() {
    let (port, batches) = (port_with(1..=5), Log::new());
    let log = batches.clone();
    MultipleItemReceive::persistent(&port, 2, move |batch| log.push(batch))
        .when(|n| n % 2 == 0)
        .activate(&here())
        .unwrap();
    assert_eq!(batches.take(), [[2, 4]]);
    post_all(&port, [6, 7, 8]);
    assert_eq!(batches.take(), [[6, 8]]);
    assert_eq!(port.items(), [1, 3, 5, 7]);
}

#[test]
fn sem_g14_sem_g269_a_guard_that_panics_wants_nothing_and_is_heard_of() {
    let queue = here();
    let exceptions = queue.exception_port();
    let (p, q, taken) = (Port::new(), Port::new(), Log::new());
    let log = taken.clone();
    let careful = p.when(|n| {
        assert_ne!(*n, 13, "unlucky");
        true
    });
    JoinedReceive::persistent((careful, &q), move |pair| log.push(pair))
        .activate(&queue)
        .unwrap();
    post_all(&p, [13]);
    assert_eq!(exceptions.item_count(), 1);
    assert!(exceptions.test().unwrap().message().contains("unlucky"));
    post_all(&p, [14]);
    post_all(&q, ["a"]);
    assert_eq!(taken.take(), [(14, "a")]);
    assert_eq!(p.items(), [13]);
}

#[test]
fn sem_g14_sem_g269_a_guard_that_uses_a_port_of_its_join_panics_instead_of_waiting_for_itself() {
    let queue = here();
    let exceptions = queue.exception_port();
    let (p, q) = (Port::new(), Port::new());
    let other = q.clone();
    JoinedReceive::persistent((p.when(move |_: &u32| other.post(1).is_ok()), &q), |_| ())
        .activate(&queue)
        .unwrap();
    p.post(1).unwrap();
    let message = exceptions.test().unwrap().message().to_owned();
    assert!(message.contains("must not use ports"), "{message}");
    assert_eq!((p.item_count(), q.item_count()), (1, 0));
}

/// An item that uses a port as it is dropped.
struct Telling(Port<()>);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.post(()).expect("nobody refuses");
    }
}

#[test]
fn sem_g14_sem_g269_a_guard_may_drop_the_last_handle_of_a_port_of_its_join() {
    // Of another port than its own, and of its own, with two items in it.
    for own in [false, true] {
        let queue = here();
        let exceptions = queue.exception_port();
        let (p, q, told) = (Port::new(), Port::new(), Port::new());
        post_all(&q, [(); 2].map(|()| Telling(told.clone())));
        let last = Mutex::new(Some(q.clone()));
        let gives_up = move || {
            let _last = last.lock().take();
            false
        };
        let join = match own {
            false => JoinedReceive::persistent((p.when(move |_| gives_up()), &q), |_| ()),
            true => JoinedReceive::persistent((&p, q.when(move |_| gives_up())), |_| ()),
        };
        join.activate(&queue).unwrap();
        drop(q);
        post_all(&p, [()]);
        assert!(exceptions.test().is_none());
        assert_eq!((told.item_count(), p.item_count()), (2, 1), "own: {own}");
    }
}

/// A future that waits.
fn waiting(future: impl Future + Send + 'static) -> Pin<Box<dyn Send>> {
    let mut future = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    future
}

#[test]
fn sem_g14_a_predicate_may_drop_what_waits_at_ports() {
    let queue = here();
    let exceptions = queue.exception_port();
    let (p, q, other) = (Port::new(), Port::new(), Port::new());
    let full = Port::bounded(1, Overflow::Wait);
    post_all(&full, [1]);
    let (items, looks, poster) = (q.clone(), q.clone(), full.clone());
    let waits = Mutex::new(vec![
        waiting(async move { items.recv().await }),
        waiting(async move { looks.ready().await }),
        waiting(select().recv(&q, |()| ()).recv(&other, |()| ())),
        waiting(async move { poster.post_wait(2).await }),
    ]);
    Receive::persistent(&p, |()| ())
        .when(move |_| {
            waits.lock().clear();
            true
        })
        .activate(&queue)
        .unwrap();
    post_all(&p, [()]);
    assert!(exceptions.test().is_none());
    assert_eq!((q.receiver_count(), other.receiver_count()), (0, 0));
    assert_eq!((full.test(), full.item_count()), (Some(1), 0));
}

#[test]
fn sem_g14_a_predicate_may_drop_answers_and_subscriptions() {
    let queue = here();
    let exceptions = queue.exception_port();
    let (p, answers, broadcast) = (Port::new(), Port::new(), BroadcastPort::new());
    let full = broadcast.subscribe(1, Overflow::Wait);
    assert!(broadcast.post(1).is_complete());
    let poster = waiting(broadcast.post_wait(2));
    let dropped = Mutex::new(Some((full, ReplyPort::<u32>::to(&answers))));
    Receive::persistent(&p, |()| ())
        .when(move |_| {
            dropped.lock().take();
            true
        })
        .activate(&queue)
        .unwrap();
    post_all(&p, [()]);
    assert!(exceptions.test().is_none());
    assert!(answers.test().is_some_and(|answer| answer.is_err()));
    assert_eq!(broadcast.subscriber_count(), 0);
    drop(poster);
}

#[test]
fn sem_g14_a_clone_that_panics_leaves_nothing_that_waits() {
    struct Panics(Mutex<Option<Pin<Box<dyn Send>>>>);
    impl Clone for Panics {
        fn clone(&self) -> Self {
            self.0.lock().take();
            panic!("no clone");
        }
    }
    let (p, q) = (Port::new(), Port::<u32>::new());
    let receives = q.clone();
    let waits = waiting(async move { receives.recv().await });
    assert_eq!(q.receiver_count(), 1);
    assert!(p.post(Panics(Mutex::new(Some(waits)))).is_ok());
    let cloned = catch_unwind(AssertUnwindSafe(|| p.items().len()));
    assert!(cloned.is_err());
    assert_eq!((q.receiver_count(), p.item_count()), (0, 1));
}
